/**
 * Who may do what. By default everyone may do everything; a test that needs refusals gives its own
 * authorizer, which requests and access reviews both ask.
 *
 * @module
 */

import type { UserInfo } from "./request.ts";

/** What is to be done, as access reviews name it. */
export interface AccessAttributes {
  /** In Kubernetes' terms: `get`, `list`, `watch`, `create`, … */
  readonly verb: string;
  /** `""` for the core group. */
  readonly group: string;
  /** Absent in reviews that do not say. */
  readonly version?: string;
  /** Plural name. */
  readonly resource: string;
  /** `""` or absent for the object itself. */
  readonly subresource?: string;
  /** `""` or absent for all namespaces, and for cluster-scoped kinds. */
  readonly namespace?: string;
  /** `""` or absent where no single object is meant. */
  readonly name?: string;
}

/** True if `user` may do it. Must be pure: it is asked once a request. */
export type Authorizer = (user: UserInfo, attributes: AccessAttributes) => boolean;

/** The authorizer that allows everything. */
export const allowAll: Authorizer = () => true;

/** Why a request is refused, in the server's words. */
export function refusalText(user: UserInfo, attributes: AccessAttributes): string {
  const { verb, group, resource, subresource = "", namespace = "" } = attributes;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return `User "${user.username}" cannot ${verb} resource "${what}" in API group "${group}" ${where}`;
}
