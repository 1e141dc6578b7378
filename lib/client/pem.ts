/**
 * Checks of certificates and keys that are made before the runtime's TLS sees them.
 *
 * Needed since the native side fails late or badly: garbage in `caCerts` is taken silently and each
 * connection then fails as UnknownIssuer (field case K16), and a key that does not belong to its
 * certificate ends the whole process up to Deno 2.9.4 (field case K15). All pure; no message holds
 * any part of a key.
 *
 * @module
 */

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { ConfigError } from "../core/errors.ts";

/** One block of a PEM text. */
interface PemBlock {
  /** What stands after BEGIN, e.g. `CERTIFICATE`. */
  readonly label: string;
  /** The block with its BEGIN and END lines. */
  readonly text: string;
  /** What the base64 says; empty if it is not base64. */
  readonly der: Uint8Array;
}

/**
 * The certificates in `pem` that can be read, as PEM; `pem` itself if that is all of them. As in
 * kubectl a bundle with a damaged one among others still serves.
 *
 * @param subject What it is and where it stands, for the message: `the CA of cluster "k"`.
 * @throws {ConfigError} If there is none.
 */
export function usableCertificates(pem: string, subject: string): string {
  const blocks = certificatesOf(pem);
  const usable = blocks.filter(isReadable);
  if (usable.length === 0) throw noCertificate(blocks.length, subject);
  return usable.length === blocks.length ? pem : usable.map(({ text }) => text).join("");
}

/**
 * Checks that `pair` is a certificate chain and the unencrypted private key of its first
 * certificate.
 *
 * @param subject Whose pair it is, for the message: `user "alice"`.
 * @throws {ConfigError} If not, before any native TLS code has seen it.
 */
export function checkKeyPair(
  pair: { readonly certificatePem: string; readonly keyPem: string },
  subject: string,
): void {
  const chain = certificatesOf(pair.certificatePem);
  if (chain.length === 0 || !chain.every(isReadable)) {
    throw noCertificate(chain.length, `the client certificate of ${subject}`);
  }
  const key = privateKeyOf(pair.keyPem, subject);
  const ofCertificate = chain[0] && publicKeyInfoOf(chain[0].der);
  const ofKey = new Uint8Array(createPublicKey(key).export({ type: "spki", format: "der" }));
  if (ofCertificate && samePublicKey(ofCertificate, ofKey)) return;
  throw new ConfigError(
    `Cannot use the client certificate of ${subject}: its private key belongs to another ` +
      "certificate; give the certificate and the key of one and the same issue",
  );
}

function privateKeyOf(pem: string, subject: string): KeyObject {
  const blocks = blocksOf(pem);
  const block = blocks.find((block) => block.label.endsWith("PRIVATE KEY"));
  if (block === undefined) {
    throw new ConfigError(
      `Cannot use the client key of ${subject}: it holds no PEM private key; ` +
        `it must have a "-----BEGIN PRIVATE KEY-----" block (RSA and EC ones do too)`,
    );
  }
  if (block.label === "ENCRYPTED PRIVATE KEY" || /^Proc-Type:.*ENCRYPTED/m.test(block.text)) {
    throw new ConfigError(
      `Cannot use the client key of ${subject}: an encrypted client key is not supported; ` +
        "decrypt it, e.g. with `openssl pkey -in KEY -out PLAIN_KEY`",
    );
  }
  try {
    // The block alone: Deno 2.6 can't find a key after the EC PARAMETERS that openssl writes first.
    return createPrivateKey(block.text);
  } catch {
    // The cause is dropped: it tells nothing more and comes from code that has seen the key.
    throw new ConfigError(
      `Cannot use the client key of ${subject}: its ${block.label} block is damaged or of an ` +
        "unknown kind; RSA, EC and Ed25519 keys in PKCS#8, PKCS#1 and SEC1 form are supported",
    );
  }
}

