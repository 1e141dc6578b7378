/**
 * Runs the tests with the permissions they need and no more: `deno task test`, `deno task test:e2e`.
 *
 * The runner's own report (JUnit) is read at the end, to say last which tests were skipped and what
 * would enable them; in CI a skipped test is a failure. Temporary files of all tests go to one
 * folder, which is deleted afterwards.
 *
 * Arguments that are paths replace the suite's files; all others are handed to `deno test`:
 * `deno task test tests/cache --filter reflect`. `--verbose` names each file that is checked and
 * each test, which a terminal is spared otherwise.
 *
 * @module
 */

// deno-lint-ignore-file no-console -- a tool of the terminal

import { fileURLToPath } from "node:url";
import { AssetsError, localAssets } from "./assets.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Which files a suite has, and how it runs. */
interface Suite {
  /** Decides by the path from the repository's root. */
  readonly has: (path: string) => boolean;
  readonly flags: readonly string[];
  /** Folders of sources and guides whose examples run as well. */
  readonly examples: readonly string[];
  /** Longest run, in minutes. A hanging test is interrupted, and named by the runner. */
  readonly minutesMax: number;
}

/** Tests that take long or measure: they run apart from the others. */
const isSlow = (path: string) => path.startsWith("tests/e2e/") || path.endsWith("_slow_test.ts");

const SUITES: Readonly<Record<string, Suite>> = {
  /** All but simulations and the slow tests: in minutes, also without a control plane. */
  fast: {
    has: (path) => !isSlow(path) && !isSimulation(path),
    flags: ["--doc", "--parallel", "--shuffle"],
    examples: ["lib", "docs/guides"],
    minutesMax: 10,
  },
  /** The whole operator in seeded weather: nothing but processor time, so side by side. */
  sim: {
    has: isSimulation,
    flags: ["--parallel"],
    examples: [],
    minutesMax: 8,
  },
  /** The operator as a process on a real control plane, and the slow tests; one by one. */
  e2e: {
    has: isSlow,
    flags: [],
    examples: [],
    minutesMax: 15,
  },
};

/** Tests that run seeds. */
function isSimulation(path: string): boolean {
  return path.startsWith("tests/sim/");
}

/** Environment variables that tests, their tools and the packages they load may read. */
const ENVIRONMENT = [
  "CI",
  "DENO_DIR",
  "DENO_FOR_COMPILE",
  "DENO_TLS_CA_STORE",
  "FOO_OPERATOR",
  "HOME",
  "KUBEBUILDER_ASSETS",
  "NODE_EXTRA_CA_CERTS",
  "NODE_USE_SYSTEM_CA",
  "NO_COLOR",
  "PATH",
  "SEED",
  "SEEDS",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE",
  "TMPDIR",
  "XDG_CACHE_HOME",
];

/** What the runner's report says. */
export interface Report {
  readonly passed: number;
  readonly failed: number;
  /** Number of skipped tests by file. */
  readonly skipped: ReadonlyMap<string, number>;
}

/**
 * Reads a JUnit report as `deno test` writes it. It has the tests that `filter` left out as skipped
 * ones: those do not count.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const xml = `<testsuites name="deno test"><testsuite name="./a_test.ts">
 *   <testcase name="a"></testcase><testcase name="b"><skipped/></testcase>
 * </testsuite></testsuites>`;
 * strictEqual(readReport(xml).passed, 1);
 * strictEqual(readReport(xml).skipped.get("./a_test.ts"), 1);
 * ```
 */
export function readReport(xml: string, { filter }: { filter?: string } = {}): Report {
  const skipped = new Map<string, number>();
  let [passed, failed] = [0, 0];
  for (const [, file = "", cases = ""] of xml.matchAll(SUITE)) {
    for (const [each] of cases.matchAll(CASE)) {
      if (each.includes("<skipped")) {
        const isAsked = filter === undefined || passesFilter(nameOf(each), filter);
        if (isAsked) skipped.set(file, (skipped.get(file) ?? 0) + 1);
      } else if (/<(failure|error)\b/.test(each)) failed++;
      else passed++;
    }
  }
  return { passed, failed, skipped };
}

