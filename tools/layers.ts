/**
 * The layers of `lib/` and the doors of packages: what may be imported from where.
 *
 * `tests/architecture_test.ts` holds the sources to it, and ARCHITECTURE.md to the order.
 *
 * @module
 */

/** Each layer, from the bottom up, with the layers below it that it may import. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  client: ["core"],
  services: ["core", "client"],
  cache: ["core"],
  controller: ["core", "client", "services", "cache"],
  foo: ["core", "client", "services", "cache", "controller"],
  cli: ["core", "client", "services", "cache", "controller", "foo", "simulator"],
};

/** Beside the order: an API server to run against, which knows nothing of how we talk to one. */
export const SIMULATOR: { readonly name: string; readonly imports: readonly string[] } = {
  name: "simulator",
  imports: ["core"],
};

/** Layers that `lib/mod.ts`, the library's face, may re-export: it knows nothing of Foo. */
export const LIBRARY: readonly string[] = [
  "core",
  "client",
  "services",
  "cache",
  "controller",
  "simulator",
];

/** A package and the only files of the product that may import it. */
export interface PackageDoor {
  readonly name: RegExp;
  readonly where: RegExp;
  /** No static import of values: it would load with every start. Types and `import()` are free. */
  readonly lazy?: true;
}

/** Doors of packages and of Node's modules. What has no door here may not be imported. */
export const PACKAGE_DOORS: readonly PackageDoor[] = [
  { name: /^@kubernetes\/client-node$/, where: /^lib\/client\//, lazy: true },
  { name: /^@logtape\/logtape$/, where: /^lib\/core\/log_sink\.ts$/ },
  { name: /^@std\/async\/abortable$/, where: /^lib\/core\/tasks\.ts$/ },
  { name: /^@std\/fmt\/colors$/, where: /^lib\/core\/log_sink\.ts$/ },
  { name: /^@std\/yaml$/, where: /^lib\/core\/yaml\.ts$/ },
  { name: /^@std\/(cli\/parse-args|text\/levenshtein-distance)$/, where: /^lib\/cli\/flags\.ts$/ },
  { name: /^typebox(\/schema)?$/, where: /^lib\/(foo\/schema|client\/kinds)\.ts$/ },
  // The second gives the first's decorators what they need.
  { name: /^(@peculiar\/x509|reflect-metadata)$/, where: /^lib\/cli\/dev_certificates\.ts$/ },
  { name: /^@marcbachmann\/cel-js$/, where: /^lib\/simulator\/cel_library\.ts$/ },
  // Deno's own client has no way around certificate verification.
  { name: /^node:https?$/, where: /^lib\/client\/insecure_transport\.ts$/ },
  // Parsing of keys and certificates, which WebCrypto does not do for all encodings.
  { name: /^node:crypto$/, where: /^lib\/client\/pem\.ts$/ },
  // A turn of the event loop, which waits for no time.
  { name: /^node:timers$/, where: /^lib\/simulator\/sim_clock\.ts$/ },
  // Unpacks the generated schemas at once: streams would wait on a clock that no simulation owns.
  { name: /^node:zlib$/, where: /^lib\/simulator\/builtin_data\.ts$/ },
  // Pure functions.
  { name: /^node:(path|url)$/, where: /./ },
];
