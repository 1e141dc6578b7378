import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { realClock } from "../../lib/core/clock.ts";
import {
  isSecretField,
  REDACTED,
  Redactor,
  SECRETS_MAX,
  TEXT_MAX_CHARS,
} from "../../lib/core/redact.ts";

const SECRET = "SECRET-abc";
const PEM = `-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIA\n${SECRET}\n-----END EC PRIVATE KEY-----\n`;
const KUBECONFIG = `users:
- name: alice
  user:
    token: ${SECRET}
    client-certificate-data: ${btoa(PEM)}
    client-key-data: ${SECRET}
    password: "${SECRET}"
`;

for (
  const [what, text] of [
    ["a bearer header", `sent Authorization: Bearer ${SECRET}`],
    ["a header in lower case", `authorization: bearer ${SECRET}\r\naccept: */*`],
    ["a header object as JSON", JSON.stringify({ headers: { Authorization: `Bearer ${SECRET}` } })],
    ["JSON inside JSON", JSON.stringify(JSON.stringify({ token: SECRET, a: 1 }))],
    ["a basic credential", `Basic ${SECRET}==`],
    ["a PEM key", `bad key: ${PEM} in file`],
    ["a PEM key cut off", PEM.slice(0, -30)],
    ["a PEM key after the mention of one", `a "-----BEGIN EC PRIVATE KEY-----" block: ${PEM}`],
    ["a PEM key on one line in quotes", `"${PEM.replaceAll("\n", "")}"`],
    ["a PEM key in JSON", JSON.stringify({ error: PEM })],
    ["a kubeconfig", KUBECONFIG],
    ["a query", `GET /x?token=${SECRET}&y=1`],
    ["a proxy with a password", `http://user:${SECRET}@proxy:3128`],
    [
      "the exec plugin's input",
      `env KUBERNETES_EXEC_INFO={"spec":{"cluster":{"config":{"x":"${SECRET}"}}}}`,
    ],
    ["the exec plugin's output", `{"status":{"token":"${SECRET}","clientKeyData":"${SECRET}"}}`],
  ] as const
) {
  Deno.test(`P8 Redactor.text() hides the secret of ${what}`, () => {
    const shown = new Redactor().text(text);
    ok(!shown.includes(SECRET), shown);
    ok(shown.includes(REDACTED), shown);
  });
}

Deno.test("P8 Redactor.text() hides a JSON web token wherever it stands", () => {
  const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";
  strictEqual(new Redactor().text(`got ${token}, stop`), `got ${REDACTED}, stop`);
});

Deno.test("P8 Redactor.text() hides base64 of a PEM block without a field name", () => {
  const shown = new Redactor().text(`value ${btoa(PEM)} end`);
  strictEqual(shown, `value ${REDACTED} (PEM) end`);
});

Deno.test("Redactor.text() leaves ordinary sentences alone", () => {
  for (
    const text of [
      'Cannot list foos: foos.samplecontroller.k8s.io is forbidden: User "nobody" cannot list',
      "The API server refused the bearer token",
      'it must have a "-----BEGIN CERTIFICATE-----" block; write it anew',
      'Cannot read token file "/var/run/secrets/token"',
      "Requeued default/a after 250 ms",
      'context "kind-a" of https://127.0.0.1:6443/api?limit=500',
    ]
  ) strictEqual(new Redactor().text(text), text);
});

Deno.test("P8 Redactor.remember() hides a secret with no shape of its own, anywhere", () => {
  const redactor = new Redactor();
  redactor.remember(`${SECRET}\n`);
  redactor.remember(undefined);
  redactor.remember("abc"); // too short to hide by value
  strictEqual(redactor.text(`invalid header value ${SECRET}`), `invalid header value ${REDACTED}`);
  deepStrictEqual(redactor.value({ [SECRET]: [SECRET], abc: "abc" }), {
    [REDACTED]: [REDACTED],
    abc: "abc",
  });
});

