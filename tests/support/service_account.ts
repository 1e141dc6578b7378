/**
 * What a Pod has of a service account: tokens that end with what they are bound to, and a folder as
 * kubelet mounts it.
 *
 * @module
 */

import type { Kube } from "./kube.ts";

/** Tokens of a service account with all rights, each bound to a Secret: that gone, it is refused. */
export async function boundTokens(
  kube: Kube,
): Promise<{ token: string; revoke(): Promise<void> }[]> {
  const ns = await kube.namespace("accounts");
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "operator" } };
  await kube.post(`/api/v1/namespaces/${ns}/serviceaccounts`, account);
  await kube.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: ns },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "operator", namespace: ns }],
  });
  const one = async (name: string) => {
    const secrets = `/api/v1/namespaces/${ns}/secrets`;
    const secret = await kube.post(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name },
    });
    const { status } = await kube.post(
      `/api/v1/namespaces/${ns}/serviceaccounts/operator/token`,
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {
          audiences: ["https://kubernetes.default.svc"],
          expirationSeconds: 3600,
          boundObjectRef: { apiVersion: "v1", kind: "Secret", name, uid: secret.metadata.uid },
        },
      },
    );
    const revoke = async () => void await kube.delete(`${secrets}/${name}`);
    return { token: String(status.token), revoke };
  };
  return [await one("first"), await one("second")];
}

/** A folder as kubelet makes one: files are links through `..data`, which is swapped as a whole. */
export async function projectedFolder(dir: string, files: Record<string, string>): Promise<{
  swap(files: Record<string, string>): Promise<void>;
}> {
  let versions = 0;
  const swap = async (files: Record<string, string>) => {
    const version = `..version-${versions++}`;
    await Deno.mkdir(`${dir}/${version}`, { recursive: true });
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${dir}/${version}/${name}`, text);
    }
    await Deno.symlink(version, `${dir}/..new`);
    await Deno.rename(`${dir}/..new`, `${dir}/..data`);
  };
  await swap(files);
  for (const name of Object.keys(files)) await Deno.symlink(`..data/${name}`, `${dir}/${name}`);
  return { swap };
}
