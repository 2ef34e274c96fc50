import { getHeapStatistics, setFlagsFromString } from "node:v8";

/**
 * Settings of the process that keep a loaded sidecar small. Node reads most settings when it starts, so a `serve`
 * without them restarts its process. The image sets them from the beginning.
 */

/** Options of Node. The last one keeps SIGUSR1 from opening the inspector, which can read every key. */
export const NODE_OPTIONS: readonly [string, ...string[]] = [
  // A young generation of at most 12 MB: a quarter less memory under load, for a few per cent more work.
  "--max-semi-space-size=4",
  // Calls in progress survive collections of so small a young generation, so V8 would soon create every message in the
  // old one, whose collections cost more: a tenth of the CPU of a stream, and 25 MB under load.
  "--no-allocation-site-pretenuring",
  "--disable-sigusr1",
];

/**
 * Variables of glibc's allocator. Two arenas instead of one for each thread. Blocks from 16 KiB on return to the system
 * one by one, instead of leaving holes: the memory in which V8 compiles (up to 32 KiB each, 50 MB after a load) and the
 * buffers of a read of the network (64 KiB). Linux maps at most 65,530 pieces of memory for a process; a quarter of
 * them may be such blocks.
 */
export const ALLOCATOR_VARIABLES: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_MAX_: "16384",
  MALLOC_MMAP_THRESHOLD_: "16384",
  MALLOC_TRIM_THRESHOLD_: "131072",
};

const YOUNG_GENERATION = /--max[-_]semi[-_]space[-_]size\b/;
const HEAP_GROWTH = /--heap[-_]growing[-_]percent\b/;

/** Smallest heap that leaves room for more garbage, in bytes: half of a container of 512 MiB. */
const LARGE_HEAP_BYTES = 256 * 2 ** 20;

/**
 * Replaces this process by one with the settings: same process id, arguments and open files. Returns if it already
 * has them, or runs with a young generation of the operator's choice, and if the system does not support it (Windows,
 * Node's permission model).
 */
export function restartWithSettings(): void {
  const { execPath, execArgv, argv, env } = process;
  if (YOUNG_GENERATION.test([...execArgv, env.NODE_OPTIONS].join(" "))) return;
  try {
    const args = [execPath, ...execArgv, ...NODE_OPTIONS, ...argv.slice(1)];
    process.execve?.(execPath, args, { ...ALLOCATOR_VARIABLES, ...env });
  } catch {
    // The sidecar serves anyway, with more memory.
  }
}

/**
 * Sets how far the old generation may grow before V8 collects it: 40 % in a small heap, in which each megabyte counts,
 * and 80 % in a larger one, which saves a tenth of the CPU of a stream. V8 reads this before each collection, so that
 * it can follow the heap without a restart. An operator's choice of either generation is kept.
 */
export function setHeapGrowth(): void {
  const options = [...process.execArgv, process.env.NODE_OPTIONS].join(" ");
  const withoutSettings = options.replaceAll(NODE_OPTIONS[0], "");
  if (HEAP_GROWTH.test(options) || YOUNG_GENERATION.test(withoutSettings)) return;
  const percent = getHeapStatistics().heap_size_limit < LARGE_HEAP_BYTES ? 40 : 80;
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}
