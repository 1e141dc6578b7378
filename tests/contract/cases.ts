/**
 * The contract: behaviours of an API server that operators rely on, one case each.
 *
 * Each case runs on the simulated server always and on a real kube-apiserver wherever one can be
 * started. What has no case here must not be relied on in the simulator.
 *
 * @module
 */

import type { ContractCase } from "./backend.ts";
import { BUILTIN_CASES } from "./builtins.ts";
import { CREATE_CASES } from "./create.ts";
import { DEFINITION_CASES } from "./definitions.ts";
import { DELETE_CASES } from "./delete.ts";
import { DISCOVERY_CASES } from "./discovery.ts";
import { EVENT_CASES } from "./events.ts";
import { LIST_CASES } from "./list.ts";
import { METADATA_CASES } from "./metadata.ts";
import { OWNERSHIP_CASES } from "./ownership.ts";
import { PATCH_CASES } from "./patch.ts";
import { SCHEMA_CASES } from "./schemas.ts";
import { UPDATE_CASES } from "./update.ts";
import { WATCH_CASES } from "./watch.ts";

/** All cases. */
export const CONTRACT: readonly ContractCase[] = [
  ...CREATE_CASES,
  ...UPDATE_CASES,
  ...PATCH_CASES,
  ...METADATA_CASES,
  ...DELETE_CASES,
  ...LIST_CASES,
  ...WATCH_CASES,
  ...DEFINITION_CASES,
  ...BUILTIN_CASES,
  ...EVENT_CASES,
  ...DISCOVERY_CASES,
  ...SCHEMA_CASES,
  ...OWNERSHIP_CASES,
];
