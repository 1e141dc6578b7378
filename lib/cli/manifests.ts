/**
 * `foo-operator manifests`: what a cluster needs before the operator can work in it.
 *
 * @module
 */

import { stringifyYaml } from "../core/yaml.ts";
import { type Command, EXIT } from "./command.ts";
import { PROGRAM } from "./help.ts";

/** Prints manifests as YAML. */
export const MANIFESTS: Command = {
  name: "manifests",
  summary: "Print the YAML that a cluster needs, for kubectl apply -f -",
  description: "Prints manifests as YAML. crd: the CustomResourceDefinition of Foo.",
  words: "crd",
  choices: ["crd"],
  flags: {},
  examples: [
    {
      line: `${PROGRAM} manifests crd | kubectl apply --server-side -f -`,
      what: "Install or update the definition of Foo",
    },
    {
      line: `${PROGRAM} manifests crd | kubectl diff -f -`,
      what: "See what an update would change",
    },
  ],
  async run(_invocation, { stdout }) {
    // Loaded only here: the other commands have no use for schemas, which cost memory.
    const { customResourceDefinition } = await import("../foo/crd.ts");
    stdout(stringifyYaml(customResourceDefinition()));
    return EXIT.ok;
  },
};
