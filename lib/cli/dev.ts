/**
 * `foo-operator dev`: the operator with something to run against.
 *
 * @module
 */

import { assert, ConfigError } from "../core/errors.ts";
import { LOG_LEVELS } from "../core/log_sink.ts";
import { type Command, EXIT, type Host } from "./command.ts";
import type { PermissionName } from "./grants.ts";
import { oneOf } from "./flags.ts";
import { PROGRAM } from "./help.ts";
import { CONNECTION_FLAGS, LOG_FLAGS } from "./run.ts";
import { refusePermissionBroker } from "./sandbox.ts";

/** What it takes to start an operator, serve it a cluster, and write its kubeconfig. */
const NEEDED: readonly PermissionName[] = ["net", "read", "write", "env", "run"];

/** Runs the operator for whoever works on it, or wants to see it. */
export const DEV: Command = {
  name: "dev",
  summary: "Run the operator with something to work on, for development and demos",
  description:
    "Runs the operator against the current kube context if that is plainly a local cluster\n" +
    "(kind, k3d, minikube, Docker Desktop at a local address), against any context that\n" +
    "--context names, or else against a simulated API server in this process. Shows which\n" +
    "before it writes anything, applies the definition of Foo, and tells what to try with\n" +
    "kubectl. From source it starts the operator again when a file changes; a binary has no\n" +
    "sources to watch. Ctrl-C ends all of it.",
  flags: {
    context: { ...flagOf(CONNECTION_FLAGS, "context"), help: "Use this context of the kubeconfig" },
    embedded: {
      type: "switch",
      help: "Use the simulated API server, whatever the kubeconfig says",
    },
    kubeconfig: {
      ...flagOf(CONNECTION_FLAGS, "kubeconfig"),
      help: "Kubeconfig file (default: KUBECONFIG, else ~/.kube/config)",
    },
    "log-level": flagOf(LOG_FLAGS, "log-level"),
  },
  examples: [
    { line: `${PROGRAM} dev`, what: "A local cluster if there is one, else the simulated server" },
    { line: `${PROGRAM} dev --embedded`, what: "Nothing but this process" },
    { line: `${PROGRAM} dev --context my-cluster`, what: "A cluster of your choice" },
  ],
  async run({ flags, redactor }, host) {
    const logLevel = oneOf(flags.text("log-level") ?? "info", {
      flag: "log-level",
      choices: LOG_LEVELS,
    });
    refusePermissionBroker(host.environment);
    await demandPermissions(host);
    // Only now: the simulated server is much code, and no operator needs it.
    const [{ runSession }, { Screen }] = await Promise.all([
      import("./dev_session.ts"),
      import("./dev_screen.ts"),
    ]);
    const { stdout, environment, terminals, signal } = host;
    await runSession({
      kubeconfig: flags.text("kubeconfig"),
      context: flags.text("context"),
      embedded: flags.isSet("embedded"),
      logLevel,
      host,
      redactor,
      screen: new Screen({
        write: stdout,
        color: terminals.stdout && !environment.get("NO_COLOR"),
      }),
      signal,
    });
    return EXIT.ok;
  },
};

function flagOf(flags: Command["flags"], name: string) {
  const flag = flags[name];
  assert(flag !== undefined, `there is a flag --${name}`);
  return flag;
}

/** An image's build may start no program and write no file: then there is nothing to try. */
async function demandPermissions({ permissions }: Host): Promise<void> {
  for (const name of NEEDED) {
    if (await permissions.state(name) === "all") continue;
    throw new ConfigError(
      `Cannot run dev in a program without the permission "${name}", as in a container image: use ` +
        `the workstation's build, or "deno task dev" from source`,
    );
  }
}
