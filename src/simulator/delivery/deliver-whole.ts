import { setTimeout as sleep } from "node:timers/promises";
import type { ModelOptions } from "../model-options.ts";
import type { BodyWriter } from "./body-writer.ts";
import { longestTimer } from "./pace.ts";

/**
 * Sends the body of an answer that comes in one piece. The faults of events happen in the middle of it: it stalls, is cut
 * or ends after its first half, whatever the number of events.
 */
export async function deliverWhole(
  text: string,
  body: BodyWriter,
  options: ModelOptions,
  signal: AbortSignal,
): Promise<void> {
  const half = text.slice(0, Math.ceil(text.length / 2));
  if (options.cut_events !== undefined) {
    await body.write(half);
    await body.cut();
  }
  if (options.stall_after !== undefined) {
    await body.write(half);
    await sleep(longestTimer, undefined, { signal });
  }
  const isBroken = options.malformed_after !== undefined || options.end_without_terminal === true;
  await body.write(isBroken ? half : text);
  body.end();
}
