/**
 * Has the log hide every credential that is in use, in whichever thread writes the log.
 *
 * @module
 */

import type { Credential, CredentialSource } from "./connection.ts";

/** Is told of secrets, to hide them; a `Redactor` of `@foo-operator/lib/log` is one. */
export interface SecretKeeper {
  /** Takes one secret, or nothing. */
  remember(secret: string | undefined): void;
}

/**
 * `source`, with `keeper` told of every secret that it gives, before it is used (field case P8):
 * whatever a server or a proxy answers, no log line repeats the token in it.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * import { Redactor } from "../core/redact.ts";
 *
 * const credential = { generation: 1, token: "s3cr3t-value" };
 * const source = {
 *   current: () => Promise.resolve(credential),
 *   refresh: () => Promise.resolve(credential),
 * };
 * const redactor = new Redactor();
 * await rememberingSecrets(source, redactor).current(new AbortController());
 * strictEqual(redactor.text("refused s3cr3t-value"), "refused [redacted]");
 * ```
 */
export function rememberingSecrets(
  source: CredentialSource,
  keeper: SecretKeeper,
): CredentialSource {
  let generation = -1;
  const remember = (credential: Credential): Credential => {
    if (credential.generation !== generation) {
      generation = credential.generation;
      keeper.remember(credential.token);
      keeper.remember(credential.basic?.password);
      keeper.remember(credential.clientCertificate?.keyPem);
    }
    return credential;
  };
  return {
    current: async (options) => remember(await source.current(options)),
    refresh: async (generation, options) => remember(await source.refresh(generation, options)),
  };
}
