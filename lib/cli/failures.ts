/**
 * Errors across a thread's border, where only plain data goes.
 *
 * @module
 */

import { ConfigError, messageOf } from "../core/errors.ts";
import type { Redactor } from "../core/redact.ts";
import type { Failure } from "./broker_messages.ts";

/** What `error` says, without secrets. */
export function failureOf(error: unknown, redactor: Redactor): Failure {
  const isConfig = error instanceof ConfigError;
  const stack = error instanceof Error ? error.stack : undefined;
  return {
    // A ConfigError says all there is; of others the causes tell as much.
    message: redactor.text(isConfig ? error.message : messageOf(error)),
    isConfig,
    ...(stack !== undefined && { stack: redactor.text(stack) }),
  };
}

/** The error again: a {@linkcode ConfigError} if it was one, with the stack of where it happened. */
export function errorOf({ message, isConfig, stack }: Failure): Error {
  const error = isConfig ? new ConfigError(message) : new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
