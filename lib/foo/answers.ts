/**
 * What answers of the server mean for a reconcile.
 *
 * @module
 */

import { ApiError, isConflict, isObjectNotFound } from "../core/errors.ts";

/** What was asked for, or `undefined` if the server has no such object. Other failures reject. */
export async function absentIfNotFound<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isObjectNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * The server finds the Deployment itself wrong, and will again: not retried until the Foo changes.
 * A missing right or a full quota is another thing, which may pass, and is retried with backoff.
 */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.hasStatus && !isConflict(error) &&
    (error.status === 422 || error.status === 400);
}
