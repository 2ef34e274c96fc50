/** The sidecar as it is released, with a store for responses. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ALLOCATOR_VARIABLES, NODE_OPTIONS } from "../../src/cli/process-settings.ts";
import { type Running, startListening } from "../processes.ts";
import { RUN_FOLDER } from "../work-folder.ts";
import type { Program } from "./part.ts";

/** Which sidecar to start. */
export interface SidecarOptions {
  readonly program: Program;
  /** Host and port of the provider. */
  readonly upstream: string;
  /** The section `runs` of its configuration. */
  readonly runs: Readonly<Record<string, string>>;
}

/** Counts the files of this run, so that each sidecar has a different one. */
let files = 0;

/** Path of a new file below the folder of this run. */
export function createPath(ending: string): string {
  files += 1;
  return join(RUN_FOLDER, `responses-${files}.${ending}`);
}

/** Starts a sidecar in front of an upstream. */
export async function startSidecar({ program, upstream, runs }: SidecarOptions): Promise<Running> {
  const config = createPath("json");
  // YAML is a superset of JSON.
  await writeFile(config, JSON.stringify({ runs }));
  return startListening((address) => ({
    file: process.execPath,
    args: [...NODE_OPTIONS, program.start, "serve", "--config", config],
    env: {
      ...ALLOCATOR_VARIABLES,
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `http://${upstream}/v1`,
      OUTRIGGER_LISTEN: address,
      OUTRIGGER_ADMIN_LISTEN: "127.0.0.1:0",
    },
  }));
}
