/** Streams whose caller gets the provider's bytes: deltas that come together are one event. */
import { describe, expect, it, vi } from "vitest";
import { AnswerRelay } from "../../../src/core/answer-relay.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { DEFAULT_ANSWER_LIMITS } from "../../../src/kit/call/answer-limits.ts";
import { decodeStream } from "../../../src/kit/stream/decode-stream.ts";
import { EventRelay } from "../../../src/kit/stream/event-relay.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import { readers } from "../../providers/support/recorded-answers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";

type Event = StreamEvent["event"];

/** The delta of an event. */
function getDelta(event: Event | undefined): { readonly partIndex: number; delta: string } | undefined {
  switch (event?.case) {
    case "textDelta":
    case "reasoningDelta":
    case "toolCallDelta":
      return event.value;
    default:
      return undefined;
  }
}

/** The events without their numbers, and neighbouring deltas of one part as one. */
function toContent(events: readonly StreamEvent[]): Event[] {
  const content: Event[] = [];
  for (const { event } of structuredClone(events)) {
    const [last, delta] = [getDelta(content.at(-1)), getDelta(event)];
    if (last !== undefined && last.partIndex === delta?.partIndex) last.delta += delta.delta;
    else content.push(event);
  }
  return content;
}

/** Cuts bytes into pieces of these lengths in turn. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieces.at(-1)?.length ?? 0)
    pieces.push(bytes.subarray(at, at + (lengths[pieces.length % lengths.length] ?? 1)));
  return pieces;
}

describe.each(Object.entries(readers))("A recorded stream of %s", (name, { folder, decoder }) => {
  it.each(getRecordings(folder, ".sse"))(
    "has the same content and answer with fewer events, and all of its bytes: $file",
    async (recording) => {
      const bytes = toBytes(recording);
      const single = await decode([bytes], factsFor(name, { model: "m" }), decoder);
      for (const chunks of [[bytes], cut(bytes, [700, 1300]), cut(bytes, [4096, 1, 90])]) {
        const target = new AnswerRelay();
        const relay = new EventRelay(target, { reportsFailure: () => false }, (each) => each);
        const joined = await decode(chunks, factsFor(name, { model: "m" }), decoder, relay);
        expect(toContent(joined.events)).toEqual(toContent(single.events));
        expect(joined.events.length).toBeLessThanOrEqual(single.events.length);
        expect(String(joined.error)).toBe(String(single.error));
        expect(bytes.indexOf(target.take())).toBe(0);
      }
    },
  );
});

describe("the limit of a relayed stream", () => {
  const toEvent = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const chunk = Buffer.from(
    `${Array.from({ length: 50 }, (_, index) => toEvent({ content: `${index} ` })).join("")}${toEvent({}, "stop")}data: [DONE]\n\n`,
  );

  /** Reads a stream of 52 events, 49 of which are read as deltas in a row. */
  async function read(maxEvents: number): Promise<number> {
    const facts = factsFor("local", { model: "m" });
    const writer = new StreamWriter(facts, () => 0);
    writer.joinsDeltas = true;
    const relay = new EventRelay(new AnswerRelay(), { reportsFailure: () => false }, (each) => each);
    const limits = { ...DEFAULT_ANSWER_LIMITS, maxEvents };
    async function* body() {
      yield chunk;
    }
    let events = 0;
    const stream = decodeStream(body(), readers.compatible.decoder(facts, writer), writer, { relay, limits });
    for await (const batch of stream) events += batch.length;
    return events;
  }

  it("counts each event of deltas in a row", async () => {
    expect(await read(52)).toBeLessThan(20);
    await expect(read(50)).rejects.toThrow("more than 50 events");
  });
});

describe("a stream of more than a megabyte", () => {
  const toEvent = (choice: object) =>
    `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, ...choice }] })}\n\n`;
  const chunk = Buffer.from(toEvent({ delta: { content: "x".repeat(900) } }).repeat(1200));
  const end = Buffer.from(`${toEvent({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`);

  async function read(maxJsonValues: number): Promise<{ parsed: number; text: string }> {
    const facts = factsFor("local", { model: "m" });
    const writer = new StreamWriter(facts, () => 0);
    const decoder = readers.compatible.decoder(facts, writer);
    const push = vi.spyOn(decoder, "push");
    async function* body() {
      yield chunk;
      yield chunk;
      yield end;
    }
    const limits = { ...DEFAULT_ANSWER_LIMITS, maxJsonValues };
    let text = "";
    for await (const batch of decodeStream(body(), decoder, writer, { limits }))
      for (const { event } of batch) text += getDelta(event)?.delta ?? "";
    return { parsed: push.mock.calls.length, text };
  }

  it("has its deltas read from the bytes", async () => {
    const { parsed, text } = await read(1_000_000);
    expect(text).toBe("x".repeat(900 * 2400));
    // An event is parsed after each 64 KiB of text.
    expect(parsed).toBeLessThan(50);
  });

  it("has their JSON values counted", async () => {
    // Seven for each delta, 16,800 in all; a stream may have four times the limit of a whole answer.
    await expect(read(4_000)).rejects.toThrow("more than 16000 JSON values");
    expect((await read(4_300)).text.length).toBe(900 * 2400);
  });
});
