/**
 * kubectl as the oracle for what a kubeconfig means.
 *
 * @module
 */

/** What kubectl did. */
export interface KubectlResult {
  readonly success: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl with only `environment` set, so that the machine's own configuration can't matter. */
export async function kubectl(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<KubectlResult> {
  const output = await new Deno.Command("kubectl", {
    args: [...args],
    env: { PATH: Deno.env.get("PATH") ?? "", HOME: "/nonexistent", ...environment },
    clearEnv: true,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return {
    success: output.success,
    stdout: decoder.decode(output.stdout),
    stderr: decoder.decode(output.stderr),
  };
}

/**
 * `name`, or `ignore` with the reason in the name, so that a run without kubectl shows what it left
 * out.
 */
export async function needsKubectl(name: string): Promise<{ name: string; ignore: boolean }> {
  try {
    const { success } = await kubectl(["version", "--client"], {});
    if (success) return { name, ignore: false };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return { name: `${name} (left out: no kubectl on this machine)`, ignore: true };
}
