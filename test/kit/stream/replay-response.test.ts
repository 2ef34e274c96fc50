import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { type Response, ResponseSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { replayResponse } from "../../../src/kit/stream/replay-response.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import { factsFor } from "../../support/decode.ts";

const providerState = { provider: "sim", model: "m", dataJson: '{"id":"x"}' };

/** An answer with a part of every kind. */
const WHOLE: MessageInitShape<typeof ResponseSchema> = {
  id: "resp_1",
  model: "reported",
  provider: "sim",
  inferenceId: "inf_test",
  createdAt: { seconds: 0n, nanos: 0 },
  finishReason: { reason: 3, raw: "tool_calls" },
  usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3, reasoningTokens: 0 },
  rawJson: '{"id":"resp_1"}',
  providerRequestId: "req_of_the_body",
  message: {
    role: 3,
    content: [
      { part: { case: "reasoning", value: { text: "hm" } }, providerState },
      { part: { case: "reasoning", value: { text: "", redacted: true } }, providerState },
      { part: { case: "text", value: "Hi 😀" }, citations: [{ url: "https://example.com" }], providerState },
      { part: { case: "text", value: "" } },
      {
        part: {
          case: "toolCall",
          value: {
            id: "a",
            name: "look",
            input: { case: "argumentsJson", value: '{"x":1.0}' },
          },
        },
        providerState,
      },
      {
        part: {
          case: "toolCall",
          value: {
            id: "b",
            name: "look",
            input: { case: "argumentsJson", value: "{" },
            argumentsInvalid: true,
          },
        },
      },
      {
        part: {
          case: "toolCall",
          value: { id: "c", name: "run", input: { case: "text", value: "free {" } },
        },
      },
      {
        part: {
          case: "image",
          value: { mediaType: "image/png", source: { case: "data", value: Uint8Array.of(1) } },
        },
      },
      { part: { case: "native", value: { provider: "sim", kind: "search", dataJson: "{}" } }, providerState },
    ],
  },
};

function replayed(response: Response): StreamEvent[] {
  const writer = new StreamWriter(factsFor("sim", { model: "asked" }), () => 0);
  replayResponse(response, writer);
  expect(writer.ended).toBe(true);
  return writer.take();
}

function accumulated(events: readonly StreamEvent[]): Response {
  const accumulator = new StreamAccumulator();
  for (const event of events) accumulator.process(event);
  return accumulator.response();
}

describe("replayResponse()", () => {
  it("makes a stream that accumulates to the response", () => {
    const response = create(ResponseSchema, WHOLE);
    expect(accumulated(replayed(response))).toEqual(response);
    expect(response).toEqual(create(ResponseSchema, WHOLE));
  });

  it("brings every text in one delta, and none if there is none", () => {
    const deltas = replayed(create(ResponseSchema, WHOLE)).filter(({ event }) => event.case === "textDelta");
    expect(deltas.map(({ event }) => event.value)).toMatchObject([{ partIndex: 2, delta: "Hi 😀" }]);
  });

  it("makes a whole stream of an answer that says nothing", () => {
    const events = replayed(create(ResponseSchema, { model: "m" }));
    expect(events.map(({ event }) => event.case)).toEqual(["streamStart", "finish"]);
    expect(accumulated(events).finishReason).toMatchObject({ reason: 0, raw: "" });
    expect(accumulated(events).usage).toBeUndefined();
  });
});
