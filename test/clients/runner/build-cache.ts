import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The inputs of a build: files and folders, and facts such as the version of a compiler. */
export interface Inputs {
  readonly paths: readonly string[];
  readonly facts: readonly string[];
}

/**
 * Runs a build unless its inputs have not changed since the last successful build. The stamp file is in the
 * output folder, so that removing that folder causes a new build.
 */
export async function buildOnce(stamp: string, inputs: Inputs, build: () => Promise<void>): Promise<void> {
  const key = hashInputs(inputs);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === key) {
    return;
  }
  rmSync(stamp, { force: true });
  await build();
  writeFileSync(stamp, key);
}

function hashInputs(inputs: Inputs): string {
  const hash = createHash("sha256");
  for (const fact of inputs.facts) {
    hash.update(`fact ${fact}\0`);
  }
  for (const file of inputs.paths.flatMap(filesUnder)) {
    hash.update(`file ${file}\0`).update(readFileSync(file)).update("\0");
  }
  return hash.digest("hex");
}

function filesUnder(path: string): string[] {
  if (!statSync(path).isDirectory()) {
    return [path];
  }
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
