/**
 * An API server and a clock to test operators against, in one process and without a socket.
 *
 * {@linkcode ApiServer} has a `fetch` that fits the client's `Transport`; {@linkcode SimClock} moves
 * when a test says so, and lets all promise work end before it does.
 *
 * @module
 */

export * from "./server.ts";
export * from "./sim_clock.ts";
