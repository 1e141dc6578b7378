/**
 * The house rules that a machine can check, as a plugin of `deno lint`.
 *
 * Each rule is a function from a context to a visitor, exported by name so that its tests can run
 * it alone; the default export is what Deno asks of a plugin. Which file may do what stands in
 * {@linkcode DOORS}, once, and the architecture test reads it from here.
 *
 * What only a reader can judge (is this `as` in a parser at a boundary?) is left to review.
 *
 * @module
 */

type Context = Deno.lint.RuleContext;
type Visitor = Deno.lint.LintVisitor;

/** Longest function, in lines. Longer ones hide a second idea. */
export const FUNCTION_LINES_MAX = 70;

/** Composition roots: the only places that make the real clock, chance and process for the rest. */
const ROOTS = /^(main|lib\/cli\/operator_worker)\.ts$/;

/**
 * Capabilities of the runtime, and the files of the product that may use them. A path of the
 * repository that no pattern matches is refused; `Deno.errors`, `Deno.build` and types are free.
 */
export const DOORS: readonly { readonly what: RegExp; readonly where: RegExp; why: string }[] = [
  {
    what:
      /^Deno\.(env|args|exit|exitCode|addSignalListener|removeSignalListener|pid|uid|hostname)$/,
    where: /^(main\.ts$|lib\/cli\/)/,
    why:
      "Environment, arguments and exit belong to main.ts and lib/cli/: take the value as an argument",
  },
  {
    what: /^Deno\.(stdin|stdout|stderr|permissions|watchFs|consoleSize|memoryUsage|execPath)$/,
    where: /^(main\.ts$|lib\/cli\/)/,
    why: "The process belongs to main.ts and lib/cli/: take the value as an argument",
  },
  {
    what: /^Deno\.(createHttpClient)$/,
    where: /^lib\/client\/transport\.ts$/,
    why: "All traffic goes through lib/client/transport.ts: take a Transport",
  },
  {
    what: /^Deno\.(serve|listen|listenTls|connect|connectTls|upgradeWebSocket)$/,
    where:
      /^lib\/(services\/server|client\/relay|simulator\/http_front|webhook\/\w+|cli\/\w+)\.ts$/,
    why:
      "Sockets belong to lib/services/server.ts, lib/client/relay.ts, lib/simulator/http_front.ts, lib/webhook/ and lib/cli/",
  },
  {
    what: /^Deno\.(errors|build|version|inspect|customInspect)$/,
    where: /./,
    why: "",
  },
  {
    // All the rest of Deno is files and subprocesses.
    what: /^Deno\./,
    where: /^(main\.ts$|lib\/client\/(credentials|config|exec_plugin)\.ts$|lib\/cli\/)/,
    why: "Files and subprocesses belong to lib/client/credentials.ts, config.ts, exec_plugin.ts " +
      "and lib/cli/",
  },
];

/** Product code: what ships. Tests and tools meet other rules. */
function isProduct(path: string): boolean {
  return path === "main.ts" || path.startsWith("lib/");
}

/**
 * Tests that must be deterministic. Support code and end-to-end suites live with real processes,
 * whose time is the machine's.
 */
function isDeterministicTest(path: string): boolean {
  return path.startsWith("tests/") && !/^tests\/(support|e2e|contract)\//.test(path) &&
    !path.endsWith("_slow_test.ts");
}

const ROOT = new URL("..", import.meta.url).pathname;

