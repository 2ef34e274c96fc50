import { getHeapStatistics } from "node:v8";
import type { RequestMemoryLimits } from "./requests/request-memory.ts";

/** Limits that depend on the memory of the process. */
export interface MemoryLimits extends RequestMemoryLimits {
  /**
   * Bytes of responses that wait for their readers, in the whole process. Default: an eighth of the heap, at most 1 GiB.
   */
  readonly maxUnsentBytes: number;
}

/**
 * Share of the heap for requests, and for responses that are not read. A request is in memory several times while it is
 * translated and sent, the rest of the program needs some, and V8 some to collect garbage.
 */
const HEAP_SHARE = 1 / 8;

/** No more than that is needed on a machine with a lot of memory. */
const MAX_BYTES = 1024 * 1024 * 1024;

/** Heap for a call with everything that belongs to it, its provider's connection included. */
const HEAP_BYTES_PER_CALL = 256 * 1024;

/** Limits that fit a heap. */
export function memoryLimitsFor(heapBytes: number = getHeapStatistics().heap_size_limit): MemoryLimits {
  const bytes = Math.min(Math.floor(heapBytes * HEAP_SHARE), MAX_BYTES);
  return {
    maxRequestMemoryBytes: bytes,
    maxUnsentBytes: bytes,
    maxCalls: Math.floor(heapBytes / HEAP_BYTES_PER_CALL),
  };
}
