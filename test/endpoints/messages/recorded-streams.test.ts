/** Recorded answers of real providers as events: what Anthropic's SDK puts together is what a whole answer holds. */
import { MessageStream } from "@anthropic-ai/sdk/lib/MessageStream";
import { create } from "@bufbuild/protobuf";
import { toolCallsOf } from "outrigger";
import { describe, expect, it } from "vitest";
import { ServerError, StreamError } from "../../../src/core/errors.ts";
import { MessageWriter } from "../../../src/endpoints/messages/write-events.ts";
import { writeMessage } from "../../../src/endpoints/messages/write-response.ts";
import { FinishReason_Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { ColumnName } from "../../providers/support/columns.ts";
import { readers } from "../../providers/support/recorded-answers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { callEvents, textEvents } from "../responses/support/model-events.ts";

const names: readonly ColumnName[] = ["openai", "anthropic", "gemini", "compatible"];
const recordings = names.flatMap((name) =>
  getRecordings(readers[name].folder, ".sse").map((recording) => ({ name, recording, file: recording.file })),
);

interface WrittenEvent {
  readonly type: string;
  readonly index?: number;
}

function toEvents(text: string): WrittenEvent[] {
  return text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + "data: ".length)));
}

function writeAll(events: readonly StreamEvent[], anthropic = ""): WrittenEvent[] {
  const writer = new MessageWriter(anthropic);
  return toEvents(events.map((event) => writer.write([event])).join(""));
}

async function readWithSdk(
  events: readonly WrittenEvent[],
): Promise<{ content: object[]; stop_reason: unknown }> {
  const { body } = new Response(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  if (body === null) throw new Error("a response with text has a body");
  return (await MessageStream.fromReadableStream(body).finalMessage()) as never;
}

/** Checks that one block is open at a time, and that their indices count up. */
function expectBlocks(events: readonly WrittenEvent[]): void {
  let next = 0;
  let open: number | undefined;
  for (const { type, index } of events) {
    if (type === "content_block_start") {
      expect(open).toBeUndefined();
      expect(index).toBe(next);
      open = index;
    } else if (type === "content_block_delta") expect(index).toBe(open);
    else if (type === "content_block_stop") {
      expect(index).toBe(open);
      open = undefined;
      next += 1;
    }
  }
  expect(open).toBeUndefined();
}

/** Blocks without what the beginning of a streamed call cannot have yet, and the state that carries it instead. */
function comparable(content: readonly object[]): object[] {
  return content
    .map((block) => {
      const { caller: _, toolset: __, citations, ...rest } = block as Record<string, unknown>;
      return citations === undefined || citations === null ? rest : { ...rest, citations };
    })
    .filter((block) => !String(block.data ?? "").startsWith("or1."));
}

function getType(block: object): unknown {
  return "type" in block ? block.type : undefined;
}

describe("A recorded stream of a provider as events of the Messages API", () => {
  it.each(recordings)("is what the whole answer holds: $file", async ({ name, recording }) => {
    const anthropic = name === "anthropic" ? name : "";
    const facts = factsFor(name, { model: "asked-model" });
    const { events } = await decode([toBytes(recording)], facts, readers[name].decoder);
    const last = events.at(-1)?.event;
    if (last?.case !== "finish" || last.value.response === undefined) {
      // `fail` ends such a stream.
      expect(writeAll(events).map(({ type }) => type)).not.toContain("message_stop");
      return;
    }
    const { response } = last.value;
    if (response.finishReason?.reason === FinishReason_Reason.ERROR) {
      expect(() => writeAll(events)).toThrow(ServerError);
      expect(() => writeMessage(response, anthropic)).toThrow(ServerError);
      return;
    }
    const written = writeAll(events, anthropic);
    expect(written[0]?.type).toBe("message_start");
    expect(written.slice(-2).map(({ type }) => type)).toEqual(["message_delta", "message_stop"]);
    expectBlocks(written);
    const whole = JSON.parse(JSON.stringify(writeMessage(response, anthropic)));
    const read = await readWithSdk(written);
    const [got, wanted] = [comparable(read.content), comparable(whole.content)];
    expect(got.map(getType)).toEqual(wanted.map(getType));
    // The SDK makes what it can of an input that was cut.
    const isCut = toolCallsOf(response).some(({ argumentsInvalid }) => argumentsInvalid);
    if (!isCut) expect(got).toEqual(wanted);
    expect(read.stop_reason).toBe(whole.stop_reason);
  });

  it("writes interleaved parts one after the other", () => {
    const event = (init: Parameters<typeof create<typeof StreamEventSchema>>[1]) =>
      create(StreamEventSchema, init);
    const delta = (partIndex: number, text: string) =>
      event({ event: { case: "toolCallDelta", value: { partIndex, delta: text } } });
    const start = (partIndex: number) =>
      event({ event: { case: "toolCallStart", value: { partIndex, id: `c${partIndex}`, name: "f" } } });
    const end = (partIndex: number) => event({ event: { case: "toolCallEnd", value: { partIndex } } });
    const written = writeAll([
      start(0),
      start(1),
      delta(1, "{}"),
      delta(0, "["),
      end(1),
      delta(0, "]"),
      end(0),
    ]);
    expectBlocks(written);
    const deltas = written.flatMap((each) => ("delta" in each ? [each.delta] : []));
    expect(deltas.map((each) => (each as { partial_json: string }).partial_json)).toEqual(["[", "]", "{}"]);
  });

  it("begins a block of thinking without visible text when its signature is known", () => {
    const dataJson = JSON.stringify({ block: { type: "thinking", thinking: "", signature: "s" } });
    const providerState = { provider: "anthropic", model: "m", dataJson };
    const written = writeAll([
      create(StreamEventSchema, { event: { case: "reasoningStart", value: { partIndex: 0 } } }),
      create(StreamEventSchema, { event: { case: "reasoningEnd", value: { partIndex: 0, providerState } } }),
    ]);
    expect(written).toMatchObject([
      { type: "content_block_start", content_block: { type: "thinking", thinking: "", signature: "" } },
      { type: "content_block_delta", delta: { type: "signature_delta", signature: "s" } },
      { type: "content_block_stop" },
    ]);
  });

  it("has no block for a text without characters, as Anthropic", () => {
    const written = writeAll(callEvents([...textEvents(0), ...textEvents(1, "One."), ...textEvents(2)]));
    expect(written.slice(1, -2)).toMatchObject([
      { type: "content_block_start", index: 0 },
      { type: "content_block_delta", index: 0, delta: { text: "One." } },
      { type: "content_block_stop", index: 0 },
    ]);
  });

  it("ends with an error that names the failure", () => {
    const [error] = toEvents(new MessageWriter("").fail(new StreamError("the stream broke off")));
    expect(error).toEqual({ type: "error", error: { type: "api_error", message: "the stream broke off" } });
  });
});

it("Blocks that ended while an earlier one was open follow it, one after the other", () => {
  const [start, delta, end] = textEvents(0, "One.");
  const events = callEvents([
    ...[start, delta].filter((event) => event !== undefined),
    ...textEvents(1, "Two."),
    ...textEvents(2, "Three."),
    ...[end].filter((event) => event !== undefined),
    ...textEvents(3, "Four."),
  ]);
  const written = writeAll(events).map(({ type, index }) => `${type} ${index ?? ""}`);
  const block = (index: number) => ["start", "delta", "stop"].map((name) => `content_block_${name} ${index}`);
  expect(written.slice(1, -2)).toEqual([0, 1, 2, 3].flatMap(block));
});
