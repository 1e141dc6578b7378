/**
 * A certificate authority for one test, and the certificates it issues.
 *
 * Deno verifies like rustls: a leaf must be X.509 v3, `CA:FALSE`, and name its hosts in
 * subjectAltName (field case K16), so that is what {@linkcode TestPki.issue} makes. Valid from 2020
 * to 2100 and no time is read, since none of the tests is about expiry unless it says so.
 *
 * @module
 */

// @peculiar/x509 resolves its parts by decorators, which need this first.
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

/** A certificate and its unencrypted PKCS#8 key, both PEM. */
export interface Identity {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** What a certificate should say. */
export interface IssueOptions {
  /** Subject CN: the user, if it is a client's certificate. */
  readonly commonName: string;
  /** Subject O: the user's groups. */
  readonly organizations?: readonly string[];
  /** DNS names and IP addresses that it is good for. `localhost` and `127.0.0.1` by default. */
  readonly hosts?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

/** An authority; see {@linkcode createPki}. */
export interface TestPki {
  readonly caPem: string;
  /** The authority's own certificate (`CA:TRUE`) and key, for tests of what must be refused. */
  readonly authority: Identity;
  /** A v3 leaf, for a server and a client alike, signed by the authority. */
  issue(options: IssueOptions): Promise<Identity>;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const NOT_BEFORE = new Date("2020-01-01T00:00:00Z");
const NOT_AFTER = new Date("2100-01-01T00:00:00Z");

/**
 * A new authority named `name`, ECDSA P-256.
 *
 * @example
 * ```ts
 * import { match } from "node:assert/strict";
 * const pki = await createPki("ca");
 * const { certificatePem } = await pki.issue({ commonName: "alice" });
 * match(certificatePem, /^-----BEGIN CERTIFICATE-----/);
 * ```
 */
export async function createPki(name: string): Promise<TestPki> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: subjectOf({ commonName: name }),
    notBefore: NOT_BEFORE,
    notAfter: NOT_AFTER,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    caPem: certificate.toString("pem"),
    authority: { certificatePem: certificate.toString("pem"), keyPem: await pemOf(keys) },
    issue: (options) => issue(options, { certificate, keys }),
  };
}

async function issue(
  { commonName, organizations, hosts, notBefore, notAfter }: IssueOptions,
  authority: { certificate: x509.X509Certificate; keys: CryptoKeyPair },
): Promise<Identity> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: subjectOf({ commonName, ...(organizations && { organizations }) }),
    issuer: authority.certificate.subject,
    notBefore: notBefore ?? NOT_BEFORE,
    notAfter: notAfter ?? NOT_AFTER,
    publicKey: keys.publicKey,
    signingKey: authority.keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        x509.ExtendedKeyUsage.clientAuth,
      ]),
      new x509.SubjectAlternativeNameExtension(
        (hosts ?? ["localhost", "127.0.0.1"]).map((host): x509.JsonGeneralName => ({
          type: isIpAddress(host) ? "ip" : "dns",
          value: host,
        })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(authority.keys.publicKey),
    ],
  });
  return { certificatePem: certificate.toString("pem"), keyPem: await pemOf(keys) };
}

function subjectOf(
  { commonName, organizations = [] }: { commonName: string; organizations?: readonly string[] },
): x509.JsonName {
  return [...organizations.map((organization) => ({ O: [organization] })), { CN: [commonName] }];
}

function isIpAddress(host: string): boolean {
  return /^[\d.]+$|:/.test(host);
}

function generateKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function pemOf(keys: CryptoKeyPair): Promise<string> {
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return x509.PemConverter.encode(pkcs8, "PRIVATE KEY");
}

/** 16 random bytes, positive as DER demands. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "4" + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").slice(1);
}
