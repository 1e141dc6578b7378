import { match, strictEqual } from "node:assert/strict";
import { connectionHint, failureStage } from "../../lib/client/connection_hints.ts";

/** What Deno 2.9.6 says, without the part that names the URL. */
const CASES: readonly [text: string, hint: RegExp, stage: string][] = [
  ["client error (Connect): invalid peer certificate: UnknownIssuer", /authority/, "connect"],
  [
    "client error (Connect): invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))",
    /CA:TRUE/,
    "connect",
  ],
  [
    "client error (Connect): invalid peer certificate: Other(OtherError(UnsupportedCertVersion))",
    /version 3/,
    "connect",
  ],
  [
    'client error (Connect): invalid peer certificate: certificate not valid for name "localhost"',
    /tls-server-name/,
    "connect",
  ],
  ["client error (Connect): invalid peer certificate: Expired", /clock/, "connect"],
  [
    "client error (Connect): invalid peer certificate: certificate expired: verification time 2",
    /clock/,
    "connect",
  ],
  ["client error (Connect): invalid peer certificate: NotValidYet", /not valid yet/, "connect"],
  [
    "client error (Connect): received corrupt message of type InvalidContentType",
    /does not speak TLS/,
    "connect",
  ],
  ["client error (Connect): dns error: failed to lookup address", /resolve/, "connect"],
  [
    "client error (Connect): tcp connect error: Connection refused (os error 111)",
    /running/,
    "connect",
  ],
  ["client error (Connect): proxy authentication required", /password.* proxy-url/, "connect"],
  ["client error (Connect): unsuccessful tunnel", /tunnel .*proxy/, "connect"],
  ["client error (Connect): unexpected eof while tunneling", /tunnel .*proxy/, "connect"],
  ["client error (Connect): Invalid response version", /SOCKS5/, "connect"],
  // In TLS 1.3 the server refuses a client certificate after the handshake has ended for us.
  ["client error (SendRequest): received fatal alert: CertificateRequired", /client-cert/, "send"],
];

Deno.test("K16 connectionHint() and failureStage() know the client's texts", () => {
  for (const [text, hint, stage] of CASES) {
    match(connectionHint(text) ?? "", hint, text);
    strictEqual(failureStage(text), stage, text);
  }
});

Deno.test("connectionHint() has nothing to say about other texts, which may have been sent", () => {
  for (
    const text of ["", "connection reset by peer", "connection closed before message completed"]
  ) {
    strictEqual(connectionHint(text), undefined);
    strictEqual(failureStage(text), "send");
  }
});