/** As `deno test --filter` decides: a part of the name, or a pattern between slashes. */
function passesFilter(name: string, filter: string): boolean {
  const pattern = /^\/(.*)\/$/s.exec(filter)?.[1];
  return pattern === undefined ? name.includes(filter) : new RegExp(pattern).test(name);
}

function nameOf(testcase: string): string {
  const [, name = ""] = / name="([^"]*)"/.exec(testcase) ?? [];
  const marks: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return name.replace(/&(\w+);/g, (whole, mark) => marks[mark] ?? whole);
}

/** The value of `--filter`, in either form, if it is given. */
export function filterOf(flags: readonly string[]): string | undefined {
  const at = flags.findIndex((flag) => flag === "--filter" || flag.startsWith("--filter="));
  const flag = flags[at];
  return flag === "--filter" ? flags[at + 1] : flag?.slice("--filter=".length);
}

/** Text in the report is escaped, so that no test's output can look like a tag. */
const SUITE = /<testsuite name="([^"]*)"[^>]*>([^]*?)<\/testsuite>/g;
const CASE = /<testcase\b[^>]*(?:\/>|>[^]*?<\/testcase>)/g;

/**
 * The suites that were skipped, wholly or in part, sorted. A helper that registers tests for others
 * (as `tests/support/real_suite.ts` does) stands in the report in their place: those are the test
 * files among `texts` (text by path) that import it.
 */
export function skippedSuites(
  skipped: Report["skipped"],
  texts: ReadonlyMap<string, string>,
): string[] {
  const suites = [...skipped.keys()].map((file) => file.replace("./", "")).flatMap((file) => {
    if (file.endsWith("_test.ts")) return [file];
    const name = `/${file.slice(file.lastIndexOf("/") + 1)}"`;
    return [...texts].filter(([, text]) => text.includes(name)).map(([path]) => path);
  });
  return [...new Set(suites)].sort();
}

/** What to say last about skipped tests; `undefined` if there are none. */
export function skippedMessage(
  skipped: Report["skipped"],
  { suites, hasAssets, task }: { suites: readonly string[]; hasAssets: boolean; task: string },
): string | undefined {
  if (skipped.size === 0) return undefined;
  const count = [...skipped.values()].reduce((sum, each) => sum + each, 0);
  const remedy = hasAssets
    ? "They need kube-controller-manager in the folder KUBEBUILDER_ASSETS, or another program."
    : `They need a real API server. To run them too: deno task assets && deno task ${task}`;
  return `Skipped: ${count} tests of\n${suites.map((suite) => `  ${suite}`).join("\n")}\n${remedy}`;
}

/** Test files below `folder`, as paths from the repository's root, sorted. */
function testFiles(folder: string): string[] {
  const found: string[] = [];
  for (const { name, isDirectory } of Deno.readDirSync(`${ROOT}${folder}`)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...testFiles(path));
    else if (name.endsWith("_test.ts")) found.push(path);
  }
  return found.sort();
}

/**
 * What tests may do. They run scripts that they wrote (exec plugins) and make links (Secret volumes),
 * which Deno grants only without a list; the checkout itself stays closed to writing, and the
 * network ends at this machine. `.test` is a domain that never exists (RFC 6761).
 */
const PERMISSIONS = [
  "--allow-read",
  "--allow-write",
  `--deny-write=${ROOT}`,
  "--allow-net=127.0.0.1,localhost,[::1],*.test",
  `--allow-env=${ENVIRONMENT.join(",")}`,
  "--allow-run",
  // node:https asks for "ca", which has no name that this flag takes.
  "--allow-sys",
  "--no-prompt",
];

