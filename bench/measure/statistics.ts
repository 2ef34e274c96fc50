/** Returns the median; the mean of the two middle values if the number of values is even. NaN for an empty list. */
export function getMedian(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** A median and a range. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** The median, minimum and maximum of some numbers. */
export function getSpread(values: readonly number[]): Spread {
  return { median: getMedian(values), least: Math.min(...values), most: Math.max(...values) };
}
