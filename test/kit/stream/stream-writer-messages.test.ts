/** The writer makes its most frequent messages without `create`; they equal those that `create` makes. */
import { inspect } from "node:util";
import { create, isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { FinishReason_Reason, FinishReasonSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import {
  ProviderEventSchema,
  ReasoningDeltaSchema,
  type StreamEvent,
  StreamEventSchema,
  TextDeltaSchema,
  ToolCallDeltaSchema,
} from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import { factsFor } from "../../support/decode.ts";

/** A stream with every kind of event but `error`, whose message is made elsewhere. */
function writtenEvents(): StreamEvent[] {
  const writer = new StreamWriter(factsFor("sim", { model: "m" }), () => 0);
  writer.start("m");
  const thinking = writer.startReasoning();
  thinking.append("hm");
  const text = writer.startText();
  text.append("Hello");
  writer.providerEvent("ping", "{}");
  const call = writer.startToolCall({ id: "call_1", name: "look" });
  call.append('{"at":"it"}');
  for (const block of [thinking, text, call]) block.end();
  const finishReason = create(FinishReasonSchema, { reason: FinishReason_Reason.STOP, raw: "stop" });
  writer.finish({ id: "1", model: "m", finishReason, usage: undefined, rawJson: "" });
  return writer.take();
}

/** The fields of a message without the name of its type, all the way down. */
function toFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toFields);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "$typeName");
  return Object.fromEntries(entries.map(([key, field]) => [key, toFields(field)]));
}

describe("the writer's messages", () => {
  it("have the fields that create() gives them, in its order", () => {
    for (const event of writtenEvents()) {
      const made = create(StreamEventSchema, toFields(event) as MessageInitShape<typeof StreamEventSchema>);
      expect(event).toStrictEqual(made);
      expect(inspect(event, { depth: null })).toBe(inspect(made, { depth: null }));
    }
  });

  it.each([
    ["textDelta", TextDeltaSchema],
    ["reasoningDelta", ReasoningDeltaSchema],
    ["toolCallDelta", ToolCallDeltaSchema],
    ["providerEvent", ProviderEventSchema],
  ] as const)("have the type that their name says (%s)", (kind, schema) => {
    const found = writtenEvents().find(({ event }) => event.case === kind);
    expect(isMessage(found, StreamEventSchema)).toBe(true);
    expect(isMessage(found?.event.value, schema)).toBe(true);
  });
});
