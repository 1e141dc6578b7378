/** Keeps a ConfigMap with a text for each Greeting. */

import {
  buildController,
  CachedClient,
  cachesPart,
  Client,
  type Condition,
  CONFIG_MAPS,
  defineKind,
  ensureChild,
  generationChanged,
  InformerSet,
  type KubeObject,
  loadConfig,
  type Logger,
  Manager,
  messageOf,
  openTransport,
  owns,
  patchStatus,
  realClock as clock,
  realRandom as random,
  realUuid as uuid,
  type Reconciler,
  rememberingSecrets,
  RestClient,
  SETTLED,
  timeOf,
  withCondition,
} from "@foo-operator/lib";
import { lossyWriterTo, openLog, Redactor } from "@foo-operator/lib/log";

interface Greeting extends KubeObject {
  spec: { name: string };
  status?: { conditions?: Condition[] };
}
const GREETINGS = defineKind<Greeting>({
  group: "example.com",
  version: "v1",
  kind: "Greeting",
  plural: "greetings",
  scope: "Namespaced",
  subresources: ["status"],
});

function greetingReconciler(caches: CachedClient): Reconciler {
  return async ({ namespace, name }, { signal, log }) => {
    const greetings = caches.resource(GREETINGS);
    const configMaps = caches.resource(CONFIG_MAPS);
    const greeting = await greetings.find({ namespace, name, signal });
    if (greeting === undefined) return SETTLED;

    const { type } = await ensureChild({
      client: configMaps,
      owner: greeting,
      ownerKind: GREETINGS,
      wanted: {
        metadata: { name, namespace },
        data: { text: `Hello, ${greeting.spec.name}!` },
      },
      found: await configMaps.find({ namespace, name, signal }),
      signal,
    });
    if (type !== "unchanged") log.info("ConfigMap written", { type });

    const claim = { type: "Ready", status: "True", reason: "Greeted", message: "" } as const;
    const about = { now: timeOf(clock.wallMs()), generation: greeting.metadata.generation };
    const conditions = withCondition(greeting.status?.conditions, claim, about);
    await patchStatus(greeting, { conditions }, { client: greetings, signal });
    return SETTLED;
  };
}

/** Works until `signal` aborts. */
async function operate(
  { log, redactor, signal }: { log: Logger; redactor: Redactor; signal: AbortSignal },
): Promise<void> {
  // Where the API server is, and who we are: KUBECONFIG, the Pod's service account, ~/.kube/config.
  const userAgent = "greeter/0.1.0";
  const environment = Deno.env;
  await using config = await loadConfig({ environment, userAgent, uuid, clock, log, signal });
  const { connection, origin } = config;
  log.info("Starting", { server: connection.server, origin });
  const source = rememberingSecrets(config.credentials, redactor);
  using transport = await openTransport({ source, settings: connection, clock, log });
  const client = new Client(new RestClient({ transport: transport.send, connection, clock }));

  const informers = new InformerSet({ clock, random, log });
  const caches = new CachedClient({ client, caches: informers, clock });
  const controller = buildController({
    for: GREETINGS,
    predicate: generationChanged,
    watches: [owns(CONFIG_MAPS)],
    reconcile: greetingReconciler(caches),
    workers: 4,
  }, { caches, clock, random, uuid, log });

  // A Pod has 30 seconds to end, unless its template says otherwise.
  await new Manager({ clock, random, log, shutdownBudgetMs: 25_000 })
    .add("caches", cachesPart(informers))
    .add("elected", controller)
    .run({ signal });
}

/** Aborts at the first SIGTERM or Ctrl-C. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(name, () => stop.abort(new Error(`Told to stop by ${name}`)));
  }
  return stop.signal;
}

const signal = stopSignal(); // first of all: a container's first process ignores signals otherwise
const redactor = new Redactor();
const { logger: log } = openLog({
  level: "info",
  format: Deno.stderr.isTerminal() ? "text" : "json",
  write: lossyWriterTo(Deno.stderr),
  redactor,
  clock,
});
try {
  await operate({ log, redactor, signal });
  log.info("Stopped");
} catch (error) {
  if (error === signal.reason) Deno.exit(0); // told to stop before it had started
  log.error("Failed", { error: messageOf(error) });
  Deno.exit(1);
}
Deno.exit(0); // whatever connection is still open
