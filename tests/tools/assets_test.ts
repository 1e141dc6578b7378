import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { createHash } from "node:crypto";
import { AssetsError, chooseArchive, fetchAssets, localAssets } from "../../tools/assets.ts";

/** A folder that goes with the scope. */
async function scratch(): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir();
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

function environment(values: Record<string, string>): { get(name: string): string | undefined } {
  return { get: (name) => values[name] };
}

/** An archive as the envtest project makes them, with these programs. */
async function archive(programs: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
  await using dir = await scratch();
  await Deno.mkdir(`${dir.path}/controller-tools/envtest`, { recursive: true });
  for (const program of programs) {
    const path = `${dir.path}/controller-tools/envtest/${program}`;
    await Deno.writeTextFile(path, program, { mode: 0o755 });
  }
  const file = `${dir.path}/a.tar.gz`;
  const args = ["-czf", file, "-C", dir.path, "controller-tools"];
  const { success } = await new Deno.Command("tar", { args }).output();
  ok(success);
  return await Deno.readFile(file);
}

interface Site {
  readonly indexUrl: string;
  /** Answers to the archive's address, in place of the archive. */
  answer: (bytes: Uint8Array<ArrayBuffer>) => Response;
}

/** The envtest project's site on loopback: an index and one archive. */
async function site(
  programs: readonly string[],
  { hash, archiveUrl }: { hash?: string; archiveUrl?: string } = {},
): Promise<AsyncDisposable & Site> {
  const bytes = await archive(programs);
  const sha512 = hash ?? createHash("sha512").update(bytes).digest("hex");
  const state: Pick<Site, "answer"> = { answer: (body) => new Response(body) };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const { origin, pathname } = new URL(request.url);
      if (pathname === "/archive.tar.gz") return state.answer(bytes);
      return new Response(`releases:
  v1.9.9:
    envtest-v1.9.9-linux-amd64.tar.gz: {hash: "00", selfLink: ${origin}/old}
  v1.36.1:
    envtest-v1.36.1-linux-amd64.tar.gz:
      hash: ${sha512}
      selfLink: ${archiveUrl ?? `${origin}/archive.tar.gz`}
  v1.37.0-beta.0:
    envtest-v1.37.0-beta.0-linux-amd64.tar.gz: {hash: "00", selfLink: ${origin}/beta}
`);
    },
  );
  return Object.assign(state, {
    indexUrl: `http://127.0.0.1:${server.addr.port}/index.yaml`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}

const target = { os: "linux", arch: "amd64", onProgress: () => {} };

Deno.test("fetchAssets() installs the newest release, with progress, where localAssets() finds it", async () => {
  await using cache = await scratch();
  await using source = await site(["etcd", "kube-apiserver", "kubectl"]);
  const home = environment({ HOME: cache.path });
  strictEqual(localAssets(home), undefined);
  const progress: { bytes: number; total?: number }[] = [];
  const folder = await fetchAssets({
    ...target,
    environment: home,
    indexUrl: source.indexUrl,
    onProgress: (each) => progress.push(each),
  });
  strictEqual(folder, `${cache.path}/.cache/foo-operator/envtest/v1.36.1-linux-amd64`);
  strictEqual(localAssets(home), folder);
  strictEqual(await Deno.readTextFile(`${folder}/etcd`), "etcd");
  ok(((await Deno.stat(`${folder}/etcd`)).mode ?? 0) & 0o100, "executable");
  strictEqual(progress.at(-1)?.bytes, progress.at(-1)?.total);
  ok((progress.at(-1)?.bytes ?? 0) > 0);
  // Again, as an update does: the old folder gives way.
  strictEqual(
    await fetchAssets({ ...target, environment: home, indexUrl: source.indexUrl }),
    folder,
  );
});

Deno.test("fetchAssets() refuses an archive whose hash is not the index' one, and keeps nothing", async () => {
  await using cache = await scratch();
  await using source = await site(["etcd", "kube-apiserver"], { hash: "ab".repeat(64) });
  const home = environment({ XDG_CACHE_HOME: cache.path });
  await rejects(
    fetchAssets({ ...target, environment: home, indexUrl: source.indexUrl }),
    (error: unknown) => error instanceof AssetsError && /its SHA-512 is/.test(error.message),
  );
  strictEqual(localAssets(home), undefined);
  const left = await Array.fromAsync(Deno.readDir(`${cache.path}/foo-operator/envtest`));
  deepStrictEqual(left, []);
});

Deno.test("fetchAssets() keeps the old assets when a newer archive is cut, absent or incomplete", async () => {
  await using cache = await scratch();
  const home = environment({ XDG_CACHE_HOME: cache.path });
  {
    await using good = await site(["etcd", "kube-apiserver"]);
    await fetchAssets({ ...target, environment: home, indexUrl: good.indexUrl });
  }
  const fails = async (source: Site & AsyncDisposable, message: RegExp) => {
    await using _source = source;
    await rejects(
      fetchAssets({ ...target, environment: home, indexUrl: source.indexUrl }),
      (error: unknown) => error instanceof AssetsError && message.test(error.message),
    );
    ok(localAssets(home) !== undefined);
  };
  await using cut = cutServer();
  await fails(await site([], { archiveUrl: cut.url }), /cut after 20 bytes/);
  const absent = await site([]);
  absent.answer = () => new Response("", { status: 403 });
  await fails(absent, /the server answered 403/);
  await fails(await site(["etcd"]), /it holds no kube-apiserver/);
});

/** A server that promises 1000 bytes, sends 20, and hangs up. */
function cutServer(): AsyncDisposable & { url: string } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const served = (async () => {
    for await (using connection of listener) {
      await connection.read(new Uint8Array(4096));
      const head = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n";
      await connection.write(new TextEncoder().encode(head + "x".repeat(20)));
    }
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}/archive.tar.gz`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await served;
    },
  };
}

Deno.test("fetchAssets() says which address it can't reach", async () => {
  await using cache = await scratch();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const indexUrl = `http://127.0.0.1:${listener.addr.port}/index.yaml`;
  listener.close();
  await rejects(
    fetchAssets({ ...target, environment: environment({ HOME: cache.path }), indexUrl }),
    (error: unknown) => error instanceof AssetsError && error.message.includes(indexUrl),
  );
});

