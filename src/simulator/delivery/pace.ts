/** Longest delay that a timer of Node can have, in milliseconds. */
export const longestTimer = 2 ** 31 - 1;

/** Says how long the tokens of an answer take. */
export interface Pace {
  /** Milliseconds to wait after so many further tokens; 0 for not at all. */
  waitFor(tokens: number): number;
}

/** Shortest wait that is worth a timer: tokens that are due sooner leave together. */
const shortestWait = 1;

/** Creates the pace of one answer; its time begins now. An unset rate is as fast as can be. */
export function createPace(tokensPerSecond: number | undefined): Pace {
  if (tokensPerSecond === undefined) return { waitFor: () => 0 };
  const start = performance.now();
  let sent = 0;
  return {
    waitFor: (tokens) => {
      sent += tokens;
      const wait = start + (sent / tokensPerSecond) * 1000 - performance.now();
      return wait < shortestWait ? 0 : wait;
    },
  };
}
