import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { bundleProgram, writeBundle } from "../../scripts/build/bundle.ts";
import { RUN_FOLDER } from "../work-folder.ts";

/**
 * Bundles a program in the same way as the released sidecar.
 * @param entryPoint Path of its first module, from the project's folder.
 * @returns The path of the file that starts it.
 */
export async function bundleAsShipped(name: string, entryPoint: string): Promise<string> {
  const folder = join(RUN_FOLDER, name);
  const startFile = `${name}.cjs`;
  await writeBundle(await bundleProgram(entryPoint, startFile), folder);
  return join(folder, startFile);
}

/**
 * Bundles a program with all that it imports in one file.
 * @param minify False for a profile: functions keep their names, and each module has its path above it.
 * @returns The path of that file.
 */
export async function bundleWhole(name: string, entryPoint: string, minify: boolean): Promise<string> {
  const outfile = join(RUN_FOLDER, `${name}.cjs`);
  await build({
    entryPoints: [entryPoint],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node24",
    minify,
    legalComments: "none",
    logLevel: "warning",
  });
  if (!minify) await writeFile(outfile, withoutModuleNames(await readFile(outfile, "utf8")));
  return outfile;
}

/**
 * Gives the initializers of modules one name. esbuild names each after its module, as the only property of an object:
 * V8 lets objects of one property begin with 1,536 names, and after so many modules it creates a hidden class for every
 * message, which the shipped program does not.
 */
function withoutModuleNames(bundle: string): string {
  return bundle.replace(/(= __(?:esm|commonJS)\(\{\n {2}(?:async )?)"[^"\n]+"\(/g, "$1module(");
}
