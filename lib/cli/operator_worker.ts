/**
 * Where the operator runs: the entry of a worker that has the network address of its API server and
 * nothing else of the machine.
 *
 * The second composition root beside `main.ts`: the operator's clock and randomness are made here.
 * Whatever it imports is loaded before the worker is closed off, and should be little: no file is
 * read here, no kubeconfig understood, no plugin known.
 *
 * @module
 */

import { rememberingSecrets } from "../client/secrets.ts";
import { realClock, realRandom, realUuid } from "../core/clock.ts";
import { openLog } from "../core/log_sink.ts";
import { runOperator } from "../foo/operator.ts";
import { type OperatorContext, serveBroker, type WorkerScope } from "./broker_client.ts";
import type { OperatorStart } from "./broker_messages.ts";

async function operate(
  { settings, log: { level, format, color } }: OperatorStart,
  { credentials, writeLog: write, redactor, signal }: OperatorContext,
): Promise<void> {
  using log = openLog({ level, format, color, write, redactor, clock: realClock });
  await runOperator(settings, {
    credentials: rememberingSecrets(credentials, redactor),
    clock: realClock,
    random: realRandom,
    uuid: realUuid,
    log: log.logger,
  }, { signal });
}

// Boundary: a worker's global scope, which the compiler takes for a window's.
const scope = globalThis as unknown as WorkerScope;

serveBroker(scope, { clock: realClock, operate });
