/**
 * A certificate for a server on loopback, of an authority that exists for it alone: the door to
 * `@peculiar/x509`.
 *
 * The authority's key is forgotten as soon as it has signed, so trusting the authority is trusting
 * this one server.
 *
 * @module
 */

// @peculiar/x509 resolves its parts by decorators, which need this first.
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

/** A server's certificate and key, and what its clients must trust. All PEM. */
export interface ServerIdentity {
  readonly certificatePem: string;
  readonly keyPem: string;
  readonly caPem: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** How long before now the certificates become valid: clocks of virtual machines lag. */
const SLACK_MS = 60 * 60_000;

/** How long they stay so: no session lasts a month. */
const VALID_MS = 30 * 24 * 60 * 60_000;

/**
 * Makes the identity of a server at `127.0.0.1` and `localhost`.
 *
 * Clients as strict as rustls take it: v3, a leaf that is no authority, hosts as alternative names
 * (field case K16).
 *
 * @param options.nowMs Wall-clock time.
 * @param options.uuid Where serial numbers come from.
 */
export async function createServerIdentity(
  { name, nowMs, uuid }: { name: string; nowMs: number; uuid: () => string },
): Promise<ServerIdentity> {
  const [caKeys, keys] = [await generateKeys(), await generateKeys()];
  const times = {
    notBefore: new Date(nowMs - SLACK_MS),
    notAfter: new Date(nowMs + VALID_MS),
  };
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...times,
    serialNumber: serialNumber(uuid),
    name: [{ CN: [`${name} authority`] }],
    keys: caKeys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    ...times,
    serialNumber: serialNumber(uuid),
    subject: [{ CN: [name] }],
    issuer: authority.subject,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: "ip", value: "127.0.0.1" },
        { type: "dns", value: "localhost" },
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificatePem: certificate.toString("pem"),
    keyPem: x509.PemConverter.encode(pkcs8, "PRIVATE KEY"),
    caPem: authority.toString("pem"),
  };
}

function generateKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

/** 16 bytes, positive as DER demands. */
function serialNumber(uuid: () => string): string {
  return `4${uuid().replaceAll("-", "").slice(1)}`;
}
