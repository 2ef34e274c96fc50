/** The figures of several rounds. */
import { getMedian, getSpread, type Spread } from "../measure/statistics.ts";
import { formatRatio, markdownTable } from "../report.ts";
import type { Figures } from "./part.ts";

/** The median of a figure over the rounds; NaN if no round has it. */
export function medianIn(rounds: readonly Figures[], label: string): number {
  return getMedian(rounds.flatMap((figures) => figures[label] ?? []));
}

/** A measured median for a table; empty if no round has it. */
export function formatMedian(rounds: readonly Figures[], label: string, decimals: number): string {
  const median = medianIn(rounds, label);
  return Number.isNaN(median) ? "" : median.toFixed(decimals);
}

/** The ratio of a figure to another one of the same round. */
export function ratioIn(rounds: readonly Figures[], label: string, other: string): Spread {
  return getSpread(rounds.map((figures) => (figures[label] ?? Number.NaN) / (figures[other] ?? Number.NaN)));
}

/**
 * Two programs as a table: the medians of their figures, and the ratios within each round.
 * @param base Rounds of the program that is compared with.
 * @param current Rounds of this checkout, as many.
 */
export function compareFigures(base: readonly Figures[], current: readonly Figures[]): string {
  const labels = [...new Set(current.flatMap((figures) => Object.keys(figures)))];
  const rows = labels.map((label) => {
    const medians = [base, current].map((rounds) => medianIn(rounds, label));
    return [label, ...formatFigures(medians), formatRatios(base, current, label)];
  });
  return markdownTable([["", "base", "this checkout", "this checkout / base"], ...rows]);
}

/** Empty if no ratio makes sense: one of the programs has no such figure, or it is 0. */
function formatRatios(base: readonly Figures[], current: readonly Figures[], label: string): string {
  const ratios = current.map((figures, round) => (figures[label] ?? 0) / (base[round]?.[label] ?? 0));
  const known = ratios.filter((ratio) => Number.isFinite(ratio) && ratio > 0);
  return known.length === 0 ? "" : formatRatio(getSpread(known));
}

/** Figures range from fractions of a millisecond to numbers of calls. */
function formatFigures(values: readonly number[]): string[] {
  const known = values.filter((value) => !Number.isNaN(value));
  const decimals = known.every((value) => Number.isInteger(value) || value >= 100) ? 0 : 2;
  return values.map((value) => (Number.isNaN(value) ? "" : value.toFixed(decimals)));
}
