import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assistantMessage, userMessage } from "../../../src/core/message.ts";
import type { Message } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ToolCallIdAllocator } from "../../../src/kit/call/tool-call-id-allocator.ts";

function createHistory(...ids: string[]): Message[] {
  return ids.map((id) => assistantMessage({ part: { case: "toolCall", value: { id, name: "look" } } }));
}

describe("ToolCallIdAllocator.take()", () => {
  it.each([
    ["leaves ids that are free as they are", [], ["a", "b"], ["a", "b"]],
    ["numbers what the provider repeats", [], ["a", "a", "a"], ["a", "a_2", "a_3"]],
    ["makes ids where the provider gives none", [], ["", ""], ["call_1", "call_1_2"]],
    ["passes over ids of the conversation", ["a", "a_2"], ["a", "b"], ["a_3", "b"]],
    ["passes over ids that it made itself", [], ["a", "a", "a_2"], ["a", "a_2", "a_2_2"]],
    ["passes over made ids of an earlier turn", ["call_1"], [""], ["call_1_2"]],
  ])("%s", (_what, history, given, want) => {
    const ids = new ToolCallIdAllocator("inf_1", createHistory(...history));
    expect(given.map((id) => ids.take(id))).toEqual(want);
  });

  it("takes no other part of the conversation for a call", () => {
    expect(new ToolCallIdAllocator("inf_1", [userMessage("a")]).take("a")).toBe("a");
  });

  it("gives every call a unique id, the same ones for the same ids of the provider", () => {
    const id = fc.constantFrom("", "a", "a_2", "b", "call_r", "call_r_2");
    fc.assert(
      fc.property(fc.array(id), fc.array(id), (history, given) => {
        const [left, right] = [
          new ToolCallIdAllocator("r", createHistory(...history)),
          new ToolCallIdAllocator("r", createHistory(...history)),
        ];
        const taken = given.map((id) => left.take(id));
        expect(given.map((id) => right.take(id))).toEqual(taken);
        expect(new Set([...history, ...taken]).size).toBe(new Set(history).size + taken.length);
        expect(taken).not.toContain("");
      }),
      { seed: 17 },
    );
  });
});
