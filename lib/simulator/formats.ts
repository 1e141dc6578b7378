/**
 * The string formats that the API server checks in a custom resource. Formats that it does not know
 * are not checked, here as there.
 *
 * @module
 */

const DATE_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})$/;
const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const GO_DURATION = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h|d|w))+$|^[+-]?0$/;
const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const HOSTNAME =
  /^(?=.{1,255}$)[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*\.?$/i;
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
const EMAIL = /^[^\s@<>,;]+@[^\s@<>,;]+$/;
const MAC = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  "date-time": (text) => DATE_TIME.test(text),
  datetime: (text) => DATE_TIME.test(text),
  date: (text) => DATE.test(text),
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID.test(text) && text.replaceAll("-", "")[12] === "3",
  uuid4: (text) => UUID.test(text) && text.replaceAll("-", "")[12] === "4",
  uuid5: (text) => UUID.test(text) && text.replaceAll("-", "")[12] === "5",
  duration: (text) => GO_DURATION.test(text),
  hostname: (text) => HOSTNAME.test(text),
  ipv4: (text) => IPV4.test(text),
  ipv6: isIpv6,
  cidr: isCidr,
  email: (text) => EMAIL.test(text),
  mac: (text) => MAC.test(text),
  uri: (text) => text.startsWith("/") || URL.canParse(text),
  byte: (text) => BASE64.test(text),
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  hexcolor: (text) => /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
  "k8s-short-name": (text) => text.length <= 63 && new RegExp(`^${LABEL}$`).test(text),
  "k8s-long-name": (text) =>
    text.length <= 253 && new RegExp(`^${LABEL}(?:\\.${LABEL})*$`).test(text),
};

/**
 * True if `text` has the format, or if the format is one that the server does not check.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(hasFormat("2026-01-02T03:04:05Z", "date-time"), true);
 * strictEqual(hasFormat("2026", "date-time"), false);
 * strictEqual(hasFormat("anything", "no-such-format"), true);
 * ```
 */
export function hasFormat(text: string, format: string): boolean {
  return !Object.hasOwn(CHECKS, format) || CHECKS[format]?.(text) !== false;
}

function isIpv6(text: string): boolean {
  return text.includes(":") && URL.canParse(`http://[${text}]/`);
}

function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return IPV4.test(address) ? Number(bits) <= 32 : isIpv6(address) && Number(bits) <= 128;
}
