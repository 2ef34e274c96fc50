/** The programs that are measured: this checkout, and the one that it is compared with. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { bundleAsShipped } from "../implementations/bundle.ts";
import { run } from "../processes.ts";
import { RUN_FOLDER } from "../work-folder.ts";
import type { Program } from "./part.ts";

/** Bundles this checkout. */
export async function buildCurrent(): Promise<Program> {
  return { start: await bundleAsShipped("outrigger", "src/cli/main.ts") };
}

/**
 * Finds the program to compare with.
 * @param path Absolute: folder of a checkout with its `node_modules`, or the file that starts a bundle.
 */
export async function buildBase(path: string): Promise<Program> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    throw new Error(`--base is "${path}", which does not exist; expected a checkout or the file of a bundle`);
  }
  return { start: found.isDirectory() ? await bundleCheckout(path) : path };
}

/** Bundles a checkout with its bundler and dependencies, into the folder of this run. */
async function bundleCheckout(folder: string): Promise<string> {
  const startFile = "base.cjs";
  const into = join(RUN_FOLDER, "base");
  const script = `
    import { bundleProgram, writeBundle } from ${JSON.stringify(join(folder, "scripts/build/bundle.ts"))};
    await writeBundle(await bundleProgram("src/cli/main.ts", ${JSON.stringify(startFile)}), ${JSON.stringify(into)});`;
  await run({
    file: process.execPath,
    args: ["--input-type=module", "--eval", script],
    // Its bundler resolves paths relative to the working directory.
    folder,
  });
  return join(into, startFile);
}
