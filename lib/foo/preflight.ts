/**
 * Asks the API server, before anything else, for what the operator can't do without, so that a wrong
 * configuration is one clear sentence at the start and not a line among retries.
 *
 * Fatal at the start: a server that can't be reached within a few seconds, one that we can't trust,
 * credentials that it refuses, rights to read that are missing. Each has a person as its cure, and a
 * supervisor starts the process again. Not fatal: a server that answers but is overloaded or still
 * starting, and a missing definition of Foo. Once started, nothing of this ends the process: then
 * the caches try again with backoff.
 *
 * @module
 */

import { type Clock, withDeadline } from "../core/clock.ts";
import {
  ApiError,
  ConfigError,
  ConnectionError,
  DeadlineError,
  isNotFound,
  messageOf,
  ProtocolError,
} from "../core/errors.ts";
import type { Logger } from "../core/log.ts";
import type { ConnectionSettings } from "../client/connection.ts";
import { FOO_CRD_NAME, FOOS } from "./schema.ts";

/** How often the server is tried, and the pauses before each further try, in milliseconds. */
const TRY_PAUSES_MS = [500, 1500];

/** Longest single try, in milliseconds: a server that takes longer for one small page is not there. */
const TRY_LIMIT_MS = 10_000;

/** All that is needed of a client for one kind. */
export interface PageLister {
  listPage(
    options: {
      namespace?: string;
      fieldSelector?: string;
      pageSize: number;
      signal: AbortSignal;
    },
  ): Promise<unknown>;
}

/** What is asked, and how. */
export interface PreflightOptions {
  readonly connection: ConnectionSettings;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly foos: PageLister;
  readonly deployments: PageLister;
  readonly definitions: PageLister;
  /** The configuration says to show a client certificate. */
  readonly hasClientCertificate: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Makes sure that the operator can work.
 *
 * @returns Whether we may read the definition of Foo.
 * @throws {ConfigError} If it can't; the message names what is at fault and the remedy.
 */
export async function preflight(
  options: PreflightOptions,
): Promise<{ canReadDefinition: boolean }> {
  const { foos, deployments, definitions } = options;
  const places = options.namespaces.length === 0 ? [undefined] : options.namespaces;
  for (const namespace of places) {
    const where = namespace === undefined ? "in all namespaces" : `in namespace "${namespace}"`;
    const place = namespace === undefined ? {} : { namespace };
    await demand(options, {
      right: `list ${FOOS.plural}.${FOOS.gvk.group} ${where}`,
      ask: (signal) => foos.listPage({ ...place, pageSize: 1, signal }),
    });
    await demand(options, {
      right: `list deployments.apps ${where}`,
      ask: (signal) => deployments.listPage({ ...place, pageSize: 1, signal }),
    });
  }
  const fieldSelector = `metadata.name=${FOO_CRD_NAME}`;
  const refusal = await ask(options, (signal) => {
    return definitions.listPage({ fieldSelector, pageSize: 1, signal });
  });
  return { canReadDefinition: refusal === undefined };
}

/** A right that the operator can't do without. */
interface Demand {
  readonly right: string;
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
}

async function demand(options: PreflightOptions, { right, ask: question }: Demand): Promise<void> {
  const refusal = await ask(options, question);
  if (refusal === undefined) return;
  const { user, why } = readRefusal(refusal);
  const who = user === undefined ? userOf(options) : `user "${user}"`;
  throw new ConfigError(
    `Missing right of ${who} to ${right} on ${options.connection.server}` +
      `${
        why === undefined ? "" : ` (${why})`
      }: bind a Role or ClusterRole with the verbs get, list ` +
      "and watch to that user, or use other credentials",
    { cause: refusal },
  );
}

/**
 * What the server's sentence has that ours lacks: who asked, and, after the place, what its authorizer
 * adds (`RBAC: clusterrole "x" not found`). Other authorizers than RBAC may word it otherwise.
 */
function readRefusal({ message }: ApiError): { user: string | undefined; why: string | undefined } {
  const [, user] = /User "([^"]*)"/.exec(message) ?? [];
  const [, why] = / (?:at the cluster scope|in the namespace "[^"]*"): (.*?)(?: \(GET was |$)/s
    .exec(message) ?? [];
  return { user, why };
}

/** One question, some times: the refusal, if a right is missing. What a person need not cure is fine. */
async function ask(
  options: PreflightOptions,
  question: (signal: AbortSignal) => Promise<unknown>,
): Promise<ApiError | undefined> {
  const { clock, log, signal, connection } = options;
  for (let tries = 0;; tries++) {
    try {
      const bounds = { action: "the first answer", limitMs: TRY_LIMIT_MS, clock, signal };
      await withDeadline(question, bounds);
      return undefined;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof ApiError) return judge(error, options);
      if (error instanceof ProtocolError) throw notAnApiServer(error, connection);
      const isLost = error instanceof ConnectionError || error instanceof DeadlineError;
      if (!isLost) throw error;
      const pauseMs = TRY_PAUSES_MS[tries];
      if (pauseMs === undefined) throw unreachable(error, connection);
      log.debug("The API server was not reached", { server: connection.server, error });
      await clock.sleep(pauseMs, { signal });
    }
  }
}

function judge(error: ApiError, options: PreflightOptions): ApiError | undefined {
  if (error.status === 403) {
    if (options.hasClientCertificate && isAnonymous(error)) {
      throw certificateIgnored(error, options);
    }
    return error;
  }
  if (error.status === 401) {
    throw new ConfigError(
      `The API server ${options.connection.server} rejects the credentials (401 Unauthorized) of ` +
        `${userOf(options)}: check the token or the client certificate`,
      { cause: error },
    );
  }
  // Not there yet, overloaded, or still starting: the caches wait for that.
  if (!isNotFound(error)) {
    options.log.warn("The API server answers, but not well; going on", { error });
  }
  return undefined;
}

/** The server's words for who asked are all there is: an anonymous user has no right to ask. */
function isAnonymous({ message }: ApiError): boolean {
  return message.includes('"system:anonymous"');
}

/** We showed a certificate, and the server took us for nobody (field case K14). */
function certificateIgnored(error: ApiError, options: PreflightOptions): ConfigError {
  return new ConfigError(
    `The API server ${options.connection.server} did not see the client certificate of ` +
      `${userOf(options)} and takes us for system:anonymous: does a proxy in between end TLS, or ` +
      "does the server not ask for client certificates? Reach it directly, or use a token",
    { cause: error },
  );
}

function userOf({ connection }: PreflightOptions): string {
  const { contextName } = connection;
  return contextName === undefined ? "the service account" : `the user of context "${contextName}"`;
}

/** A page of a balancer or of a login, most likely: the address is that of something else. */
function notAnApiServer(error: ProtocolError, { server }: ConnectionSettings): ConfigError {
  return new ConfigError(
    `${server} does not answer as an API server does: ${messageOf(error)}; check the server's ` +
      "address, and what answers there or in between",
    { cause: error },
  );
}

function unreachable(error: unknown, { server }: ConnectionSettings): ConfigError {
  const reason = messageOf(error);
  // The transport's errors name the server already.
  const told = reason.includes(server)
    ? reason
    : `Cannot reach the API server ${server}: ${reason}`;
  return new ConfigError(
    `${told}; check the server, its certificate authority and the network in between`,
    { cause: error },
  );
}
