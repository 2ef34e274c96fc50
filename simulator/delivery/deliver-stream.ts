import { setTimeout as sleep } from "node:timers/promises";
import type { ModelOptions } from "../model-options.ts";
import type { StreamedAnswer, WireEvent } from "../wire-format.ts";
import type { BodyWriter } from "./body-writer.ts";
import { breakJson } from "./break-json.ts";
import { createPace, maxTimerMs } from "./pace.ts";

/** Number of characters to collect before a write, if no wait is due. */
const batchSize = 16 * 1024;

/** One stream that is being sent. */
interface Delivery {
  readonly answer: StreamedAnswer;
  readonly body: BodyWriter;
  readonly options: ModelOptions;
  readonly signal: AbortSignal;
  /** Called for each event that is about to be written. */
  readonly onEvent: () => void;
  /** Events that have not been written yet. */
  pending: string;
}

/** The input of {@link deliverStream}. */
export type StreamDelivery = Omit<Delivery, "pending">;

/**
 * Sends a streamed answer: each event as it is rendered, at the pace and with the faults of the model string. Returns
 * when the body has ended. If the body was cut or the caller closed the connection, throws the error of the {@link
 * BodyWriter}.
 */
export async function deliverStream(parts: StreamDelivery): Promise<void> {
  const delivery: Delivery = { ...parts, pending: "" };
  const { options } = delivery;
  const pace = createPace(options.rate);
  const events = delivery.answer.events();
  for (let sent = 0; ; sent += 1) {
    // An interruption may insert numbered events, so the next event is rendered, and thereby numbered, after it.
    if (await interrupt(delivery, sent)) return;
    const { value: event } = events.next();
    if (event === undefined || (event.terminal && options.end_without_terminal === true)) break;
    await enqueue(delivery, options.malformed_after === sent ? breakJson(event.text) : event.text);
    await pause(delivery, pace.waitFor(event.tokens));
  }
  await flushPending(delivery);
  delivery.body.end();
}

/** Applies the faults that are due after this many events. Returns true when the answer ended with one. */
async function interrupt(delivery: Delivery, sent: number): Promise<boolean> {
  const { options } = delivery;
  if (options.cut_events === sent) {
    await flushPending(delivery);
    await delivery.body.cut();
  }
  if (options.stall_after === sent) await pause(delivery, Infinity);
  if (options.error_after !== sent) return false;
  for (const event of toFailure(delivery)) await enqueue(delivery, event.text);
  await flushPending(delivery);
  delivery.body.end();
  return true;
}

function toFailure(delivery: Delivery): readonly WireEvent[] {
  const { error_style: style = "event", error_code: code } = delivery.options;
  return delivery.answer.failure(style, code);
}

async function enqueue(delivery: Delivery, text: string): Promise<void> {
  delivery.onEvent();
  delivery.pending += text;
  if (delivery.pending.length >= batchSize) await flushPending(delivery);
}

async function flushPending(delivery: Delivery): Promise<void> {
  const text = delivery.pending;
  delivery.pending = "";
  if (text !== "") await delivery.body.write(text);
}

/** Waits, and sends keep-alives meanwhile if the model string asks for them. */
async function pause(delivery: Delivery, milliseconds: number): Promise<void> {
  if (milliseconds <= 0) return;
  await flushPending(delivery);
  const keepAliveMs = delivery.options.keepalive_ms;
  const step = keepAliveMs ?? maxTimerMs;
  for (let left = milliseconds; left > 0; left -= step) {
    await sleep(Math.min(left, step), undefined, { signal: delivery.signal });
    if (keepAliveMs !== undefined && left > step) await delivery.body.write(keepAliveText(delivery));
  }
}

function keepAliveText(delivery: Delivery): string {
  if (delivery.options.keepalive_style === "comment") return ": keepalive\n\n";
  const event = delivery.answer.keepAlive();
  if (event === undefined) return "";
  delivery.onEvent();
  return event.text;
}