async function main(args: readonly string[]): Promise<number> {
  const [name = "", ...rest] = args;
  const suite = SUITES[name];
  if (suite === undefined) {
    console.error(`Cannot run suite "${name}": name one of ${Object.keys(SUITES).join(", ")}`);
    return 2;
  }
  const paths = rest.filter((arg) => !arg.startsWith("-") && pathExists(arg));
  const flags = rest.filter((arg) => !paths.includes(arg));
  const files = paths.length > 0
    ? paths
    : [...testFiles("tests").filter(suite.has), ...suite.examples];
  const temporary = await Deno.makeTempDir({ prefix: "foo-operator-tests-" });
  try {
    return await runSuite({ name, suite, flags, files, temporary });
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}

function pathExists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** True if `path` is `file`, or below it if that is a folder. */
function isWithin(path: string, file: string): boolean {
  const plain = file.replace(/^\.\//, "").replace(/\/$/, "");
  return path === plain || path.startsWith(`${plain}/`);
}

/** Progress for people: failures are told whole in any case. Without a terminal a dot is a line. */
function quietFlags(flags: readonly string[]): string[] {
  if (flags.includes("--verbose") || Deno.env.get("CI") === "true") return [];
  const hasReporter = flags.some((flag) => flag.startsWith("--reporter"));
  return hasReporter || !Deno.stdout.isTerminal() ? ["--quiet"] : ["--quiet", "--reporter=dot"];
}

async function runSuite({ name, suite, flags, files, temporary }: {
  name: string;
  suite: Suite;
  flags: readonly string[];
  files: readonly string[];
  temporary: string;
}): Promise<number> {
  const environment = { get: (variable: string) => Deno.env.get(variable) };
  const assets = localAssets(environment);
  // Where the caller wants the report, if anywhere.
  const junit = flags.find((flag) => flag.startsWith("--junit-path="))?.slice(13) ??
    `${temporary}/report.xml`;
  const what = files.length === 1 ? files[0] : `${files.length} files and folders`;
  console.error(`Running ${what}: some minutes for a whole suite, ${suite.minutesMax} at most`);
  const runner = new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      ...suite.flags,
      ...PERMISSIONS,
      ...quietFlags(flags),
      ...flags.filter((flag) => !flag.startsWith("--junit-path=") && flag !== "--verbose"),
      `--junit-path=${junit}`,
      ...files,
    ],
    cwd: ROOT,
    env: { TMPDIR: temporary, ...(assets === undefined ? {} : { KUBEBUILDER_ASSETS: assets }) },
    stdin: "null",
  }).spawn();
  const timer = setTimeout(() => runner.kill("SIGINT"), suite.minutesMax * 60_000);
  const { code } = await runner.status;
  clearTimeout(timer);
  if (!pathExists(junit)) return code === 0 ? 1 : code;
  const filter = filterOf(flags);
  const xml = await Deno.readTextFile(junit);
  const { skipped } = readReport(xml, filter === undefined ? {} : { filter });
  const task = name === "fast" ? "test" : `test:${name}`;
  const texts = new Map(
    testFiles("tests").filter((path) => files.some((file) => isWithin(path, file)))
      .map((path) => [path, Deno.readTextFileSync(ROOT + path)] as const),
  );
  const suites = skippedSuites(skipped, texts);
  const message = skippedMessage(skipped, { suites, hasAssets: assets !== undefined, task });
  if (message === undefined) return code;
  console.error(message);
  if (Deno.env.get("CI") !== "true") return code;
  console.error("In CI every test runs: a skipped one is a failure.");
  return code === 0 ? 1 : code;
}

if (import.meta.main) {
  try {
    Deno.exitCode = await main(Deno.args);
  } catch (error) {
    if (!(error instanceof AssetsError)) throw error;
    console.error(error.message);
    Deno.exitCode = 1;
  }
}
