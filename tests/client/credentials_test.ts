import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import {
  caFilePart,
  clientCertificatePart,
  fixedPart,
  readFor,
  tokenFilePart,
} from "../../lib/client/credential_parts.ts";
import {
  type CredentialMaterial,
  type CredentialPart,
  FAILED_RECHECK_MS,
  FILE_MAX_BYTES,
  type LocalFiles,
  localFiles,
  RefreshingCredentials,
} from "../../lib/client/credentials.ts";
import { ConfigError } from "../../lib/core/errors.ts";
import { silentLogger } from "../../lib/core/log.ts";
import { SimClock } from "../../lib/simulator/sim_clock.ts";
import { testFolder } from "../support/config_fixture.ts";
import { createPki } from "../support/pki.ts";
import { recordingLogger } from "../support/recording_logger.ts";

const { signal } = new AbortController();
const ALICE = 'user "alice"';

/** Files in memory that count how often each is read. */
function memoryFiles(texts: Record<string, string>): LocalFiles & { reads: number } {
  const files = {
    reads: 0,
    readText(path: string) {
      files.reads++;
      const text = texts[path];
      return text === undefined
        ? Promise.reject(new Deno.errors.NotFound(path))
        : Promise.resolve(text);
    },
  };
  return files;
}

/** A part whose answers the test gives, one by one. */
function scriptedPart(): CredentialPart & {
  readonly asked: boolean[];
  answer(material: CredentialMaterial | Error): void;
} {
  const asked: boolean[] = [];
  let waiting: PromiseWithResolvers<CredentialMaterial>[] = [];
  return {
    recheckMs: 60_000,
    asked,
    load({ rejected, signal }) {
      asked.push(rejected);
      const one = Promise.withResolvers<CredentialMaterial>();
      signal.addEventListener("abort", () => one.reject(signal.reason), { once: true });
      waiting.push(one);
      return one.promise;
    },
    answer(material) {
      for (const one of waiting) {
        if (material instanceof Error) one.reject(material);
        else one.resolve(material);
      }
      waiting = [];
    },
  };
}

Deno.test("K12 credentials: a token file is read again after a minute, and after a 401 at once", async () => {
  const clock = new SimClock();
  const texts: Record<string, string> = { "/token": "A\n" };
  const files = memoryFiles(texts);
  const parts = [tokenFilePart({ path: "/token", subject: ALICE, files })];
  const credentials = new RefreshingCredentials({ parts, clock, log: silentLogger });

  deepStrictEqual(await credentials.current({ signal }), { generation: 1, token: "A" });
  texts["/token"] = "B\n";
  await clock.advance(59_999);
  strictEqual((await credentials.current({ signal })).token, "A");
  strictEqual(files.reads, 1);
  await clock.advance(1);
  deepStrictEqual(await credentials.current({ signal }), { generation: 2, token: "B" });

  texts["/token"] = "C";
  deepStrictEqual(await credentials.refresh(2, { signal }), { generation: 3, token: "C" });
  // Whoever was refused with what has been replaced meanwhile causes no further reading.
  strictEqual((await credentials.refresh(2, { signal })).generation, 3);
  strictEqual(files.reads, 3);
  // The same again is told by the same generation.
  strictEqual((await credentials.refresh(3, { signal })).generation, 3);
});

Deno.test("K12 credentials: kubelet's symlink swap is seen, for the token and the CA alike", async () => {
  await using folder = await testFolder();
  const [first, second] = await Promise.all([createPki("one"), createPki("two")]);
  await folder.write("..1/token", "A");
  await folder.write("..1/ca.crt", first.caPem);
  await Deno.symlink("..1", `${folder.path}/..data`);
  for (const name of ["token", "ca.crt"]) {
    await Deno.symlink(`..data/${name}`, `${folder.path}/${name}`);
  }
  const clock = new SimClock();
  const parts = [
    tokenFilePart({ path: `${folder.path}/token`, subject: ALICE, files: localFiles }),
    caFilePart({ path: `${folder.path}/ca.crt`, subject: "CA", files: localFiles }),
  ];
  const credentials = new RefreshingCredentials({ parts, clock, log: silentLogger });
  const before = await credentials.current({ signal });
  deepStrictEqual(before, { generation: 1, token: "A", caPem: first.caPem });

  await folder.write("..2/token", "B");
  await folder.write("..2/ca.crt", second.caPem);
  await Deno.symlink("..2", `${folder.path}/..data_tmp`);
  await Deno.rename(`${folder.path}/..data_tmp`, `${folder.path}/..data`);
  await Deno.remove(`${folder.path}/..1`, { recursive: true });
  const after = await credentials.refresh(before.generation, { signal });
  deepStrictEqual(after, { generation: 2, token: "B", caPem: second.caPem });
});

