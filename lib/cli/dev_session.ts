/**
 * One session of `dev`, from the choice of a cluster to a clean end. A module of its own, loaded only
 * when it is asked for: an operator that runs needs nothing of a simulated server.
 *
 * Order: where it works is shown before anything is written there. At the end, however that comes,
 * the operator's process is gone and so is the folder with the kubeconfig; a cluster that is not ours
 * keeps what was applied to it.
 *
 * @module
 */

import { abortScope } from "../core/clock.ts";
import {
  ApiError,
  ConfigError,
  ConnectionError,
  DeadlineError,
  messageOf,
} from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { runTogether, type Task } from "../core/tasks.ts";
import { customResourceDefinition } from "../foo/crd.ts";
import { type Foo, FOO_CRD_NAME, FOOS } from "../foo/schema.ts";
import { definitionOfSources } from "./dev_definition.ts";
import { followFoos } from "./dev_foos.ts";
import { ensureDefinition, EXAMPLE_FOO } from "./dev_objects.ts";
import { type OperatorRun, startOperator } from "./dev_process.ts";
import type { Screen } from "./dev_screen.ts";
import { ChangeBursts, NO_CHANGES, watchSources } from "./dev_sources.ts";
import { isOnPath, suggest } from "./dev_suggestions.ts";
import { supervise } from "./dev_supervisor.ts";
import {
  clusterFailure,
  openWorkplace,
  type Workplace,
  type WorkplaceOptions,
} from "./dev_workplace.ts";

/** What the command line says, and the process. */
export interface SessionOptions extends WorkplaceOptions {
  /** Least level of the operator's log. */
  readonly logLevel: string;
}

/** Works until the signal aborts; then resolves, with nothing left behind. */
export async function runSession(options: SessionOptions): Promise<void> {
  const { screen, signal } = options;
  using scope = abortScope(signal);
  using _hangup = onHangup(() => scope.abort(HANGUP));
  const workplace = await inWorkplace({ ...options, signal: scope.signal });
  screen.show("", ...endOf(workplace).map((line) => screen.styles.dim(line)));
}

/** What a person should know when all has ended: what is gone, and what is not. */
export function endOf({ type, kubectl }: Pick<Workplace, "type" | "kubectl">): string[] {
  if (type === "embedded") return ["Stopped; the server and its kubeconfig are gone."];
  return [
    "Stopped. The definition of Foo stays on the cluster. This removes it, with all Foos there are and",
    "their Deployments:",
    `  ${kubectl} delete crd ${FOO_CRD_NAME}`,
  ];
}

/** @returns The workplace that it was, closed. */
async function inWorkplace(options: SessionOptions): Promise<Workplace> {
  const { host, screen, signal } = options;
  const startedMs = host.clock.monotonicMs();
  const ours: Ours = {};
  // Before the workplace, and so until after it: an exit may come while that closes.
  using _exit = onExit(ours);
  await using workplace = await openWorkplace(options);
  ours.workplace = workplace;
  screen.show(screen.styles.bold("foo-operator dev"), "");
  screen.facts(workplace.facts);
  try {
    await prepare(workplace, options);
    await work(workplace, { ...options, startedMs, ours });
  } catch (error) {
    const wasStopped = signal.aborted && error === signal.reason;
    if (!wasStopped) throw error instanceof Error ? configErrorIn(error) : error;
  }
  return workplace;
}

/** A configuration's error says all there is; which task met it is no news. */
function configErrorIn(error: Error): Error {
  return error.cause instanceof ConfigError ? error.cause : error;
}

const HANGUP = new DOMException("The terminal was closed", "AbortError");

/** Calls `stop` when the terminal is closed, until the scope is left. */
function onHangup(stop: () => void): Disposable {
  if (Deno.build.os === "windows") return { [Symbol.dispose]: () => {} };
  Deno.addSignalListener("SIGHUP", stop);
  return { [Symbol.dispose]: () => Deno.removeSignalListener("SIGHUP", stop) };
}

/** What would outlive this process if it left without a word. */
interface Ours {
  workplace?: Workplace;
  /** The operator that is running, or the last one. */
  run?: OperatorRun;
}

/** Takes `ours` away in an exit that waits for nothing, such as the one on a second signal. */
function onExit(ours: Ours): Disposable {
  const clean = () => {
    ours.run?.kill();
    ours.workplace?.abandon();
  };
  globalThis.addEventListener("unload", clean);
  return { [Symbol.dispose]: () => globalThis.removeEventListener("unload", clean) };
}

/** Applies the definition, and to our own server an example. */
async function prepare(
  workplace: Workplace,
  { host, screen, signal }: SessionOptions,
): Promise<void> {
  const { client, type } = workplace;
  const { clock, random } = host;
  try {
    const done = await ensureDefinition(client, { clock, random, signal });
    screen.good(`Definition ${FOO_CRD_NAME} ${done}`);
    if (type === "embedded") {
      const { metadata } = await client.resource(FOOS)
        .create(EXAMPLE_FOO, { namespace: "default", signal });
      screen.good(`Foo ${metadata.name} created`);
    }
  } catch (error) {
    const isTheirs = error instanceof ApiError || error instanceof ConnectionError ||
      error instanceof DeadlineError;
    throw isTheirs ? clusterFailure(error, workplace) : error;
  }
}

