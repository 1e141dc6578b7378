import { ok, strictEqual } from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createPki } from "./pki.ts";

Deno.test("createPki() issues v3 leaves that chain to it and name their hosts", async () => {
  const pki = await createPki("ca");
  const leaf = new X509Certificate(
    (await pki.issue({ commonName: "alice", organizations: ["dev"], hosts: ["a.test", "::1"] }))
      .certificatePem,
  );
  strictEqual(leaf.ca, false);
  strictEqual(leaf.subject.replaceAll("\n", ","), "O=dev,CN=alice");
  strictEqual(leaf.checkHost("a.test"), "a.test");
  strictEqual(leaf.checkHost("b.test"), undefined);
  ok(leaf.verify(new X509Certificate(pki.caPem).publicKey));
  ok(!leaf.verify(new X509Certificate((await createPki("other")).caPem).publicKey));
});
