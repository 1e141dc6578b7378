/**
 * The one failure of all three kinds of patch, so that a caller can answer without knowing which
 * kind it applied: the API server gives 400 for a malformed patch and 422 for one that can't apply.
 *
 * @module
 */

/** Why a patch failed. */
export type PatchErrorCode =
  /** It is no patch of its kind, whatever it is applied to. */
  | "malformed"
  /** It names a place that the document does not have. */
  | "missing"
  /** A `test` operation did not hold. */
  | "test-failed"
  /** No patch of this kind can say the wanted change. */
  | "inexpressible";

/** A patch can't be read, applied or made. */
export class PatchError extends Error {
  /** Class name, also in minified programs. */
  override readonly name = "PatchError";
  /** What kind of failure it is. */
  readonly code: PatchErrorCode;

  /** `message` says the action and the path at fault. */
  constructor(code: PatchErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