function noCertificate(blocks: number, subject: string): ConfigError {
  const [fault, remedy] = blocks === 0
    ? ["it holds no PEM certificate", 'it must have a "-----BEGIN CERTIFICATE-----" block']
    : ["its certificate is damaged", "write it anew from its source"];
  return new ConfigError(`Cannot use ${subject}: ${fault}; ${remedy}`);
}

function certificatesOf(pem: string): PemBlock[] {
  return blocksOf(pem).filter(({ label }) => label === "CERTIFICATE");
}

function isReadable({ text, der }: PemBlock): boolean {
  try {
    // Deno 2.6 can't give every certificate's public key, so that is looked for by hand.
    return publicKeyInfoOf(der) !== undefined && new X509Certificate(text).validTo !== "";
  } catch {
    return false;
  }
}

function blocksOf(pem: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (const found of pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/g)) {
    const [text, label = "", body = ""] = found;
    blocks.push({ label, text: `${text}\n`, der: decodeBase64(body) });
  }
  return blocks;
}

function decodeBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text.replaceAll(/\s+/g, "")), (char) => char.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/**
 * Two SubjectPublicKeyInfo say the same key: equal, or equal but for the algorithm's parameters,
 * which RSA writers give as NULL or leave out.
 */
function samePublicKey(a: Uint8Array, b: Uint8Array): boolean {
  const [keyA, keyB] = [keyBitsOf(a), keyBitsOf(b)];
  return keyA !== undefined && keyB !== undefined && keyA.length === keyB.length &&
    keyA.every((byte, index) => byte === keyB[index]);
}

/** SubjectPublicKeyInfo ::= SEQUENCE { algorithm SEQUENCE, subjectPublicKey BIT STRING } */
function keyBitsOf(info: Uint8Array): Uint8Array | undefined {
  const parts = childrenOf(info);
  return parts?.[1]?.tag === 0x03 ? parts[1].content : undefined;
}

/**
 * The SubjectPublicKeyInfo of a certificate, `undefined` if `der` is none. Read by hand, since
 * Deno 2.6 does not give that of an Ed25519 certificate.
 *
 *     Certificate ::= SEQUENCE { tbsCertificate SEQUENCE {
 *       version [0] EXPLICIT OPTIONAL, serialNumber, signature, issuer, validity, subject,
 *       subjectPublicKeyInfo, … }, … }
 */
function publicKeyInfoOf(der: Uint8Array): Uint8Array | undefined {
  const body = childrenOf(der)?.[0];
  const fields = body?.tag === 0x30 ? childrenOf(body.whole) : undefined;
  if (fields === undefined) return undefined;
  const info = fields[fields[0]?.tag === 0xa0 ? 6 : 5];
  return info?.tag === 0x30 ? info.whole : undefined;
}

interface DerValue {
  readonly tag: number;
  readonly content: Uint8Array;
  readonly whole: Uint8Array;
}

/** The values inside the SEQUENCE `der`; `undefined` if it is not one, or is cut off. */
function childrenOf(der: Uint8Array): DerValue[] | undefined {
  const outer = valueAt(der, 0);
  if (outer?.tag !== 0x30) return undefined;
  const children: DerValue[] = [];
  for (let at = 0; at < outer.content.length;) {
    const child = valueAt(outer.content, at);
    if (child === undefined) return undefined;
    children.push(child);
    at += child.whole.length;
  }
  return children;
}

function valueAt(der: Uint8Array, at: number): DerValue | undefined {
  const tag = der[at];
  const first = der[at + 1];
  if (tag === undefined || first === undefined) return undefined;
  // Above 0x80 the low bits count the bytes of the length that follow; 4 are more than enough.
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  if (lengthBytes > 4) return undefined;
  let length = lengthBytes === 0 ? first : 0;
  for (let i = 0; i < lengthBytes; i++) length = length * 256 + (der[at + 2 + i] ?? NaN);
  const start = at + 2 + lengthBytes;
  if (!(start + length <= der.length)) return undefined;
  return {
    tag,
    content: der.subarray(start, start + length),
    whole: der.subarray(at, start + length),
  };
}