Deno.test("localAssets() takes KUBEBUILDER_ASSETS first and refuses it without the programs", async () => {
  await using dir = await scratch();
  const named = environment({ KUBEBUILDER_ASSETS: dir.path, HOME: dir.path });
  throws(() => localAssets(named), {
    name: "AssetsError",
    message: new RegExp(`KUBEBUILDER_ASSETS "${dir.path}": it holds no etcd and no kube-apiserver`),
  });
  await Deno.writeTextFile(`${dir.path}/etcd`, "");
  await Deno.writeTextFile(`${dir.path}/kube-apiserver`, "");
  strictEqual(localAssets(named), dir.path);
});

Deno.test("chooseArchive() takes the asked release, and says what it can't find", () => {
  const entry = { hash: "AB", selfLink: "https://a/b" };
  const index = { releases: { "v1.36.1": { "envtest-v1.36.1-darwin-arm64.tar.gz": entry } } };
  const darwin = { os: "darwin", arch: "arm64" };
  const expected = { version: "v1.36.1", url: "https://a/b", hash: "ab" };
  deepStrictEqual(chooseArchive(index, { ...darwin, version: "v1.36.1" }), expected);
  deepStrictEqual(chooseArchive(index, { ...darwin, version: "1.36.1" }), expected);
  throws(
    () => chooseArchive(index, { ...darwin, version: "1.2.3" }),
    /archive of 1\.2\.3 for darwin/,
  );
  throws(() => chooseArchive(index, { os: "plan9", arch: "mips" }), /for plan9-mips/);
  throws(() => chooseArchive("Not Found", darwin), /it has no releases/);
});
