/** Longest delay of a Node timer, in milliseconds. */
export const maxTimerMs = 2 ** 31 - 1;

/** Computes the times at which the tokens of an answer are due. */
export interface Pace {
  /** Milliseconds to wait after this many further tokens; 0 for no wait. */
  waitFor(tokens: number): number;
}

/** Shortest wait for which a timer is set, in milliseconds: tokens that are due sooner are sent together. */
const minWaitMs = 1;

/** Creates the pace of one answer, which starts now. Without a rate there are no waits. */
export function createPace(tokensPerSecond: number | undefined): Pace {
  if (tokensPerSecond === undefined) return { waitFor: () => 0 };
  const start = performance.now();
  let sent = 0;
  return {
    waitFor: (tokens) => {
      sent += tokens;
      const wait = start + (sent / tokensPerSecond) * 1000 - performance.now();
      return wait < minWaitMs ? 0 : wait;
    },
  };
}
