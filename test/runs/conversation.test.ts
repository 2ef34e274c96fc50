import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { assistantMessage, toolResult, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { validateRequest } from "../../src/client/validate.ts";
import { type Message, MessageSchema, Role, RoleSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { ToolApprovalSchema } from "../../src/gen/outrigger/v1/run_pb.ts";
import { answeredIds, composeConversation } from "../../src/runs/conversation.ts";

function calling(...ids: string[]): Message {
  const content = ids.map((id) => ({
    part: {
      case: "toolCall" as const,
      value: { id, name: "t", input: { case: "argumentsJson" as const, value: "{}" } },
    },
  }));
  return create(MessageSchema, { role: Role.ASSISTANT, content });
}

function outline(messages: readonly { readonly message: Message }[]): string[] {
  return messages.map(({ message }) =>
    message.role === Role.TOOL
      ? `result ${answeredIds(message)}`
      : (RoleSchema.value[message.role]?.localName ?? ""),
  );
}

const nothing = { history: [], input: [], approvals: [] };

describe("composeConversation()", () => {
  it("puts results behind their calls, whatever their order", () => {
    const history = [userMessage("hi"), calling("a", "b")];
    const input = [userMessage("by the way"), toolResult("b", 2), toolResult("a", 1)];
    const { messages, added } = composeConversation({ ...nothing, history, input });
    expect(outline(messages)).toEqual(["USER", "ASSISTANT", "result b", "result a", "USER"]);
    expect(messages.map(({ inputIndex }) => inputIndex)).toEqual([undefined, undefined, 1, 2, 0]);
    expect(added).toEqual([]);
  });

  it("gives unanswered calls of the history an error result", () => {
    const history = [userMessage("hi"), calling("a", "b"), toolResult("a", 1)];
    const { messages, added, unanswered } = composeConversation({
      ...nothing,
      history,
      input: [userMessage("x")],
    });
    expect(outline(messages)).toEqual(["USER", "ASSISTANT", "result a", "result b", "USER"]);
    expect(added).toMatchObject([{ toolCallId: "b", failed: true }]);
    expect(unanswered).toMatchObject([{ id: "b" }]);
  });

  it("leaves calls of the input without a result to the check of the request", () => {
    const { added, messages } = composeConversation({ ...nothing, input: [userMessage("hi"), calling("a")] });
    expect(added).toEqual([]);
    expect(outline(messages)).toEqual(["USER", "ASSISTANT"]);
  });

  it("refuses a call with the caller's reason, and leaves an approved one to be executed", () => {
    const approvals = [
      create(ToolApprovalSchema, { toolCallId: "a", approve: true }),
      create(ToolApprovalSchema, { toolCallId: "b", reason: "too dangerous" }),
    ];
    const parts = { ...nothing, history: [calling("a", "b")], approvals };
    const { added, approved, unanswered, messages } = composeConversation(parts);
    expect(added).toMatchObject([{ toolCallId: "b", content: [{ part: { value: "too dangerous" } }] }]);
    expect(approved).toMatchObject([{ id: "a" }]);
    expect(unanswered).toEqual([]);
    expect(outline(messages)).toEqual(["ASSISTANT", "result b"]);
    const result = toolResult("a", 1).content[0]?.part.value;
    if (typeof result !== "object" || !("toolCallId" in result)) throw new Error("expected a result");
    const whole = composeConversation(parts, new Map([["a", result]]));
    expect(outline(whole.messages)).toEqual(["ASSISTANT", "result a", "result b"]);
  });

  it("answers the latest of several calls with one id", () => {
    const history = [calling("a"), toolResult("a", 1), assistantMessage("ok"), calling("a")];
    const { messages, added } = composeConversation({ ...nothing, history, input: [toolResult("a", 2)] });
    expect(outline(messages)).toEqual(["ASSISTANT", "result a", "ASSISTANT", "ASSISTANT", "result a"]);
    expect(added).toEqual([]);
  });

  it("gives a conversation that every provider accepts, whichever calls of the history have results", () => {
    const turn = fc.record({
      calls: fc.integer({ min: 0, max: 4 }),
      answered: fc.integer({ min: 0, max: 15 }),
    });
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), (turns) => {
        const history = turns.flatMap(({ calls, answered }, index) => {
          const ids = Array.from({ length: calls }, (_, call) => `call_${index}_${call}`);
          const results = ids
            .filter((_, call) => (answered & (1 << call)) !== 0)
            .map((id) => toolResult(id, "x"));
          return [userMessage("hi"), ids.length === 0 ? assistantMessage("ok") : calling(...ids), ...results];
        });
        const { messages } = composeConversation({ ...nothing, history, input: [userMessage("next")] });
        const request = create(RequestSchema, {
          model: "m",
          messages: messages.map(({ message }) => message),
        });
        expect(() => validateRequest(request)).not.toThrow();
      }),
    );
  });
});