/**
 * Applies the definition that the sources say by now. A failure is told and no more: it may be what
 * the developer is about to mend, and the operator says what it makes of it.
 *
 * @returns The definition that was applied last.
 */
async function updateDefinition(
  { client }: Workplace,
  previous: JsonObject,
  { host, screen, signal }: SessionOptions,
): Promise<JsonObject> {
  const { clock, random, program } = host;
  try {
    const found = await definitionOfSources(program, { signal });
    if (found.type === "failed") {
      screen.bad(`Definition ${FOO_CRD_NAME} can't be made of the sources: ${found.why}`);
      return previous;
    }
    const wanted = found.definition;
    const means = { clock, random, signal };
    const done = await ensureDefinition(client, means, { wanted, previous });
    if (done !== "unchanged") screen.good(`Definition ${FOO_CRD_NAME} ${done}`);
    return wanted;
  } catch (error) {
    signal.throwIfAborted();
    screen.bad(`Definition ${FOO_CRD_NAME} can't be applied: ${messageOf(error)}`);
    return previous;
  }
}

interface WorkOptions extends SessionOptions {
  /** When the session started. */
  readonly startedMs: number;
  readonly ours: Ours;
}

async function work(workplace: Workplace, options: WorkOptions): Promise<void> {
  const { host, screen, signal, ours } = options;
  const { clock, random, program } = host;
  const { sources } = program;
  const hasSources = sources !== undefined;
  const bursts = new ChangeBursts({ clock });
  const hasKubectl = await isOnPath("kubectl", host.environment);
  const showSuggestions = () => suggest(workplace, { screen, hasKubectl, hasSources });
  let applied: JsonObject | undefined;
  const tasks: Record<string, Task> = {
    operator: (stop) =>
      supervise({
        async start() {
          await workplace.check({ signal: stop });
          // At the first start it has just been applied, by the same code.
          applied = applied === undefined || !hasSources
            ? customResourceDefinition()
            : await updateDefinition(workplace, applied, { ...options, signal: stop });
          ours.run = operatorOf(workplace, options);
          return ours.run;
        },
        changes: hasSources ? bursts : NO_CHANGES,
        hasSources,
        tell: (news) => screen.supervisor(news),
        clock,
        random,
      }, { signal: stop }),
    foos: (stop) => {
      const onReady = foosTeller(workplace, { ...options, showSuggestions });
      return followFoos({ client: workplace.client, onReady, clock, random, signal: stop });
    },
  };
  if (sources !== undefined) {
    tasks["sources"] = (stop) => followSources(sources, { screen, bursts, signal: stop });
  }
  if (workplace.type === "cluster") showSuggestions();
  await runTogether(tasks, { signal });
}

/** Tells of each Foo that is ready; in our own cluster the first one opens the way to play. */
function foosTeller(
  { type }: Workplace,
  { host, screen, startedMs, showSuggestions }: WorkOptions & { showSuggestions: () => void },
): (foo: Foo) => void {
  let isFirst = type === "embedded";
  return (foo) => {
    const seconds = ((host.clock.monotonicMs() - startedMs) / 1000).toFixed(1);
    screen.good(isFirst ? `${readyText(foo)}, ${seconds} s after the start` : readyText(foo));
    if (isFirst) showSuggestions();
    isFirst = false;
  };
}

/** Watches the sources as long as that works: without it, all else still does. */
async function followSources(
  root: string,
  { screen, bursts, signal }: { screen: Screen; bursts: ChangeBursts; signal: AbortSignal },
): Promise<void> {
  try {
    await watchSources({ root, onChange: (paths) => bursts.add(paths), signal });
  } catch (error) {
    if (signal.aborted) return;
    // A system has only so many watches to give.
    screen.bad(`Cannot watch ${root}, so changes start nothing: ${messageOf(error)}`);
  }
}

function operatorOf(workplace: Workplace, { host, screen, logLevel }: SessionOptions): OperatorRun {
  return startOperator({
    command: host.program.command,
    args: ["run", ...workplace.operatorArgs, "--log-format", "json", "--log-level", logLevel],
    environment: workplace.environment,
    onLine: (line) => screen.operatorLine(line),
    clock: host.clock,
  });
}

function readyText({ metadata, spec, status }: Foo): string {
  const available = status?.availableReplicas ?? 0;
  const wanted = spec.replicas ?? available;
  return `Foo ${metadata.namespace}/${metadata.name} is ready: ${available} of ${wanted} Pods of ` +
    `Deployment ${spec.deploymentName} available`;
}
