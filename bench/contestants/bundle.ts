import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { PROJECT_FOLDER, RUN_FOLDER } from "../work-folder.ts";

/**
 * Bundles a program as scripts/build.ts bundles the sidecar.
 * @param entryPoint Path from the project's folder.
 * @param minify False where functions are to keep their names, for a profile.
 * @returns The bundle's path.
 */
export async function bundleProgram(name: string, entryPoint: string, minify: boolean): Promise<string> {
  const outfile = join(RUN_FOLDER, minify ? `${name}.cjs` : `${name}-readable.cjs`);
  await build({
    absWorkingDir: PROJECT_FOLDER,
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node24",
    minify,
    legalComments: "none",
    define: { "process.env.OUTRIGGER_VERSION": JSON.stringify("bench") },
    logLevel: "warning",
  });
  return outfile;
}

/** The options that the image gives to Node, so that nothing is measured that nobody runs. */
export async function nodeOptionsOfImage(): Promise<string[]> {
  const dockerfile = await readFile(join(PROJECT_FOLDER, "Dockerfile"), "utf8");
  const entryPoint = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1];
  if (entryPoint === undefined) throw new Error("the Dockerfile has no ENTRYPOINT in one line");
  const words: unknown = JSON.parse(entryPoint);
  if (!Array.isArray(words)) throw new Error("the Dockerfile's ENTRYPOINT is no list");
  return words.filter((word): word is string => typeof word === "string" && word.startsWith("--"));
}
