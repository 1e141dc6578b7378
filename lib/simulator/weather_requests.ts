/**
 * How the weather changes a request on its way to the server: lists are answered from an old state or
 * in small pages, another writer comes first.
 *
 * Pure but for the writes of that other writer, which go through the server as anyone's do.
 *
 * @module
 */

import type { Random } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import { isOrderedVersion } from "../core/objects.ts";
import { objectsAt, stringAt } from "./api_object.ts";
import { isTrue, routeOf, type Target } from "./request.ts";
import type { ApiServer } from "./server.ts";

/** The client of whatever the weather itself asks and writes. */
const AGENT = { "user-agent": "weather" };

/** How far back an old state may be, in revisions. */
const STALE_REVISIONS_MAX = 200;

/** How far back a repeated state may be, in revisions: further back than a few changes. */
const REPEATED_REVISIONS_MAX = 30;

/** Most objects of which a watch repeats a state. */
const REPEATED_LINES_MAX = 5;

/** A request on its way. */
export interface StruckRequest {
  readonly method: string;
  /** Changed in place by what strikes. */
  readonly url: URL;
  /** The resource it is about, if any. */
  readonly target: Target | undefined;
}

/** Reads what a request is about. */
export function struckRequest(method: string, text: string): StruckRequest {
  const url = new URL(text);
  const route = routeOf(method, url.pathname, url.searchParams);
  return { method, url, target: route.type === "resource" ? route.target : undefined };
}

/** True if `target` is changed by the request. */
export function isWrite(target: Target | undefined): boolean {
  return target !== undefined && !["get", "list", "watch"].includes(target.verb);
}

/** The least version that a list or watch may answer with; `""` if the latest is asked for. */
export function askedVersion({ url }: StruckRequest): string {
  return url.searchParams.get("resourceVersion") ?? "";
}

/**
 * Makes a list read a state of the past, if its options allow that.
 *
 * @returns Whether it did.
 */
export function makeStale(
  request: StruckRequest,
  { server, random }: { server: ApiServer; random: Random },
): boolean {
  const { url, target } = request;
  const query = url.searchParams;
  const asked = askedVersion(request);
  const match = query.get("resourceVersionMatch");
  const allowsOld = asked === "0" || (asked !== "" && match === "NotOlderThan");
  if (target?.verb !== "list" || !allowsOld || !isOrderedVersion(asked)) return false;
  const { revision, compactedRevision } = server.storage;
  const oldest = Math.max(compactedRevision, Number(asked), revision - STALE_REVISIONS_MAX);
  if (oldest >= revision) return false;
  query.set("resourceVersion", String(oldest + Math.floor(random() * (revision - oldest))));
  query.set("resourceVersionMatch", "Exact");
  return true;
}

/** Makes a list come in pages of one to three objects. */
export function makePagesSmall({ url, target }: StruckRequest, random: Random): void {
  if (target?.verb === "list") url.searchParams.set("limit", String(1 + Math.floor(random() * 3)));
}

/** Another writer changes the object that the request is about to change. */
export async function interfere(
  { url, target, method }: StruckRequest,
  { server, mark }: { server: ApiServer; mark: string },
): Promise<void> {
  if (target === undefined || target.name === "" || method === "DELETE") return;
  const suffix = target.subresource === "" ? 0 : target.subresource.length + 1;
  const path = suffix === 0 ? url.pathname : url.pathname.slice(0, -suffix);
  await drained(server.fetch(`${url.origin}${path}`, {
    method: "PATCH",
    headers: { ...AGENT, "content-type": "application/merge-patch+json" },
    // Not ASCII, so that lines can tear inside a character.
    body: JSON.stringify({ metadata: { annotations: { "weather/mark": `größe ${mark}` } } }),
  }));
}

/**
 * What a watch from `version` may be told again: lines about objects that are still there, as they
 * were then or some time before.
 */
export async function repeatedLines(
  { url }: StruckRequest,
  { server, random, version }: { server: ApiServer; random: Random; version: string },
): Promise<Uint8Array<ArrayBuffer>[]> {
  const { storage } = server;
  const at = Number(version);
  const isKnown = isOrderedVersion(version) && at >= storage.compactedRevision &&
    at <= storage.revision;
  if (!isKnown) return [];
  const oldest = Math.max(storage.compactedRevision, at - REPEATED_REVISIONS_MAX);
  const then = at - Math.floor(random() * (at - oldest + 1));
  const [before, now] = [await listAt(url, server, then), await listAt(url, server, at)];
  // What is gone since, or is selected no more, must not come back.
  const uids = new Set(now.map((item) => stringAt(item, "metadata", "uid")));
  const items = before.filter((item) => uids.has(stringAt(item, "metadata", "uid")));
  return items.filter(() => random() < 0.5).slice(0, REPEATED_LINES_MAX).map((object) => {
    const type = random() < 0.5 ? "ADDED" : "MODIFIED";
    return new TextEncoder().encode(`${JSON.stringify({ type, object })}\n`);
  });
}

/** What the watch of `url` selects, as it was at `revision`: whole objects, as watches tell them. */
async function listAt(url: URL, server: ApiServer, revision: number): Promise<JsonObject[]> {
  const list = new URL(url);
  for (const name of [...list.searchParams.keys()]) {
    if (!name.endsWith("Selector")) list.searchParams.delete(name);
  }
  list.searchParams.set("resourceVersion", String(revision));
  list.searchParams.set("resourceVersionMatch", "Exact");
  const response = await server.fetch(list, { headers: AGENT });
  const body: unknown = await response.json();
  const apiVersion = stringAt(body, "apiVersion");
  const kind = stringAt(body, "kind").replace(/List$/, "");
  return response.ok ? objectsAt(body, "items").map((item) => ({ apiVersion, kind, ...item })) : [];
}

/** True if the request goes on with a list that began before. */
export function isFurtherPage({ url, target }: StruckRequest): boolean {
  return target?.verb === "list" && (url.searchParams.get("continue") ?? "") !== "";
}

/** True for a watch that begins with a state rather than from a version. */
export function asksForState({ url }: StruckRequest): boolean {
  return isTrue(url.searchParams.get("sendInitialEvents"));
}

async function drained(answer: Promise<Response>): Promise<void> {
  await (await answer).body?.cancel();
}