Deno.test("K15 credentials: half a replaced pair leaves the old one in use until it is whole", async () => {
  const pki = await createPki("ca");
  const [old, next] = [
    await pki.issue({ commonName: "old" }),
    await pki.issue({ commonName: "new" }),
  ];
  const texts = { "/c": old.certificatePem, "/k": old.keyPem };
  const files = memoryFiles(texts);
  const clock = new SimClock();
  const { log, records } = recordingLogger();
  const paths = { certificate: { path: "/c" }, key: { path: "/k" } };
  const parts = [clientCertificatePart({ ...paths, subject: ALICE, files })];
  const credentials = new RefreshingCredentials({ parts, clock, log });
  await credentials.current({ signal });

  texts["/c"] = next.certificatePem;
  await clock.advance(60_000);
  deepStrictEqual((await credentials.current({ signal })).clientCertificate, old);
  strictEqual(records[0]?.level, "warn");
  match(String(records[0]?.fields.error), /its private key belongs to another certificate/);

  texts["/k"] = next.keyPem;
  await clock.advance(FAILED_RECHECK_MS);
  const renewed = await credentials.current({ signal });
  deepStrictEqual(renewed, { generation: 2, clientCertificate: next });
});

Deno.test("RefreshingCredentials runs one renewal for all who ask", async () => {
  const part = scriptedPart();
  const clock = new SimClock();
  const credentials = new RefreshingCredentials({ parts: [part], clock, log: silentLogger });
  const all = [1, 2, 3].map(() => credentials.current({ signal }));
  part.answer({ token: "A" });
  deepStrictEqual((await Promise.all(all)).map(({ generation }) => generation), [1, 1, 1]);
  const refused = [1, 2, 3].map(() => credentials.refresh(1, { signal }));
  part.answer({ token: "B" });
  deepStrictEqual((await Promise.all(refused)).map(({ token }) => token), ["B", "B", "B"]);
  deepStrictEqual(part.asked, [false, true]);
});

Deno.test("RefreshingCredentials.refresh() is not content with a renewal that began before", async () => {
  const part = scriptedPart();
  const clock = new SimClock();
  const credentials = new RefreshingCredentials({ parts: [part], clock, log: silentLogger });
  const first = credentials.current({ signal });
  part.answer({ token: "A" });
  await first;
  await clock.advance(60_000);
  const ordinary = credentials.current({ signal });
  const refused = credentials.refresh(1, { signal });
  part.answer({ token: "A" });
  strictEqual((await ordinary).generation, 1);
  await clock.settle();
  part.answer({ token: "B" });
  strictEqual((await refused).token, "B");
  deepStrictEqual(part.asked, [false, false, true]);
});

Deno.test("RefreshingCredentials goes on for others when one caller is aborted, and ends with the last", async () => {
  const part = scriptedPart();
  const clock = new SimClock();
  const credentials = new RefreshingCredentials({ parts: [part], clock, log: silentLogger });
  const [a, b] = [new AbortController(), new AbortController()];
  const first = credentials.current({ signal: a.signal });
  const second = credentials.current({ signal: b.signal });
  a.abort("stop a");
  await rejects(first, (reason) => reason === "stop a");
  part.answer({ token: "A" });
  strictEqual((await second).token, "A");

  await clock.advance(60_000);
  const third = credentials.current({ signal: b.signal });
  b.abort("stop b");
  await rejects(third, (reason) => reason === "stop b");
  // The one given up does not stand in the way of the next.
  const fourth = credentials.current({ signal });
  part.answer({ token: "C" });
  strictEqual((await fourth).token, "C");
});

