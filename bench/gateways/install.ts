import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, run } from "../processes.ts";
import { CACHE_FOLDER } from "../work-folder.ts";

/** A gateway cannot be installed on this machine: no Python, no registry. */
export class GatewayUnavailableError extends Error {}

/** Describes how to install a third-party program. */
export interface Installation {
  /** Name and version. A program that is already installed under this name is reused. */
  readonly name: string;
  /** Files that the commands need, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Commands that install it into a folder, one after the other. */
  commands(folder: string): readonly Command[];
}

/**
 * Installs a program, unless an earlier run has done so.
 * @returns Its folder, below the cache of the benchmark.
 * @throws GatewayUnavailableError with the last line of what went wrong.
 */
export async function install({ name, files = {}, commands }: Installation): Promise<string> {
  const folder = join(CACHE_FOLDER, name);
  const isInstalled = join(folder, ".installed");
  if (existsSync(isInstalled)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
  try {
    for (const command of commands(folder)) await run(command);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new GatewayUnavailableError(`it cannot be installed: ${text.trim().split("\n").at(-1)}`);
  }
  await writeFile(isInstalled, "");
  return folder;
}
