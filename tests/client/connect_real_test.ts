/**
 * kubectl as the oracle for who we are: with the same kubeconfig against a real API server, both must
 * be the same user, in the same groups.
 */

import { deepStrictEqual, match, ok } from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { openTransport } from "../../lib/client/open_transport.ts";
import { realClock } from "../../lib/core/clock.ts";
import { silentLogger } from "../../lib/core/log.ts";
import { base64, kubeconfigOf, load, testFolder } from "../support/config_fixture.ts";
import type { ControlPlane } from "../support/control_plane.ts";
import { kubectl, needsKubectl } from "../support/kubectl.ts";
import { realSuite } from "../support/real_suite.ts";

const { signal } = new AbortController();
const suite = realSuite();
const oracle = await needsKubectl(
  "K4 to K14 connect: a real API server sees the user that kubectl is",
);

/** The server's answer to "who am I?" for what `kubeconfig` says. */
async function whoAmI(kubeconfig: string): Promise<unknown> {
  await using config = await load({ kubeconfig });
  const { connection: settings, credentials: source } = config;
  using transport = await openTransport({ source, settings, clock: realClock, log: silentLogger });
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const response = await transport.send(settings.server + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
    signal,
  });
  const review = await response.json();
  ok(response.status === 201, JSON.stringify(review));
  return review.status.userInfo;
}

async function whoIsKubectl(kubeconfig: string): Promise<unknown> {
  const { stdout, stderr } = await kubectl(
    ["--kubeconfig", kubeconfig, "auth", "whoami", "-o", "json"],
    {},
  );
  ok(stdout !== "", stderr);
  return JSON.parse(stdout).status.userInfo;
}

/** Users of a kubeconfig by what is special about them. */
async function usersOf(plane: ControlPlane): Promise<Record<string, Record<string, unknown>>> {
  const alice = { commonName: "alice", organizations: ["system:masters", "team"] };
  const { certificatePem, keyPem } = await plane.pki.issue(alice);
  const sec1 = createPrivateKey(keyPem).export({ format: "pem", type: "sec1" }).toString();
  const parameters =
    "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
  const certificate = { "client-certificate-data": base64(certificatePem) };
  const status = { clientCertificateData: certificatePem, clientKeyData: keyPem };
  const exec = (status: Record<string, unknown>) => ({
    apiVersion: "client.authentication.k8s.io/v1",
    command: "echo",
    args: [
      JSON.stringify({
        apiVersion: "client.authentication.k8s.io/v1",
        kind: "ExecCredential",
        status,
      }),
    ],
    interactiveMode: "Never",
  });
  return {
    token: { token: plane.adminToken },
    "token file": { tokenFile: "token" },
    "token file before token": { tokenFile: "token", token: "wrong" },
    "PKCS#8 key": { ...certificate, "client-key-data": base64(keyPem) },
    "SEC1 key": { ...certificate, "client-key-data": base64(sec1) },
    "SEC1 key after its parameters": {
      ...certificate,
      "client-key-data": base64(parameters + sec1),
    },
    "certificate files": { "client-certificate": "pki/a.crt", "client-key": "./pki/a.key" },
    "exec token": { exec: exec({ token: plane.adminToken }) },
    "exec certificate": { exec: exec(status) },
    "exec beside a token": { token: plane.nobodyToken, exec: exec({ token: plane.adminToken }) },
    impersonation: {
      token: plane.adminToken,
      as: "bob",
      "as-uid": "u-1",
      "as-groups": ["g", "h"],
      "as-user-extra": { "example.com/Scope": ["a", "b"], "sp ace%": ["ü"] },
    },
  };
}

suite.test(oracle.name, async (plane, t) => {
  if (oracle.ignore) return;
  await using folder = await testFolder();
  const alice = await plane.pki.issue({ commonName: "carol", organizations: ["team"] });
  await folder.write("pki/a.crt", alice.certificatePem);
  await folder.write("pki/a.key", alice.keyPem);
  await folder.write("token", `${plane.adminToken}\n`);
  const verified = {
    server: plane.server,
    "certificate-authority-data": base64(plane.caPem),
  };
  const same = async (name: string, text: string) =>
    await t.step(name, async () => {
      const kubeconfig = await folder.write("config", text);
      deepStrictEqual(await whoAmI(kubeconfig), await whoIsKubectl(kubeconfig));
    });

  const users = await usersOf(plane);
  for (const [name, user] of Object.entries(users)) {
    await same(name, kubeconfigOf({ cluster: verified, user }));
  }
  const certificate = users["PKCS#8 key"] ?? {};
  const clusters = {
    "tls-server-name": { ...verified, "tls-server-name": "localhost" },
    "insecure-skip-tls-verify": { server: plane.server, "insecure-skip-tls-verify": true },
  };
  for (const [name, cluster] of Object.entries(clusters)) {
    await same(name, kubeconfigOf({ cluster, user: certificate }));
  }
});

suite.test("K5 connect: kubectl refuses the tls-server-name that we refuse", async (plane) => {
  await using folder = await testFolder();
  const cluster = {
    server: plane.server,
    "certificate-authority-data": base64(plane.caPem),
    "tls-server-name": "other.test",
  };
  const user = { token: plane.adminToken };
  const kubeconfig = await folder.write("config", kubeconfigOf({ cluster, user }));
  const refused = await whoAmI(kubeconfig).catch((error) =>
    String(error.cause?.cause ?? error.cause)
  );
  match(String(refused), /not valid for name "other\.test"/);
  if (oracle.ignore) return;
  const { success, stderr } = await kubectl(["--kubeconfig", kubeconfig, "get", "ns"], {});
  ok(!success && /other\.test/.test(stderr), stderr);
});
