/** The watch over the event loops of the sidecars that a test starts as processes. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { Hold } from "./loop-watch.ts";

/** Tells a watched process to collect garbage. */
const COLLECT_SIGNAL = "SIGUSR2";

let folder: string | undefined;

/** Makes the processes that are started from now on watch their event loops. */
export async function startWatchingProcesses(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), "outrigger-loop-"));
  // As JavaScript, so that Node's compiler of types takes no memory in a sidecar whose memory is measured.
  await build({
    entryPoints: [fileURLToPath(new URL("./preload.ts", import.meta.url))],
    outfile: join(folder, "preload.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
  });
  await writeFile(join(folder, "report"), "");
}

/** Undoes `startWatchingProcesses`. */
export async function stopWatchingProcesses(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true });
  folder = undefined;
}

/** Options of Node for a process that is to be watched. Empty if tests of this file are not watched. */
export function getWatchOptions(): readonly string[] {
  if (folder === undefined) return [];
  const preload = pathToFileURL(join(folder, "preload.mjs"));
  preload.searchParams.set("report", join(folder, "report"));
  preload.searchParams.set("collect", COLLECT_SIGNAL);
  return ["--import", preload.href];
}

/**
 * Makes a watched process collect all garbage soon. V8 does it when a process has been idle for about ten seconds, but
 * not on every machine.
 */
export function collectGarbage(pid: number): void {
  process.kill(pid, COLLECT_SIGNAL);
}

/** Returns what processes reported since the last call. */
export async function takeHoldsOfProcesses(): Promise<Hold[]> {
  if (folder === undefined) return [];
  const report = join(folder, "report");
  const lines = (await readFile(report, "utf8")).split("\n").filter((line) => line !== "");
  await writeFile(report, "");
  return lines.map((line) => JSON.parse(line));
}
