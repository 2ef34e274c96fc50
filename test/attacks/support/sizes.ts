/** The processes that every attack is run against. */
export const SIZES = [
  { name: "a heap of 512 MiB", heapMiB: 512, maxPeakMiB: Number.POSITIVE_INFINITY },
  // The image gives half of the container's memory to the heap.
  { name: "a container of 256 MiB", heapMiB: 128, maxPeakMiB: 256 },
] as const;
