import { getHeapStatistics } from "node:v8";
import { getMemoryLimits, type MemoryLimits } from "../../core/memory-account.ts";

/** Limits that depend on the memory of the process. */
export interface HeapLimits extends MemoryLimits {
  /** Calls that are served at once. Default: one for each 256 KiB of the heap. */
  readonly maxCalls: number;
}

/** Heap for a call with all its data, the provider's connection included. */
const HEAP_BYTES_PER_CALL = 256 * 1024;

/** Returns limits that fit a heap. */
export function getHeapLimits(heapBytes: number = getHeapStatistics().heap_size_limit): HeapLimits {
  return { ...getMemoryLimits(heapBytes), maxCalls: Math.floor(heapBytes / HEAP_BYTES_PER_CALL) };
}
