import { fileURLToPath } from "node:url";
import type { Command, Outcome } from "./process.ts";

/** A client program that calls the sidecar. */
export interface TestClient {
  /** The name of its folder. */
  readonly name: string;
  /** The checks that it must report, as `ok <name>` or `FAIL <name>: reason`. */
  readonly checks: readonly string[];
  /** The toolchain that is missing on this machine, or undefined if none is. */
  missing(): string | undefined;
  /** Builds the program unless it is up to date. @returns How to run it. Throws if the build fails. */
  build(): Promise<Command>;
  /**
   * Turns the output of a test framework into the lines of the checks. Absent if the program prints these lines itself.
   */
  translate?(outcome: Outcome): Outcome;
}

/** The checks of every program with generated stubs. */
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
  "retry_policy",
  "retry_pushback",
  "retry_refused",
  "tls",
];

/** The root of the repository. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The folder of the contract's proto files. */
export const protos = `${root}proto`;

/** The folder of a client's program. */
export function getFolder(name: string): string {
  return `${root}test/clients/${name}`;
}
