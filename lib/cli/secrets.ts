/**
 * Has the log hide every credential that is in use, in whichever thread writes the log.
 *
 * @module
 */

import type { Credential, CredentialSource } from "../client/connection.ts";
import type { Redactor } from "../core/redact.ts";

/** `source`, with `redactor` told of every secret that it gives (field case P8). */
export function rememberingSecrets(source: CredentialSource, redactor: Redactor): CredentialSource {
  let generation = -1;
  const remember = (credential: Credential): Credential => {
    if (credential.generation !== generation) {
      generation = credential.generation;
      redactor.remember(credential.token);
      redactor.remember(credential.basic?.password);
      redactor.remember(credential.clientCertificate?.keyPem);
    }
    return credential;
  };
  return {
    current: async (options) => remember(await source.current(options)),
    refresh: async (generation, options) => remember(await source.refresh(generation, options)),
  };
}
