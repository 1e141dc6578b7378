/**
 * Kinds that are asked and not stored: access reviews, token reviews.
 *
 * @module
 */

import type { JsonObject } from "../core/json.ts";
import { timeOf } from "../core/timestamps.ts";
import { objectAt, objectOf, stringAt, stringsAt } from "./api_object.ts";
import { type AccessAttributes, refusalText } from "./authorization.ts";
import type { ServerContext } from "./context.ts";
import type { UserInfo } from "./request.ts";

/** The identity that a token stands for, if it is known. */
export type TokenUser = (token: string) => UserInfo | undefined;

/** Answers `review`, an object of a review kind. */
export function reviewed(
  context: ServerContext,
  review: JsonObject,
  user: UserInfo,
  userOfToken: TokenUser,
): JsonObject {
  const spec = objectOf(review.spec);
  const answer = (status: JsonObject): JsonObject => ({ ...review, status });
  switch (review.kind) {
    case "SelfSubjectAccessReview":
      return answer(accessStatus(context, user, spec));
    case "SubjectAccessReview":
    case "LocalSubjectAccessReview":
      return answer(accessStatus(context, {
        username: stringAt(spec, "user"),
        groups: stringsAt(spec, "groups"),
      }, spec));
    case "SelfSubjectRulesReview":
      return answer(rulesStatus(context, user, stringAt(spec, "namespace")));
    case "TokenReview":
      return answer(tokenStatus(userOfToken(stringAt(spec, "token"))));
    default:
      return {
        ...review,
        metadata: { creationTimestamp: timeOf(context.clock.wallMs()) },
        status: { userInfo: userJson(user) },
      };
  }
}

/** Whether `user` may do what the review asks of. */
function accessStatus(context: ServerContext, user: UserInfo, spec: JsonObject): JsonObject {
  const asked = objectAt(spec, "resourceAttributes");
  const attributes: AccessAttributes = {
    verb: stringAt(asked, "verb"),
    group: stringAt(asked, "group"),
    resource: stringAt(asked, "resource"),
    subresource: stringAt(asked, "subresource"),
    namespace: stringAt(asked, "namespace"),
    name: stringAt(asked, "name"),
  };
  const allowed = context.authorizer(user, attributes);
  return allowed ? { allowed } : { allowed, reason: refusalText(user, attributes) };
}

/** All that each served kind allows, one rule a kind; everything in one if nothing is refused. */
function rulesStatus(context: ServerContext, user: UserInfo, namespace: string): JsonObject {
  const rules = context.registry.all().flatMap((type): JsonObject[] => {
    const verbs = (type.rules.verbs ?? ALL).filter((verb) =>
      context.authorizer(user, { verb, group: type.group, resource: type.plural, namespace })
    );
    return verbs.length === 0
      ? []
      : [{ verbs: [...verbs], apiGroups: [type.group], resources: [type.plural] }];
  });
  return {
    resourceRules: rules,
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["*"] }],
    incomplete: false,
  };
}

const ALL = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/** Whose token it is. An unknown one is an answer, not a failure. */
function tokenStatus(user: UserInfo | undefined): JsonObject {
  if (user === undefined) return { user: {}, error: "invalid bearer token" };
  return {
    authenticated: true,
    user: userJson(user),
    audiences: ["https://kubernetes.default.svc"],
  };
}

/** A user as reviews show it. */
function userJson({ username, uid, groups }: UserInfo): JsonObject {
  return { username, ...(uid === undefined ? {} : { uid }), groups: [...groups] };
}
