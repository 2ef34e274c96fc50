import { readFile } from "node:fs/promises";
import { arch, cpus, release, totalmem, type } from "node:os";
import { run } from "./processes.ts";

/** The machine of a run, as lines of text. */
export async function describeMachine(): Promise<string[]> {
  const go = await run({ file: "go", args: ["env", "GOVERSION"] });
  const memoryGb = totalmem() / 1024 ** 3;
  return [
    `${cpus().length} × ${cpus()[0]?.model ?? "unknown CPU"} (${arch()}), ${memoryGb.toFixed(0)} GB of memory`,
    `${type()} ${release()}, load ${(await loadAverage()).join(" ")} before the run`,
    `Node ${process.version}; callers and upstream in ${go.trim()}`,
  ];
}

async function loadAverage(): Promise<string[]> {
  return (await readFile("/proc/loadavg", "utf8")).split(" ").slice(0, 3);
}
