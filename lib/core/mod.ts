/**
 * What every layer speaks: objects and their keys, errors, time and chance, tasks, logs, patches,
 * selectors, conditions, backoff and rate limits.
 *
 * Nothing here does I/O, and nothing knows how the API server is reached; what is pure says so. Two
 * things go through all the rest:
 *
 * - {@linkcode Clock} and {@linkcode Random} are arguments. {@linkcode realClock} and
 *   {@linkcode realRandom} are the only ways to the real ones; tests pass simulated ones.
 * - Failures are told apart by class. {@linkcode ApiError} is an answer of the server,
 *   {@linkcode ConnectionError} says that none came, {@linkcode DeadlineError} that it took too
 *   long, {@linkcode ConfigError} that someone must change the configuration.
 *
 * {@linkcode Logger} is what every layer takes; `@foo-operator/lib/log` makes one that writes.
 *
 * @module
 */

export * from "./backoff.ts";
export * from "./clock.ts";
export * from "./conditions.ts";
export * from "./difference.ts";
export * from "./errors.ts";
export * from "./finalizers.ts";
export * from "./json.ts";
export * from "./log.ts";
export * from "./objects.ts";
export * from "./owner_references.ts";
export * from "./patch_error.ts";
export * from "./patch_json.ts";
export * from "./patch_merge.ts";
export * from "./rate_limiter.ts";
export * from "./selectors.ts";
export * from "./tasks.ts";
export * from "./timestamps.ts";
export * from "./watch_event.ts";
