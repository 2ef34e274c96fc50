import { fileURLToPath } from "node:url";
import type { Verdict } from "../clients/runner/report.ts";

/** A program of others that tests our server. */
export interface Suite {
  /** How it is chosen on the command line. */
  readonly name: string;
  /** Starts what it tests, runs it to its end, and judges. */
  run(): Promise<Verdict>;
}

/** This folder. */
export const folder = fileURLToPath(new URL(".", import.meta.url));

/** Where the tools are that `tools.ts` builds. */
export const binaries = `${folder}build/bin`;

/** For programs that test a server on this machine: its proxies are not for them. */
export const loopback: Readonly<Record<string, string>> = { no_proxy: "127.0.0.1,localhost" };
