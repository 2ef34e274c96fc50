/** CPU and memory of a process, from proc(5). Linux only. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** Microseconds of CPU that a process has used in all of its threads, in user and kernel mode. In steps of 10 ms. */
export function readCpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name before the closing parenthesis may contain any characters.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[UTIME]) + Number(fields[STIME]);
  return (ticks * 1_000_000) / TICKS_PER_SECOND;
}

// Places after the name; fields 14 and 15 of the manual page.
const UTIME = 11;
const STIME = 12;

/** Returns the memory that a process has in RAM (RSS), in MB of 1024 × 1024 bytes; NaN if it has ended. */
export function readResidentMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}

const SAMPLE_INTERVAL_MS = 100;

/**
 * Watches the memory of a process, ten times a second.
 * @returns A function that ends the watch and returns the maximum.
 */
export function watchResident(pid: number): () => number {
  let most = readResidentMb(pid);
  const look = () => {
    const now = readResidentMb(pid);
    if (now > most) most = now;
  };
  const timer = setInterval(look, SAMPLE_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    look();
    return most;
  };
}
