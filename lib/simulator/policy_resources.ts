/**
 * The built-in kinds that say who may do what, and what rows of the table of kinds are; the kinds
 * that hold content are in `builtin_resources.ts`.
 *
 * @module
 */

import { defaultedBinding, defaultedWebhooks } from "./builtin_rules.ts";
import type { ResourceRules, ScalePaths } from "./resource_type.ts";

/** What one row of the table says; the rest follows from it. */
export interface ResourceRow {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly hasStatus?: boolean;
  readonly scale?: ScalePaths;
  readonly selectableFields?: readonly string[];
  readonly table?: string;
  readonly rules?: ResourceRules;
}

/** Review kinds are asked, not stored. */
const REVIEW: ResourceRules = { verbs: ["create"], nameRule: "path" };

const RBAC: ResourceRules = {
  nameRule: "path",
  updateCreates: true,
  unconditionalUpdate: true,
};

const RBAC_GROUP = "rbac.authorization.k8s.io";
const ADMISSION_GROUP = "admissionregistration.k8s.io";

/** RBAC and webhook configurations. */
export const POLICY_ROWS: readonly ResourceRow[] = [
  {
    group: RBAC_GROUP,
    kind: "ClusterRole",
    plural: "clusterroles",
    isNamespaced: false,
    rules: RBAC,
  },
  { group: RBAC_GROUP, kind: "Role", plural: "roles", isNamespaced: true, rules: RBAC },
  {
    group: RBAC_GROUP,
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    isNamespaced: false,
    rules: { ...RBAC, defaults: defaultedBinding },
  },
  {
    group: RBAC_GROUP,
    kind: "RoleBinding",
    plural: "rolebindings",
    isNamespaced: true,
    rules: { ...RBAC, defaults: defaultedBinding },
  },
  {
    group: ADMISSION_GROUP,
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    isNamespaced: false,
    categories: ["api-extensions"],
    rules: { generation: "content", unconditionalUpdate: true, defaults: defaultedWebhooks(false) },
  },
  {
    group: ADMISSION_GROUP,
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    isNamespaced: false,
    categories: ["api-extensions"],
    rules: { generation: "content", unconditionalUpdate: true, defaults: defaultedWebhooks(true) },
  },
];

const AUTHORIZATION = "authorization.k8s.io";
const AUTHENTICATION = "authentication.k8s.io";

/** Reviews of access and tokens. */
export const REVIEW_ROWS: readonly ResourceRow[] = [
  [AUTHORIZATION, "SelfSubjectAccessReview", false] as const,
  [AUTHORIZATION, "SelfSubjectRulesReview", false] as const,
  [AUTHORIZATION, "SubjectAccessReview", false] as const,
  [AUTHORIZATION, "LocalSubjectAccessReview", true] as const,
  [AUTHENTICATION, "TokenReview", false] as const,
  [AUTHENTICATION, "SelfSubjectReview", false] as const,
].map(([group, kind, isNamespaced]) => ({
  group,
  kind,
  plural: `${kind.toLowerCase()}s`,
  isNamespaced,
  rules: REVIEW,
}));
