import { setTimeout as sleep } from "node:timers/promises";
import type { ModelOptions } from "../model-options.ts";
import type { BodyWriter } from "./body-writer.ts";
import { maxTimerMs } from "./pace.ts";

/**
 * Sends the body of an answer that is not streamed. Faults that are counted in events apply to its middle: it stalls,
 * is cut or ends after its first half, whatever the number of events.
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
    await sleep(maxTimerMs, undefined, { signal });
  }
  const isBroken = options.malformed_after !== undefined || options.end_without_terminal === true;
  await body.write(isBroken ? half : text);
  body.end();
}
