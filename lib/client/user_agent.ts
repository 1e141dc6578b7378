/**
 * The `User-Agent` header: which program, of which version, and which part of it asks.
 *
 * Audit logs and the API server's own metrics tell clients apart by it, and the part before the
 * first slash is the field manager of writes that name none.
 *
 * @module
 */

import { assert } from "../core/errors.ts";

/** What {@linkcode userAgentOf} takes. */
export interface UserAgentParts {
  /** Name of the program, without blanks and slashes. */
  readonly program: string;
  /** Its version. */
  readonly version: string;
  /** Operating system and processor, as `linux/x86_64`. */
  readonly platform?: string;
  /** Which part of the program, e.g. `leader-election`. */
  readonly component?: string;
}

/**
 * A user agent of client-go's form.
 *
 * @throws {AssertionError} If a part is empty or has characters that would end it.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(
 *   userAgentOf({ program: "foo-operator", version: "0.1.0", platform: "linux/x86_64" }),
 *   "foo-operator/0.1.0 (linux/x86_64)",
 * );
 * ```
 */
export function userAgentOf({ program, version, platform, component }: UserAgentParts): string {
  for (const part of [program, version]) {
    assert(/^[\w.+-]+$/.test(part), `"${part}" is a program or a version`);
  }
  assert(platform === undefined || /^[\w./+-]+$/.test(platform), `"${platform}" is a platform`);
  const agent = `${program}/${version}${platform === undefined ? "" : ` (${platform})`}`;
  return component === undefined ? agent : withComponent(agent, component);
}

/**
 * `userAgent` of one component of the program, as client-go's `AddUserAgent` writes it.
 *
 * @throws {AssertionError} If the component is empty or has characters that would end it.
 *
 * @example
 * ```ts
 * import { strictEqual } from "node:assert/strict";
 * strictEqual(withComponent("foo-operator/0.1.0", "leader-election"),
 *   "foo-operator/0.1.0/leader-election");
 * ```
 */
export function withComponent(userAgent: string, component: string): string {
  assert(/^[\w.+-]+$/.test(component), `"${component}" is a component`);
  return `${userAgent}/${component}`;
}
