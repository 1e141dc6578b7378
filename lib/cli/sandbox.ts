/**
 * Starts an operator in a worker that may do exactly what {@linkcode grantsFor} lists, and then
 * takes from the main thread what it needs no longer.
 *
 * The worker's entry is an argument: tests start another one through the very same door to look
 * around from the inside.
 *
 * @module
 */

import type { Environment } from "../client/proxy.ts";
import { ConfigError } from "../core/errors.ts";
import { Broker, type BrokerOptions, SandboxError, type WorkerChannel } from "./broker.ts";
import type { OperatorStart } from "./broker_messages.ts";
import { droppedBy, type Grants, type PermissionName, workerPermissions } from "./grants.ts";

/** The permissions of the main thread. */
export interface OwnPermissions {
  /** Whether all of it is granted; if not, a part of it may be. */
  state(name: PermissionName): Promise<"all" | "other">;
  /** Gives it up, for good. */
  drop(name: PermissionName): Promise<void>;
}

/** What {@linkcode runSandboxed} needs. */
export interface SandboxOptions extends Omit<BrokerOptions, "channel"> {
  /** Module that the worker runs; it speaks as `broker_client.ts` does. */
  readonly entry: URL;
  readonly grants: Grants;
  readonly start: OperatorStart;
  readonly permissions: OwnPermissions;
}

/** Variable by which another process answers all permission checks, in place of Deno's flags. */
export const PERMISSION_BROKER_VARIABLE = "DENO_PERMISSION_BROKER_PATH";

/**
 * Refuses an environment in which Deno's permissions are not what they seem.
 *
 * @throws {ConfigError} If another process decides about permissions.
 */
export function refusePermissionBroker(environment: Pick<Environment, "get">): void {
  if (environment.get(PERMISSION_BROKER_VARIABLE) === undefined) return;
  throw new ConfigError(
    `Cannot run with ${PERMISSION_BROKER_VARIABLE} set: Deno would ask that broker and ignore the ` +
      "limits of the sandbox; unset it",
  );
}

/**
 * Runs an operator in its sandbox until it has ended; `signal` tells it to stop.
 *
 * @throws {SandboxError} If it died there.
 * @throws What it failed with.
 */
export async function runSandboxed(
  options: SandboxOptions,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const { entry, grants, start, permissions } = options;
  const worker = openWorker(entry, grants);
  try {
    const broker = new Broker({ ...options, channel: channelTo(worker) });
    // Only then: until it is loaded, the worker reads its modules by the main thread's permissions.
    const beforeStart = async () => {
      for (const name of droppedBy(grants)) await permissions.drop(name);
    };
    await broker.run(start, { beforeStart, signal });
  } finally {
    worker.terminate();
  }
}

function openWorker(entry: URL, grants: Grants): Worker {
  const permissions = workerPermissions(grants);
  try {
    return new Worker(entry, { type: "module", name: "operator", deno: { permissions } });
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotCapable)) throw cause;
    throw new SandboxError(
      "The operator's sandbox needs a permission that this program was not given: see the " +
        "permissions command",
      { cause },
    );
  }
}

function channelTo(worker: Worker): WorkerChannel {
  return {
    post: (message) => worker.postMessage(message),
    listen({ message, failure }) {
      worker.addEventListener("message", ({ data }) => message(data));
      worker.addEventListener("messageerror", () => failure("its message can't be read"));
      worker.addEventListener("error", (event) => {
        // Else Deno takes it for an error of the main thread, and ends the process its own way.
        event.preventDefault();
        failure(event.message);
      });
    },
  };
}

/** The real permissions of the thread that calls it. */
export const ownPermissions: OwnPermissions = {
  async state(name) {
    return (await Deno.permissions.query({ name })).state === "granted" ? "all" : "other";
  },
  async drop(name) {
    await Deno.permissions.revoke({ name });
  },
};