Deno.test("RefreshingCredentials uses a credential to its true end if renewing fails, no longer", async () => {
  const part = scriptedPart();
  const clock = new SimClock();
  const credentials = new RefreshingCredentials({ parts: [part], clock, log: silentLogger });
  const endMs = clock.wallMs() + 50_000;
  const first = credentials.current({ signal });
  part.answer({ token: "A", expiresAtMs: endMs });
  // Told 10 s early, a fifth of its life.
  strictEqual((await first).expiresAtMs, endMs - 10_000);
  await clock.advance(39_999);
  strictEqual((await credentials.current({ signal })).token, "A");
  strictEqual(part.asked.length, 1);

  await clock.advance(1);
  const early = credentials.current({ signal });
  part.answer(new ConfigError("broken"));
  strictEqual((await early).token, "A");
  strictEqual((await credentials.current({ signal })).token, "A");
  strictEqual(part.asked.length, 2);
  await clock.advance(10_000);
  const late = credentials.current({ signal });
  part.answer(new ConfigError("broken"));
  await rejects(late, { name: "ConfigError", message: "broken" });
});

Deno.test("RefreshingCredentials.refresh() throws why nothing newer is to be had", async () => {
  const part = scriptedPart();
  const clock = new SimClock();
  const parts = [fixedPart({ caPem: "ca" }), part];
  const credentials = new RefreshingCredentials({ parts, clock, log: silentLogger });
  const first = credentials.current({ signal });
  await clock.settle();
  part.answer({ token: "A" });
  deepStrictEqual(await first, { generation: 1, caPem: "ca", token: "A" });
  const refused = credentials.refresh(1, { signal });
  await clock.settle();
  part.answer(new ConfigError("broken"));
  await rejects(refused, { message: "broken" });
  strictEqual((await credentials.current({ signal })).generation, 1);
});

Deno.test("tokenFilePart() falls back to the kubeconfig's token, and refuses an empty file", async () => {
  const files = memoryFiles({ "/empty": "\n" });
  const options = { rejected: false, before: {}, signal };
  const fallen = tokenFilePart({ path: "/gone", subject: ALICE, fallback: "F", files });
  deepStrictEqual(await fallen.load(options), { token: "F" });
  await rejects(tokenFilePart({ path: "/empty", subject: ALICE, files }).load(options), {
    name: "ConfigError",
    message: 'Cannot use the token of user "alice" in "/empty": it is empty; write it anew',
  });
});

Deno.test("localFiles.readText() reads files up to its bound, and refuses larger ones", async () => {
  await using folder = await testFolder();
  const path = `${folder.path}/file`;
  // A character of two bytes on every border between two reads.
  const text = `\uFEFFx${"é".repeat((FILE_MAX_BYTES - 4) / 2)}`;
  strictEqual(text.length, FILE_MAX_BYTES / 2);
  await Deno.writeTextFile(path, text);
  ok(await localFiles.readText(path, { signal }) === text);
  await Deno.writeTextFile(path, "xxx", { append: true });
  await rejects(readFor(localFiles, path, "kubeconfig", signal), {
    name: "ConfigError",
    message: `Cannot read the kubeconfig from "${path}": it is larger than 8 MiB, as no ` +
      "configuration is; correct the path",
  });
  await rejects(localFiles.readText(`${path}-gone`, { signal }), Deno.errors.NotFound);
});

Deno.test({
  name: "localFiles.readText() gives up on a device that has no end",
  ignore: Deno.build.os === "windows",
  async fn() {
    await rejects(localFiles.readText("/dev/zero", { signal }), ConfigError);
    strictEqual(await localFiles.readText("/dev/null", { signal }), "");
  },
});

Deno.test({
  name: "localFiles.readText() ends when aborted, also at a pipe that nobody writes to",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using folder = await testFolder();
    const path = `${folder.path}/pipe`;
    const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
    ok(success);
    const stop = new AbortController();
    const reading = localFiles.readText(path, { signal: stop.signal });
    const reason = new DOMException("stop", "AbortError");
    const ended = rejects(reading, (error) => error === reason);
    stop.abort(reason);
    await ended;
    // Lets go of the thread that still waits in the system, if there is one; does not wait itself.
    (await Deno.open(path, { read: true, write: true })).close();
  },
});
