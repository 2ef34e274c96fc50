/** Global setup of the tests that run the program that ships: bundles it once, into a separate folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleProgram, writeBundle } from "../../scripts/build/bundle.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Path of the program that tests start. Undefined: its sources. */
    program?: string;
  }
}

const START_FILE = "outrigger.cjs";

/** @returns A function that removes the program. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-program-"));
  await writeBundle(await bundleProgram("src/cli/main.ts", START_FILE), folder);
  provide("program", join(folder, START_FILE));
  return () => rm(folder, { recursive: true });
}
