import type { Hold } from "./loop-watch.ts";

/** Throws if there are any. */
export function expectNoHolds(process: string, holds: readonly Hold[]): void {
  if (holds.length === 0) return;
  const lines = holds.map(
    ({ delayMs, computedMs, blockedMs }) =>
      `  ${round(delayMs)} ms: ${round(computedMs)} ms computing, ${round(blockedMs)} ms blocked`,
  );
  throw new Error(`the event loop of ${process} was held too long:\n${lines.join("\n")}`);
}

function round(ms: number): string {
  return ms.toFixed(0);
}
