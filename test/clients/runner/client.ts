import { fileURLToPath } from "node:url";
import type { Command } from "./process.ts";

/** A program that calls the sidecar from outside. */
export interface ForeignClient {
  /** The name of its folder. */
  readonly name: string;
  /** The checks that it must print a verdict for, `ok <name>` or `FAIL <name>: why`. */
  readonly checks: readonly string[];
  /** What this machine lacks to build and run the program; undefined where nothing. */
  missing(): string | undefined;
  /** Builds what is not built yet, and says how to run the program. Throws where a build fails. */
  build(): Promise<Command>;
}

/** The checks of every program with stubs of its own. */
export const languageChecks: readonly string[] = [
  "health",
  "complete",
  "stream",
  "tool_round_trip",
  "error_details",
  "validation_error",
  "mid_stream_error",
  "deadline",
  "cancellation",
];

/** The root of the repository. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The folder of the contract's proto files. */
export const protos = `${root}proto`;

/** The folder of a client's program. */
export function folderOf(name: string): string {
  return `${root}test/clients/${name}`;
}
