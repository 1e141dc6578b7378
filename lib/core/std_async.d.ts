/** Types of what we use of `@std/async/abortable`, whose npm build carries none. */

/** `promise`, or a rejection with `signal.reason` if that comes first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T>;
