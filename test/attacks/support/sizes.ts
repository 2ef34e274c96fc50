const LARGE = { name: "a heap of 512 MiB", heapMiB: 512, maxPeakMiB: Number.POSITIVE_INFINITY };

/** The image gives half of the container's memory to the heap. */
const SMALL = { name: "a container of 256 MiB", heapMiB: 128, maxPeakMiB: 256 };

/** The processes against which attacks run. `ATTACK_SIZES=small`: only the one that is easier to fill. */
export const SIZES = process.env.ATTACK_SIZES === "small" ? [SMALL] : [LARGE, SMALL];
