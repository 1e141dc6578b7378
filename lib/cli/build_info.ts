/**
 * What was built. The build replaces the marker below in the bundle; a working copy has no commit.
 *
 * @module
 */

import type { BuildInfo } from "./command.ts";

/** Version of the program, also in `deno.json`; a test compares the two. */
export const VERSION_NUMBER = "0.1.0";

/** What the build puts in place of: the commit's short hash. Kept whole, since it is searched for. */
export const COMMIT_MARKER = "@@FOO_OPERATOR_COMMIT@@";

/** Version, commit, runtime and platform. */
export function buildInfo(): BuildInfo {
  const commit: string = COMMIT_MARKER;
  return {
    version: VERSION_NUMBER,
    // Replaced by the build, or still the marker.
    ...(/^[0-9a-f]+$/.test(commit) ? { commit } : {}),
    deno: Deno.version.deno,
    platform: `${Deno.build.os}/${Deno.build.arch}`,
  };
}
