import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type Message, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { getFirstCallId, isIndexedId } from "../../../src/runs/store/bodies.ts";

function calling(...ids: string[]): Message {
  const text = { part: { case: "text", value: "hi" } } as const;
  const calls = ids.map((id) => ({ part: { case: "toolCall", value: { id, name: "f" } } as const }));
  return create(MessageSchema, { role: Role.ASSISTANT, content: [text, ...calls] });
}

describe("getFirstCallId()", () => {
  it.each<[string, boolean, Message | undefined, string | undefined]>([
    ["an answer with calls", true, calling("a", "b"), "a"],
    ["an answer without calls", true, calling(), undefined],
    ["an answer whose first call has no id", true, calling("", "b"), undefined],
    ["a message of the caller", false, calling("a"), undefined],
    ["no message", true, undefined, undefined],
  ])("finds for %s the id by which it is found again", (_name, output, message, id) => {
    expect(getFirstCallId({ output, message })).toBe(id);
  });
});

it.each([
  ["a", true],
  ["", false],
  ["a\0b", false],
  ["a".repeat(10_000), false],
])("tells whether messages are found by an id", (id, isIndexed) => {
  expect(isIndexedId(id)).toBe(isIndexed);
});