Deno.test("Redactor.remember() keeps the newest secrets", () => {
  const redactor = new Redactor();
  redactor.remember("secret-first");
  for (let i = 0; i < SECRETS_MAX; i++) redactor.remember(`secret-number-${i}-`);
  strictEqual(redactor.text("secret-first"), "secret-first");
  strictEqual(redactor.text(`secret-number-${SECRETS_MAX - 1}-`), REDACTED);
});

Deno.test("P8 Redactor.value() hides by field name, at any depth", () => {
  deepStrictEqual(
    new Redactor().value({
      namespace: "default",
      credential: { token: "x", keyPem: "y", generation: 3, "client-key-data": "z" },
      list: [{ Authorization: "w" }, new Map([["password", "v"]])],
      secret: { kind: "Secret", data: { tls: "eA==" } },
      hasToken: true,
    }),
    {
      namespace: "default",
      credential: {
        token: REDACTED,
        keyPem: REDACTED,
        generation: 3,
        "client-key-data": REDACTED,
      },
      list: [{ Authorization: REDACTED }, { password: REDACTED }],
      secret: REDACTED,
      hasToken: true,
    },
  );
});

Deno.test("isSecretField() tells names of secrets from names of things", () => {
  for (
    const name of [
      "token",
      "bearerToken",
      "id-token",
      "Proxy-Authorization",
      "data",
      "stringData",
      "clientKeyData",
      "certificate-authority-data",
      "certificatePem",
      "KUBERNETES_EXEC_INFO",
      "client_secret",
    ]
  ) strictEqual(isSecretField(name), true, name);
  for (const name of ["key", "name", "secretName", "deployment", "metadata", "reason", "tokens"]) {
    strictEqual(isSecretField(name), false, name);
  }
});

Deno.test("Redactor.value() shows an error as its message, and its stack only if asked", () => {
  const error = new Error("Cannot log in", { cause: new Error(`got token=${SECRET}`) });
  strictEqual(new Redactor().value(error), `Cannot log in: got token: ${REDACTED}`);

  const withStack = JSON.stringify(new Redactor({ stacks: true }).value(error));
  ok(withStack.includes("redact_test.ts"), withStack);
  ok(!withStack.includes(SECRET), withStack);
});

Deno.test("Redactor.value() bounds depth, length and cycles", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  deepStrictEqual(new Redactor().value(cycle), { self: "(cycle)" });

  let deep: unknown = "end";
  for (let i = 0; i < 20; i++) deep = { deep };
  ok(JSON.stringify(new Redactor().value(deep)).includes("(deeper)"));

  strictEqual(
    JSON.stringify(new Redactor().value(new Array(1000).fill(1))).includes("936 more"),
    true,
  );
  ok(new Redactor().text("x".repeat(1e6)).length < TEXT_MAX_CHARS + 50);
  strictEqual(new Redactor().value(new Uint8Array(3)), "(3 bytes)");
});

Deno.test("P8 Redactor.value() gives JSON without the secret for any value that holds it", () => {
  fc.assert(fc.property(fc.object({ maxDepth: 4, withBigInt: true, withDate: true }), (value) => {
    const redactor = new Redactor();
    redactor.remember(SECRET);
    const shown = JSON.stringify(
      redactor.value({ value, at: [`${SECRET}`, { x: `a${SECRET}b` }] }),
    );
    return !shown.includes(SECRET);
  }));
});

Deno.test("Redactor.text() takes time in proportion to the text, however hostile", () => {
  const redactor = new Redactor();
  for (const part of ["a", "a-", "token", "eyJaaaaaaaaa", "-----BEGIN A-----", "a://", 'token="']) {
    const text = part.repeat(Math.ceil(1e6 / part.length));
    const startedAtMs = realClock.monotonicMs();
    redactor.text(text);
    // Milliseconds in fact; a pattern that backtracks exponentially never ends.
    ok(realClock.monotonicMs() - startedAtMs < 2000, part);
  }
});