/** Path of the linted file from the repository's root, with `/`. */
export function repositoryPath(filename: string): string {
  const path = filename.replaceAll("\\", "/").replace(/^file:\/\//, "");
  if (path.startsWith(ROOT)) return path.slice(ROOT.length);
  // Another checkout, as on another system's paths: its innermost top-level folder tells.
  return /^.*\/((?:lib|tests|tools)\/.*|main\.ts)$/.exec(path)?.[1] ?? path;
}

/** Real time outside its door: a simulation could not own it. */
export function ambientTime(context: Context): Visitor {
  const path = repositoryPath(context.filename);
  if (ROOTS.test(path) || path === "lib/core/clock.ts") return {};
  if (!isProduct(path) && !isDeterministicTest(path)) return {};
  const report = reporter(context, "Time is an argument: take a Clock");
  return {
    'MemberExpression[object.name="Date"][property.name="now"]': report,
    'MemberExpression[object.name="performance"][property.name="now"]': report,
    'MemberExpression[object.name="AbortSignal"][property.name="timeout"]': report,
    'NewExpression[callee.name="Date"][arguments.length=0]': report,
    "CallExpression[callee.name=/^set(Timeout|Interval)$/]": report,
    "CallExpression[callee.property.name=/^set(Timeout|Interval)$/]": report,
    ImportDeclaration(node) {
      if (/^node:timers/.test(node.source.value) && isProduct(path) && !isSimulator(path)) {
        report(node);
      }
    },
  };
}

/** The simulated clock finishes promise work with `setImmediate`, which waits for no time. */
function isSimulator(path: string): boolean {
  return path === "lib/simulator/sim_clock.ts";
}

/** Real chance outside its door: a run could not be replayed from its seed. */
export function ambientChance(context: Context): Visitor {
  const path = repositoryPath(context.filename);
  if (ROOTS.test(path) || path === "lib/core/clock.ts") return {};
  if (!isProduct(path) && !isDeterministicTest(path)) return {};
  const report = reporter(
    context,
    "Chance is an argument: take a Random, or a function for a UUID",
  );
  return {
    'MemberExpression[object.name="Math"][property.name="random"]': report,
    'MemberExpression[object.name="crypto"][property.name=/^(randomUUID|getRandomValues)$/]':
      report,
  };
}

/** `AbortSignal.any` stays registered on a long-lived parent (field case P3). */
export function abortSignalAny(context: Context): Visitor {
  const report = reporter(context, "AbortSignal.any leaks on long-lived signals: use abortScope");
  return { 'MemberExpression[object.name="AbortSignal"][property.name="any"]': report };
}

/** A default export has no name that grep finds. */
export function defaultExport(context: Context): Visitor {
  if (repositoryPath(context.filename) === "tools/lint_house.ts") return {};
  const report = reporter(context, "Export by name: grep must find it");
  return {
    ExportDefaultDeclaration: report,
    'ExportSpecifier[exported.name="default"]': report,
  };
}

/** An exported arrow function with a body hides behind `const`. */
export function exportedArrow(context: Context): Visitor {
  const report = reporter(context, "Export a function declaration: its name and type stand first");
  return {
    'ExportNamedDeclaration > VariableDeclaration > VariableDeclarator > ArrowFunctionExpression[body.type="BlockStatement"]':
      report,
  };
}

/** `Deno.*` outside the doors of {@linkcode DOORS}. */
export function denoDoors(context: Context): Visitor {
  const path = repositoryPath(context.filename);
  if (!isProduct(path)) return {};
  const aliased = reporter(context, "Write Deno.… where you use it, so that its door is seen");
  const check = (node: Deno.lint.Node, what: string) => {
    const door = DOORS.find((each) => each.what.test(what));
    if (door !== undefined && !door.where.test(path)) {
      context.report({ node, message: `${what}: ${door.why}` });
    }
  };
  return {
    'MemberExpression[object.name="Deno"]'(node: Deno.lint.MemberExpression) {
      const { property } = node;
      if (!node.computed && property.type === "Identifier") check(node, `Deno.${property.name}`);
      else context.report({ node, message: "Name what you take from Deno: Deno.env, not Deno[…]" });
    },
    "VariableDeclarator[init.name='Deno']": aliased,
    "MemberExpression[object.name='globalThis'][property.name='Deno']": aliased,
    "NewExpression[callee.name='Worker']"(node: Deno.lint.NewExpression) {
      if (!path.startsWith("lib/cli/") && path !== "main.ts") {
        context.report({ node, message: "Workers are started in lib/cli/" });
      }
    },
  };
}

/** The one door to the network is `lib/client/transport.ts`. */
export function bareFetch(context: Context): Visitor {
  const path = repositoryPath(context.filename);
  if (!isProduct(path) || path === "lib/client/transport.ts") return {};
  const report = reporter(
    context,
    "All traffic goes through lib/client/transport.ts: take a Transport",
  );
  return {
    "CallExpression[callee.name='fetch']": report,
    "MemberExpression[object.name='globalThis'][property.name='fetch']": report,
  };
}

/** `void promise;` lets a promise float: its failure would end the process, or nobody would know. */
export function voidPromise(context: Context): Visitor {
  const report = reporter(
    context,
    "No promise floats: await it, return it, or give it to runTogether",
  );
  return { "ExpressionStatement > UnaryExpression[operator='void']": report };
}

/** A signal belongs to one call; kept in a field it outlives the call it was given to. */
export function storedSignal(context: Context): Visitor {
  if (!isProduct(repositoryPath(context.filename))) return {};
  const message = "Pass the AbortSignal on, never store it in a field";
  return {
    PropertyDefinition(node) {
      const type = node.typeAnnotation?.typeAnnotation;
      if (type !== undefined && context.sourceCode.getText(type) === "AbortSignal") {
        context.report({ node, message });
      }
    },
  };
}

/** Functions of at most {@linkcode FUNCTION_LINES_MAX} lines; test files are lists, so not there. */
export function functionLength(context: Context): Visitor {
  if (repositoryPath(context.filename).startsWith("tests/")) return {};
  const check = (node: Deno.lint.Node) => {
    const lines = context.sourceCode.getText(node).split("\n").length;
    if (lines <= FUNCTION_LINES_MAX) return;
    const message = `A function of ${lines} lines, over ${FUNCTION_LINES_MAX}: split it`;
    context.report({ node, message });
  };
  return {
    FunctionDeclaration: check,
    FunctionExpression: check,
    ArrowFunctionExpression: check,
  };
}

function reporter(context: Context, message: string): (node: Deno.lint.Node) => void {
  return (node) => context.report({ node, message });
}

const plugin: Deno.lint.Plugin = {
  name: "house",
  rules: {
    "ambient-time": { create: ambientTime },
    "ambient-chance": { create: ambientChance },
    "no-abort-signal-any": { create: abortSignalAny },
    "no-default-export": { create: defaultExport },
    "no-exported-arrow": { create: exportedArrow },
    "deno-doors": { create: denoDoors },
    "no-bare-fetch": { create: bareFetch },
    "no-void-promise": { create: voidPromise },
    "no-stored-signal": { create: storedSignal },
    "function-length": { create: functionLength },
  },
};

// A plugin of deno lint must be a default export.
export default plugin;
