/**
 * How slow the machine is at the moment. A limit on the time of a computation holds for one machine: on another, or
 * alongside a neighbor on the same core, the same work takes several times as long.
 */

/** Time that the sample takes on the machine for which limits were chosen, in milliseconds. */
const SAMPLE_MS = 2.4;

/** Samples of one measurement. The median counts. */
const SAMPLES = 5;

const bytes = Buffer.alloc(256 * 1024, "a text of an answer ");

/** Passes over bytes and copies them, as a sidecar does. Returns a value, so that it is not skipped. */
function runSample(): number {
  let sum = 0;
  for (let pass = 0; pass < 4; pass++) {
    for (let index = 0; index < bytes.length; index++) sum = (sum * 31 + (bytes[index] ?? 0)) | 0;
    sum += bytes.toString("utf8").length;
  }
  return sum;
}

function timeSample(): number {
  const start = process.threadCpuUsage();
  runSample();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1e3;
}

/** Compiles the sample, so that a later measurement is not of its compilation. */
export function prepareSlowness(): void {
  for (let count = 0; count < 20; count++) runSample();
}

/** Returns how many times as long as on an idle machine a computation takes now. At least 1. */
export function measureSlowness(): number {
  const times = Array.from({ length: SAMPLES }, timeSample).sort((a, b) => a - b);
  return Math.max(1, (times[Math.floor(SAMPLES / 2)] ?? 0) / SAMPLE_MS);
}
