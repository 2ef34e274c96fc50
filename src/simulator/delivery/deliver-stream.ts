import { setTimeout as sleep } from "node:timers/promises";
import type { ModelOptions } from "../model-options.ts";
import type { StreamedAnswer, WireEvent } from "../wire-format.ts";
import type { BodyWriter } from "./body-writer.ts";
import { breakJson } from "./break-json.ts";
import { createPace, longestTimer } from "./pace.ts";

/** Characters that are gathered before they are written, where nothing is to be waited for. */
const batchSize = 16 * 1024;

/** One stream under way. */
interface Delivery {
  readonly answer: StreamedAnswer;
  readonly body: BodyWriter;
  readonly options: ModelOptions;
  readonly signal: AbortSignal;
  /** Called for each event that is about to be written. */
  readonly onEvent: () => void;
  /** Events that wait to be written. */
  waiting: string;
}

/** What a stream is delivered with. */
export type StreamDelivery = Omit<Delivery, "waiting">;

/**
 * Sends a streamed answer: events as they are drawn, at the pace and with the faults of the model string. Returns when the
 * body has ended; throws what the {@link BodyWriter} throws when it was cut or the peer closed.
 */
export async function deliverStream(parts: StreamDelivery): Promise<void> {
  const delivery: Delivery = { ...parts, waiting: "" };
  const { options } = delivery;
  const pace = createPace(options.rate);
  const events = delivery.answer.events();
  for (let sent = 0; ; sent += 1) {
    // What interrupts the stream has numbers of its own, so the next event is drawn, and thereby numbered, after it.
    if (await interrupt(delivery, sent)) return;
    const { value: event } = events.next();
    if (event === undefined || (event.terminal && options.end_without_terminal === true)) break;
    await put(delivery, options.malformed_after === sent ? breakJson(event.text) : event.text);
    await pause(delivery, pace.waitFor(event.tokens));
  }
  await writeWaiting(delivery);
  delivery.body.end();
}

/** Does what the model string wants after so many events. Returns true when the answer has ended with it. */
async function interrupt(delivery: Delivery, sent: number): Promise<boolean> {
  const { options } = delivery;
  if (options.cut_events === sent) {
    await writeWaiting(delivery);
    await delivery.body.cut();
  }
  if (options.stall_after === sent) await pause(delivery, Infinity);
  if (options.error_after !== sent) return false;
  for (const event of failureOf(delivery)) await put(delivery, event.text);
  await writeWaiting(delivery);
  delivery.body.end();
  return true;
}

function failureOf(delivery: Delivery): readonly WireEvent[] {
  const { error_style: style = "event", error_code: code } = delivery.options;
  return delivery.answer.failure(style, code);
}

async function put(delivery: Delivery, text: string): Promise<void> {
  delivery.onEvent();
  delivery.waiting += text;
  if (delivery.waiting.length >= batchSize) await writeWaiting(delivery);
}

async function writeWaiting(delivery: Delivery): Promise<void> {
  const text = delivery.waiting;
  delivery.waiting = "";
  if (text !== "") await delivery.body.write(text);
}

/** Waits so long, with signs of life on the way where the model string wants them. */
async function pause(delivery: Delivery, milliseconds: number): Promise<void> {
  if (milliseconds <= 0) return;
  await writeWaiting(delivery);
  const beat = delivery.options.keepalive_ms;
  const step = beat ?? longestTimer;
  for (let left = milliseconds; left > 0; left -= step) {
    await sleep(Math.min(left, step), undefined, { signal: delivery.signal });
    if (beat !== undefined && left > step) await delivery.body.write(signOfLife(delivery));
  }
}

function signOfLife(delivery: Delivery): string {
  if (delivery.options.keepalive_style === "comment") return ": keepalive\n\n";
  const event = delivery.answer.keepAlive();
  if (event === undefined) return "";
  delivery.onEvent();
  return event.text;
}
