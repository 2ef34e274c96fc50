import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { WireApi } from "./backend.ts";

/** A framework or agent, and the program that checks it. */
export interface Framework {
  /** Its name in the table and for `--only`. */
  readonly name: string;
  /** The folder of its program and lock file. Two entries may share one. */
  readonly folder: string;
  readonly language: "python" | "node";
  /** The package whose version is shown. */
  readonly package: string;
  /** The only platform that its lock file is for. Default: all. */
  readonly platform?: string;
  /** The arguments of the program. Default: none. */
  readonly args?: readonly string[];
  /** The checks of the program at each wire API. Default: {@link frameworkChecks}. */
  readonly checks?: readonly string[];
  /** Checks that fail because of the framework itself. */
  readonly limitations?: readonly Limitation[];
}

/** Checks that fail at a wire API because of the framework itself. */
export interface Limitation {
  readonly api: WireApi;
  readonly checks: readonly string[];
  /** What the failures say. A failure that says something else is not this one. */
  readonly error: string;
  /** The reason, for the table. */
  readonly reason: string;
}

/** The checks of a framework at each wire API. */
export const frameworkChecks: readonly string[] = [
  "tools",
  "stream",
  "structured_output",
  "second_turn",
  "stream_failure",
];

/** The folder of these tests. */
export const frameworksFolder = fileURLToPath(new URL("../", import.meta.url));

/** The lock file of a framework, with the versions and hashes of everything that it needs. */
export function getLockFile({ folder, language }: Pick<Framework, "folder" | "language">): string {
  const name = language === "python" ? "requirements.txt" : "package-lock.json";
  return `${frameworksFolder}${folder}/${name}`;
}

/** Reads the version of the framework from its lock file. */
export function readVersion(framework: Framework): string {
  const lock = readFileSync(getLockFile(framework), "utf8");
  const version =
    framework.language === "python"
      ? new RegExp(`^${framework.package}==(\\S+)`, "m").exec(lock)?.[1]
      : JSON.parse(lock).packages[`node_modules/${framework.package}`]?.version;
  if (typeof version !== "string")
    throw new Error(`${getLockFile(framework)} has no version of ${framework.package}`);
  return version;
}
