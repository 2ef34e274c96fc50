import { readFile } from "node:fs/promises";

/** The command line and environment with which the image starts the sidecar. */
export interface ImageSettings {
  /** Options of Node. */
  readonly nodeOptions: readonly string[];
  /** Variables of the environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Reads from the Dockerfile how the image starts the sidecar, so that the measured configuration is the released one. */
export async function readImageSettings(): Promise<ImageSettings> {
  const dockerfile = await readFile("Dockerfile", "utf8");
  const lastStage = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
  const entryPoint: unknown = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(lastStage)?.[1] ?? "null");
  if (!Array.isArray(entryPoint))
    throw new Error("Dockerfile: expected an ENTRYPOINT that is a list in one line");
  const variables = [...lastStage.matchAll(/^ENV (\w+)=(\S+)$/gm)];
  return {
    nodeOptions: entryPoint.filter(
      (word): word is string => typeof word === "string" && word.startsWith("--"),
    ),
    environment: Object.fromEntries(variables.map(([, name = "", value = ""]) => [name, value])),
  };
}
