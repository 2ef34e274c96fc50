import { fileURLToPath } from "node:url";
import type { Verdict } from "../clients/runner/report.ts";

/** A third-party conformance suite. */
export interface Suite {
  /** Its name on the command line. */
  readonly name: string;
  /** Starts the server under test, runs the suite, and reads its results. */
  run(): Promise<Verdict>;
}

/** This folder. */
export const folder = fileURLToPath(new URL(".", import.meta.url));

/** Folder of the tools that `tools.ts` builds. */
export const binaries = `${folder}build/bin`;

/** Environment for programs that test a local server: no proxies. */
export const loopback: Readonly<Record<string, string>> = { no_proxy: "127.0.0.1,localhost" };
