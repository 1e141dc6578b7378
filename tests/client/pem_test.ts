import { deepStrictEqual, doesNotMatch, match, strictEqual, throws } from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { checkKeyPair, usableCertificates } from "../../lib/client/pem.ts";
import { ConfigError } from "../../lib/core/errors.ts";
import { createPki } from "../support/pki.ts";

/** The ConfigError's message; fails if there is none. */
function refusal(check: () => void): string {
  let message = "";
  throws(check, (error) => {
    message = error instanceof ConfigError ? error.message : "";
    return error instanceof ConfigError;
  });
  return message;
}

const ALGORITHMS = {
  ec256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  ec384: { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
  rsa: {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 2048,
    publicExponent: Uint8Array.of(1, 0, 1),
    hash: "SHA-256",
  },
  ed25519: { name: "Ed25519" },
};

/** A self-signed certificate and its key in PKCS#8. */
async function pairOf(algorithm: keyof typeof ALGORITHMS) {
  const signingAlgorithm = ALGORITHMS[algorithm];
  const keys = await crypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"]);
  if (!("privateKey" in keys)) throw new Error("Expected a pair");
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: "CN=alice",
    notBefore: new Date("2020-01-01"),
    notAfter: new Date("2100-01-01"),
    keys,
    signingAlgorithm,
  });
  const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificatePem: certificate.toString("pem"),
    keyPem: x509.PemConverter.encode(key, "PRIVATE KEY"),
  };
}

Deno.test("K15 checkKeyPair() takes a pair of each kind and refuses every mixture", async () => {
  const names = ["ec256", "ec384", "rsa", "ed25519", "ec256", "rsa", "ed25519"] as const;
  const pairs = await Promise.all(names.map((name) => pairOf(name)));
  pairs.forEach(({ certificatePem }, i) =>
    pairs.forEach(({ keyPem }, j) => {
      const check = () => checkKeyPair({ certificatePem, keyPem }, 'user "alice"');
      if (i === j) check();
      else match(refusal(check), /of user "alice": its private key belongs to another certificate/);
    })
  );
});

Deno.test("K14 checkKeyPair() reads keys as openssl writes them, and refuses encrypted ones", () => {
  const subject = 'user "alice"';
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pkcs8 = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const cases: [keyPem: string, expected: RegExp][] = [
    ["", /it holds no PEM private key/],
    [
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nU0VDUkVU\n-----END ENCRYPTED PRIVATE KEY-----",
      /encrypted/,
    ],
    [
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nU0VDUkVU\n" +
      "-----END RSA PRIVATE KEY-----",
      /an encrypted client key is not supported; decrypt it/,
    ],
    ["-----BEGIN EC PRIVATE KEY-----\nU0VDUkVU\n-----END EC PRIVATE KEY-----", /is damaged/],
    [pkcs8.slice(0, 200) + pkcs8.slice(264), /is damaged/],
  ];
  const certificatePem = CERTIFICATE;
  for (const [keyPem, expected] of cases) {
    const message = refusal(() => checkKeyPair({ certificatePem, keyPem }, subject));
    match(message, expected);
    doesNotMatch(message, /U0VDUkVU|\n/);
  }
});

const PKI = await createPki("ca");
const CERTIFICATE = PKI.caPem;

Deno.test("K16 usableCertificates() wants one whole certificate, and leaves damaged ones out", async () => {
  const other = await createPki("other");
  const both = `# comment\n${PKI.caPem}\n${other.caPem}`;
  strictEqual(usableCertificates(both, "the CA"), both);
  const damaged = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
  const rest = usableCertificates(damaged + PKI.caPem, "the CA");
  deepStrictEqual(rest.trim(), PKI.caPem.trim());
  match(
    refusal(() => usableCertificates("hello", "the CA")),
    /^Cannot use the CA: it holds no PEM/,
  );
  match(refusal(() => usableCertificates(damaged, "the CA")), /its certificate is damaged; write/);
  const { certificatePem, keyPem } = await PKI.issue({ commonName: "alice" });
  const pair = { certificatePem: certificatePem + damaged, keyPem };
  match(refusal(() => checkKeyPair(pair, 'user "a"')), /its certificate is damaged; write/);
});

Deno.test("K16 usableCertificates() answers any text, and any damage to a certificate, in its own words", () => {
  const [header = "", ...rest] = PKI.caPem.trim().split("\n");
  const footer = rest.pop() ?? "";
  const body = rest.join("");
  const anyDamage = fc.record({
    at: fc.nat(body.length - 1),
    removed: fc.nat(40),
    put: fc.base64String({ maxLength: 40 }),
  }).map(({ at, removed, put }) =>
    `${header}\n${body.slice(0, at)}${put}${body.slice(at + removed)}\n${footer}\n`
  );
  fc.assert(fc.property(fc.oneof(fc.string(), anyDamage), (pem) => {
    try {
      usableCertificates(pem, "the CA");
    } catch (error) {
      return error instanceof ConfigError;
    }
    return true;
  }));
});
