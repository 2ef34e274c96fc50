import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { ObjectFormat } from "../../../src/generation/objects/object-format.ts";
import { PartialObjectReader } from "../../../src/generation/objects/object-stream.ts";

const format: ObjectFormat = {
  schemaJson: '{"type":"object"}',
  schema: { type: "object" },
  name: "person",
  description: "",
  strategy: "native",
};

type Event = NonNullable<MessageInitShape<typeof StreamEventSchema>["event"]>;

function toEvent(event: Event): StreamEvent {
  return create(StreamEventSchema, { event });
}

function text(delta: string): StreamEvent {
  return toEvent({ case: "textDelta", value: { partIndex: 0, delta } });
}

describe("PartialObjectReader", () => {
  it("gives a copy for each arrival that changed the object", () => {
    const reader = new PartialObjectReader(format);
    const pieces = ['{"na', 'me":"A', 'nn","age"', ":3", "0}"];
    const copies = pieces.map((piece) => reader.push([text(piece)]));
    expect(copies).toEqual([{}, { name: "A" }, { name: "Ann" }, undefined, { name: "Ann", age: 30 }]);
  });

  it("reads past a code fence", () => {
    const reader = new PartialObjectReader(format);
    expect(reader.push([text("Here it is:\n```json\n"), text('{"a":1}'), text("\n```")])).toEqual({ a: 1 });
  });

  it("reads the arguments of the tool that stands for the object, and no other text", () => {
    const reader = new PartialObjectReader({ ...format, strategy: "tool" });
    const start = (partIndex: number, name: string) =>
      toEvent({ case: "toolCallStart", value: { partIndex, id: `call-${partIndex}`, name } });
    const delta = (partIndex: number, piece: string) =>
      toEvent({ case: "toolCallDelta", value: { partIndex, delta: piece } });
    expect(reader.push([text('{"no":1}'), start(1, "other"), delta(1, '{"no":2}')])).toBeUndefined();
    expect(reader.push([start(2, "person"), delta(2, '{"yes":'), delta(2, "1}")])).toEqual({ yes: 1 });
  });

  it("copies in proportion to the text, however many pieces it comes in", () => {
    const reader = new PartialObjectReader(format, () => 0);
    const long = JSON.stringify({ list: Array.from({ length: 4000 }, (_, index) => `item ${index}`) });
    let copies = 0;
    let bytes = 0;
    for (let at = 0; at < long.length; at += 8) {
      const copy = reader.push([text(long.slice(at, at + 8))]);
      if (copy === undefined) continue;
      copies += 1;
      bytes += JSON.stringify(copy).length;
    }
    expect(copies).toBeGreaterThan(50);
    expect(copies).toBeLessThan(200);
    expect(bytes).toBeLessThan(20 * long.length);
  });

  it("gives a copy after a while, however little the text has grown", () => {
    let now = 0;
    const reader = new PartialObjectReader(format, () => now);
    reader.push([text(`{"text":"${"x".repeat(1000)}`)]);
    expect(reader.push([text("y")])).toBeUndefined();
    now = 300;
    expect(reader.push([text("z")])).toMatchObject({ text: expect.stringMatching(/xyz$/) });
  });
});
