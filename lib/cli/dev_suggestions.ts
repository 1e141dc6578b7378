/**
 * What `dev` says to try next: the few commands that show what the operator does.
 *
 * @module
 */

import type { Environment } from "../client/proxy.ts";
import { EXAMPLE_FOO } from "./dev_objects.ts";
import type { Screen, Suggestion } from "./dev_screen.ts";
import type { Workplace } from "./dev_workplace.ts";

/** Where kubectl is told how to get. */
const KUBECTL_HELP = "https://kubernetes.io/docs/tasks/tools/";

/** Shows what to type. */
export function suggest(
  workplace: Pick<Workplace, "type" | "kubectl" | "kubeconfig">,
  { screen, hasKubectl, hasSources }: { screen: Screen; hasKubectl: boolean; hasSources: boolean },
): void {
  const title = hasKubectl
    ? "Try in another terminal:"
    : `Try in another terminal, with kubectl (${KUBECTL_HELP}):`;
  screen.suggestions(title, suggestionsFor(workplace, { hasSources }));
  screen.show(
    hasSources
      ? "Change a file in lib/ and the operator restarts. Ctrl-C ends it."
      : "Ctrl-C ends it.",
    "",
  );
}

/** The commands; each is complete and does what it says. */
export function suggestionsFor(
  { type, kubectl, kubeconfig }: Pick<Workplace, "type" | "kubectl" | "kubeconfig">,
  { hasSources }: { hasSources: boolean },
): Suggestion[] {
  const { name } = EXAMPLE_FOO.metadata;
  // A binary has no example beside it.
  const apply = hasSources
    ? `${kubectl} apply -f crds/examples/foo.yaml`
    : `echo '${JSON.stringify(EXAMPLE_FOO)}' | ${kubectl} apply -f -`;
  const setup = type === "cluster" ? [{ line: apply, what: "give it work" }] : [];
  return [
    ...(kubeconfig === undefined ? [] : [{ line: exportLine(kubeconfig) }]),
    ...setup,
    { line: `${kubectl} get foos -w`, what: "follow it" },
    {
      line: `${kubectl} patch foo ${name} --type merge -p '{"spec":{"replicas":5}}'`,
      what: "scale it",
    },
    { line: `${kubectl} edit foo ${name}`, what: "change it" },
    { line: `${kubectl} delete deployment ${name}`, what: "break it" },
  ];
}

function exportLine(path: string): string {
  return Deno.build.os === "windows" ? `$env:KUBECONFIG = "${path}"` : `export KUBECONFIG=${path}`;
}

/** True if the shell would find `program`. */
export async function isOnPath(program: string, environment: Environment): Promise<boolean> {
  const isWindows = Deno.build.os === "windows";
  const folders = (environment.get("PATH") ?? "").split(isWindows ? ";" : ":");
  for (const folder of folders.filter((each) => each !== "")) {
    try {
      if ((await Deno.stat(`${folder}/${program}${isWindows ? ".exe" : ""}`)).isFile) return true;
    } catch {
      // Not there, or not to be looked at: the next may have it.
    }
  }
  return false;
}
