/**
 * What to do about a connection that failed, from the words that Deno's HTTP client uses.
 *
 * It gives no codes, only texts that differ between its releases, so this is a table of patterns
 * that may miss: a miss costs the hint, never the error. The texts hold no secret: Deno names at
 * most the URL.
 *
 * @module
 */

import type { ConnectionStage } from "../core/errors.ts";

/** A new authority of the same name has another key: that is a bad signature. */
const UNTRUSTED = /UnknownIssuer|BadSignature/;

const HINTS: readonly { readonly pattern: RegExp; readonly hint: string }[] = [
  {
    pattern: /CaUsedAsEndEntity/,
    hint: "the server's own certificate is marked as an authority (CA:TRUE), which Deno refuses: " +
      "give the server a certificate that an authority has signed",
  },
  {
    pattern: /UnsupportedCertVersion/,
    hint: "the server's certificate is not X.509 version 3: issue it anew with subjectAltName",
  },
  {
    pattern: UNTRUSTED,
    hint: "the server's certificate is not signed by the configured certificate authority: check " +
      "certificate-authority",
  },
  {
    pattern: /NotValidForName|certificate not valid for name/,
    hint: "the server's certificate does not name this host: check server, or set tls-server-name",
  },
  {
    pattern: /certificate:? expired/i,
    hint: "the server's certificate has expired, or this machine's clock is wrong",
  },
  {
    pattern: /NotValidYet|not valid yet/,
    hint: "the server's certificate is not valid yet, or this machine's clock is wrong",
  },
  {
    pattern: /CertificateRequired|BadCertificate|CertificateUnknown|UnknownCA|HandshakeFailure/,
    hint: "the server refused our client certificate, or wants one: check client-certificate",
  },
  {
    pattern: /InvalidContentType|corrupt message/,
    hint: "the server does not speak TLS on this port: check whether server should be http://",
  },
  {
    pattern: /dns error|failed to lookup/,
    hint: "the server's name, or its proxy's, does not resolve: check server and proxy-url",
  },
  {
    pattern: /Connection refused|os error 111\b|os error 61\b/,
    hint: "nothing listens there: is the API server running, and its proxy, if there is one?",
  },
  {
    pattern: /proxy authentication required/,
    hint: "the proxy does not take our user name and password: check those in proxy-url",
  },
  {
    // What our own relay says too, if the server can't be reached.
    pattern: /unsuccessful tunnel|eof while tunneling/,
    hint:
      "no tunnel to the server was opened: is it running, and does the proxy, if there is one, " +
      "allow it?",
  },
  {
    pattern: /Invalid response version/,
    hint: "the proxy does not speak SOCKS5: check the scheme of proxy-url",
  },
];

/** What to do about a failure whose messages, joined, are `text`; `undefined` if not known. */
export function connectionHint(text: string): string | undefined {
  return HINTS.find(({ pattern }) => pattern.test(text))?.hint;
}

/**
 * How far a request came that failed before any answer, from the messages, joined.
 *
 * Only what surely failed before anything was sent is `connect`.
 */
export function failureStage(text: string): ConnectionStage {
  return /client error \(Connect\)|tcp connect error|invalid peer certificate|dns error/.test(text)
    ? "connect"
    : "send";
}

/** True if the messages, joined, say that no authority we know has signed the server's certificate. */
export function isUntrustedText(text: string): boolean {
  return UNTRUSTED.test(text);
}
