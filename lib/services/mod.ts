/**
 * What an operator does beside its reconciles: so far, telling people by Kubernetes Events.
 *
 * {@linkcode EventRecorder} takes events without blocking and without ever throwing, folds repeats
 * into counts, and sends them best effort, within limits: a reconcile never waits for an event, and
 * none is promised to arrive.
 *
 * @module
 */

export * from "./event_delivery.ts";
export * from "./event_draft.ts";
export * from "./event_recorder.ts";
