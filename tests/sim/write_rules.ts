/**
 * What each single write of the operator must be like, whatever the world looks like: it carries its
 * preconditions, is about something of ours, changes something, and sends only what we own.
 *
 * @module
 */

import type { ApiObject, SeenExchange, World } from "../../lib/simulator/mod.ts";
import { at, controllingFoo, DEPLOYMENTS_TABLE, FOOS_TABLE } from "./tables.ts";

/** Paths of what a correction may send. */
const CORRECTED = [
  "metadata.uid",
  "metadata.resourceVersion",
  "metadata.labels.app.kubernetes.io/managed-by",
  "metadata.ownerReferences",
  "spec.replicas",
  "spec.template.metadata.labels.app",
  "spec.template.metadata.labels.controller",
  "spec.template.spec.containers",
];

/** Remembers every state that was ever stored, to judge writes by what they were decided on. */
export class WriteRules {
  readonly #states = new Map<string, ApiObject>();
  readonly #foos = new Map<string, ApiObject>();
  /** All replicas that a Foo ever asked for, by its uid. */
  readonly #replicas = new Map<string, Set<unknown>>();
  /** Names of the Deployments that a Foo controlled at some time, by its uid. */
  readonly #controlled = new Map<string, Set<string>>();

  /** Begins to remember. */
  watch({ server }: World): void {
    server.storage.listen(({ table, object }) => {
      if (table !== FOOS_TABLE && table !== DEPLOYMENTS_TABLE) return;
      const { resourceVersion, uid, name } = object.metadata;
      this.#states.set(resourceVersion, object);
      if (table === FOOS_TABLE) {
        this.#foos.set(uid, object);
        const asked = this.#replicas.get(uid) ?? new Set();
        this.#replicas.set(uid, asked.add(at(object, "spec", "replicas")));
      }
      const foo = controllingFoo(object);
      if (table !== DEPLOYMENTS_TABLE || foo === undefined) return;
      const names = this.#controlled.get(foo) ?? new Set();
      this.#controlled.set(foo, names.add(name));
    });
  }

  /** What is wrong with `exchange`. */
  check({ method, target, body = "{}", status }: SeenExchange): string[] {
    if (method === "GET" || target === undefined) return [];
    const { resource, name, subresource } = target;
    const what = `${method} ${resource}/${name} ${status}`;
    const sent: unknown = JSON.parse(body);
    const judge = () => {
      switch (`${method} ${resource}${subresource && `/${subresource}`}`) {
        case "POST events":
        case "PATCH events":
          return [];
        case "POST deployments":
          return this.#created(sent, target.namespace);
        case "PATCH deployments":
          return this.#corrected(sent, name);
        case "DELETE deployments":
          return this.#deleted(sent, name);
        case "PATCH foos/status":
          return this.#reported(sent, name);
        default:
          return ["the operator never does this"];
      }
    };
    return judge().map((problem) => `${what}: ${problem}`);
  }

  #created(sent: unknown, namespace: string): string[] {
    const references = at(sent, "metadata", "ownerReferences");
    const [reference] = Array.isArray(references) ? references : [];
    const foo = this.#foos.get(String(at(reference, "uid")));
    if (foo === undefined || at(reference, "controller") !== true) return ["no Foo controls it"];
    return foo.metadata.namespace === namespace ? [] : ["its Foo is in another namespace"];
  }

  #corrected(sent: unknown, name: string): string[] {
    const { state, problems } = this.#judged(at(sent, "metadata"), name);
    const foo = state === undefined ? undefined : controllingFoo(state);
    if (state !== undefined && foo === undefined) problems.push(FOREIGN);
    const replicas = at(sent, "spec", "replicas");
    if (replicas !== undefined && this.#replicas.get(foo ?? "")?.has(replicas) !== true) {
      problems.push(`its Foo never asked for ${replicas} replicas`);
    }
    for (const path of pathsOf(sent)) {
      if (!CORRECTED.includes(path)) problems.push(`it sends ${path}, which is not ours`);
    }
    return problems;
  }

  #deleted(sent: unknown, name: string): string[] {
    const { state, problems } = this.#judged(at(sent, "preconditions"), name);
    if (state === undefined) return problems;
    const foo = controllingFoo(state);
    if (foo === undefined) return [...problems, FOREIGN];
    const names = this.#controlled.get(foo) ?? new Set();
    if (names.size < 2) problems.push("its Foo never had another one");
    return problems;
  }

  #reported(sent: unknown, name: string): string[] {
    const { state, problems } = this.#judged(at(sent, "metadata"), name);
    const status = at(sent, "status");
    if (typeof status !== "object" || status === null) return [...problems, "it sends no status"];
    const isNews = Object.entries(status).some(([field, value]) =>
      JSON.stringify(value) !== JSON.stringify(at(state, "status", field))
    );
    if (state !== undefined && !isNews) problems.push("it changes nothing");
    const extra = Object.keys(Object(sent)).filter((each) =>
      !["metadata", "status"].includes(each)
    );
    return extra.length === 0 ? problems : [...problems, `it sends ${extra}`];
  }

  /** The state that a write was decided on, by its preconditions. */
  #judged(preconditions: unknown, name: string): { state?: ApiObject; problems: string[] } {
    const [uid, version] = [at(preconditions, "uid"), at(preconditions, "resourceVersion")];
    if (typeof uid !== "string" || typeof version !== "string") {
      return { problems: ["it lacks a precondition"] };
    }
    const state = this.#states.get(version);
    if (state === undefined || state.metadata.uid !== uid || state.metadata.name !== name) {
      return { problems: [`there was no such state as ${uid} at ${version}`] };
    }
    return { state, problems: [] };
  }
}

const FOREIGN = "no Foo controls it";

/** Paths of the leaves; a list is a leaf. */
function pathsOf(value: unknown, prefix = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [prefix];
  return Object.entries(value).flatMap(([name, member]) =>
    pathsOf(member, prefix === "" ? name : `${prefix}.${name}`)
  );
}
