/**
 * What is written about one thing that happened: an `events.k8s.io/v1` Event that the API server
 * accepts, whatever the lengths and characters of what it is made from (field cases E2, E4).
 *
 * Pure; the recorder beside it decides when to write.
 *
 * @module
 */

import { apiVersionOf, type GroupVersionKind, keyOf } from "../core/objects.ts";
import { microTimeOf } from "../core/timestamps.ts";

/** Longest note, in bytes of UTF-8. The API server's limit, counted by it in bytes. */
export const NOTE_MAX_BYTES = 1024;

/** Longest reason, action and reporting instance, in bytes of UTF-8. The API server's limit. */
export const WORD_MAX_BYTES = 128;

/** Longest object name, in characters: a DNS subdomain. */
const NAME_MAX_CHARS = 253;

/** Hexadecimal digits that make a name unique: 60 random bits, the rest is the UUID's version. */
const SUFFIX_CHARS = 16;

/** The object that an event is about. */
export interface Regarding {
  /** Given apart from the object, since items of a list carry no kind on every path (E4). */
  readonly gvk: GroupVersionKind;
  /** The object's own metadata fits. */
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

/** Something that happened to an object, for the people who look at it. */
export interface EventInput {
  /** The object that it happened to. */
  readonly regarding: Regarding;
  /** `Warning` if someone should look. */
  readonly type: "Normal" | "Warning";
  /** Why, in one CamelCase word for machines: `Synced`, `ErrResourceExists`. */
  readonly reason: string;
  /** What was done or tried, in one CamelCase word. Empty: the reason's word. */
  readonly action: string;
  /** A sentence for people; no secrets, no text that varies without need, or nothing is a repeat. */
  readonly note: string;
}

/** Who reports. */
export interface EventSource {
  /** A qualified name: `samplecontroller.k8s.io/foo-controller`. */
  readonly reportingController: string;
  /** This process, by habit the Pod's name. */
  readonly reportingInstance: string;
}

/** How often something happened, and when last. */
export interface EventSeries {
  /** 2 or more. */
  readonly count: number;
  /** When it happened last, as a MicroTime. */
  readonly lastObservedTime: string;
}

/** An Event as it goes to the server. */
export interface EventDraft {
  /** Always this one. */
  readonly apiVersion: "events.k8s.io/v1";
  /** Always this one. */
  readonly kind: "Event";
  /** A name of its own, in the namespace of what it regards. */
  readonly metadata: { readonly name: string; readonly namespace: string };
  /** When it happened first, as a MicroTime. */
  readonly eventTime: string;
  /** The controller that reports. */
  readonly reportingController: string;
  /** The process that reports, cut to its limit. */
  readonly reportingInstance: string;
  /** As recorded. */
  readonly type: "Normal" | "Warning";
  /** As recorded, cut to its limit. */
  readonly reason: string;
  /** As recorded, cut to its limit; never empty. */
  readonly action: string;
  /** As recorded, cut to its limit. */
  readonly note: string;
  /** The object that it happened to, with its version at that time. */
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  /** Absent the first time. */
  readonly series?: EventSeries;
}

/**
 * The Event to create for `input`. It lies in the namespace of what it regards, in `default` for
 * cluster-scoped objects: the API server accepts no other.
 *
 * @param wallMs When it happened.
 */
export function eventDraft(
  input: EventInput,
  { source, wallMs, uuid }: { source: EventSource; wallMs: number; uuid: () => string },
): EventDraft {
  const { regarding, type } = input;
  const { name, namespace, uid, resourceVersion } = regarding.metadata;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: eventName(name, uuid), namespace: namespace || "default" },
    eventTime: microTimeOf(wallMs),
    reportingController: source.reportingController,
    reportingInstance: truncated(source.reportingInstance, WORD_MAX_BYTES),
    type,
    reason: truncated(input.reason, WORD_MAX_BYTES),
    action: truncated(input.action || input.reason, WORD_MAX_BYTES),
    note: truncated(input.note, NOTE_MAX_BYTES),
    regarding: {
      apiVersion: apiVersionOf(regarding.gvk),
      kind: regarding.gvk.kind,
      name,
      ...(namespace ? { namespace } : {}),
      uid,
      resourceVersion,
    },
  };
}

/** What makes two events the same thing happening again. */
export function seriesKey({ regarding, type, reason, action, note }: EventDraft): string {
  // The uid says all about the object, but for those that have none (a made-up reference).
  const object = regarding.uid || `${regarding.apiVersion} ${regarding.kind} ${keyOf(regarding)}`;
  return JSON.stringify([object, type, reason, action, note]);
}

/**
 * A name for an Event about the object `regarding`: recognisable, valid, and unlike any other.
 *
 * Names of objects need not be DNS subdomains (`system:node`); those of Events must.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * const uuid = () => "01234567-89ab-4def-8123-456789abcdef";
 * strictEqual(eventName("system:Node", uuid), "system-node.0123456789ab4def");
 * ```
 */
export function eventName(regarding: string, uuid: () => string): string {
  const suffix = uuid().replaceAll("-", "").slice(0, SUFFIX_CHARS);
  const labels = regarding.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-")
    .slice(0, NAME_MAX_CHARS - SUFFIX_CHARS - 1)
    .split(".").map((label) => label.replaceAll(/^-+|-+$/g, ""));
  return [...labels, suffix].filter((label) => label !== "").join(".");
}

/**
 * `text`, or as much of its start as fits into `maxBytes` of UTF-8, marked with an ellipsis. Cuts
 * between characters, never inside one (E2).
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(truncated("漢字漢字", 9), "漢字…");
 * strictEqual(truncated("漢字", 9), "漢字");
 * ```
 */
export function truncated(text: string, maxBytes: number): string {
  const sound = text.toWellFormed(); // a lone surrogate has no UTF-8
  const encoder = new TextEncoder();
  const isWhole = encoder.encodeInto(sound, new Uint8Array(maxBytes)).read === sound.length;
  if (isWhole) return sound;
  const { read } = encoder.encodeInto(sound, new Uint8Array(maxBytes - ELLIPSIS_BYTES));
  return sound.slice(0, read) + "…";
}

const ELLIPSIS_BYTES = 3;
