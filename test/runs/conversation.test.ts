import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { assistantMessage, toolResult, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { validateRequest } from "../../src/client/validate.ts";
import { InvalidRequestError } from "../../src/core/errors.ts";
import { type Message, MessageSchema, Role, RoleSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { ToolApprovalSchema } from "../../src/gen/outrigger/v1/run_pb.ts";
import {
  answeredIds,
  composeConversation,
  openCallIds,
  refusedResult,
  withRunFields,
} from "../../src/runs/conversation.ts";

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
    const { messages, added, warnings } = composeConversation({
      ...nothing,
      history,
      input: [userMessage("x")],
    });
    expect(outline(messages)).toEqual(["USER", "ASSISTANT", "result a", "result b", "USER"]);
    expect(added).toMatchObject([{ toolCallId: "b", failed: true }]);
    expect(warnings).toMatchObject([{ message: expect.stringContaining(`"b"`) }]);
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
    const { added, approved, warnings, messages } = composeConversation(parts);
    expect(added).toMatchObject([{ toolCallId: "b", content: [{ part: { value: "too dangerous" } }] }]);
    expect(approved).toMatchObject([{ id: "a" }]);
    expect(warnings).toEqual([]);
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

describe("withRunFields()", () => {
  const { messages } = composeConversation({
    ...nothing,
    history: [userMessage("hi"), assistantMessage("hello")],
    input: [userMessage("and"), userMessage("more")],
  });

  /** The field that is reported to the caller of the run. */
  function rename(field: string, system = "Be brief."): string | undefined {
    const error = new InvalidRequestError("wrong", { violations: [{ field, description: "wrong" }] });
    const fields = { system, conversation: { messages }, inputPath: "options.request.messages" };
    return withRunFields(error, fields).violations[0]?.field;
  }

  it.each([
    ["messages[0].content", "options.system"],
    ["messages[1]", "previous_run_id"],
    ["messages[2].content[0]", "previous_run_id"],
    ["messages[3].content[0]", "options.request.messages[0].content[0]"],
    ["messages[4]", "options.request.messages[1]"],
    ["request", "options.request"],
    ["temperature", "options.request.temperature"],
    ["mcp_servers", "mcp_servers"],
    ["mcp_servers[1].server_url", "mcp_servers[1].server_url"],
    ["mcp_servers_x", "options.request.mcp_servers_x"],
  ])("names %s as the caller of the run knows it: %s", (field, expected) => {
    expect(rename(field)).toBe(expected);
  });

  it("has no system message if there is none", () => {
    expect(rename("messages[0]", "")).toBe("previous_run_id");
    expect(rename("messages[2]", "")).toBe("options.request.messages[0]");
  });
});

describe("the calls of messages", () => {
  it("are open until a message has their results", () => {
    const messages = [calling("a", "b"), toolResult("a", 1), calling("c"), userMessage("x")];
    expect(openCallIds(messages)).toEqual(["b", "c"]);
    const old = create(MessageSchema, { role: Role.TOOL, toolCallId: "b" });
    expect(openCallIds([...messages, old])).toEqual(["c"]);
    expect(answeredIds(old)).toEqual(["b"]);
  });

  it("are answered by the results in a message of a tool only", () => {
    const disguised = create(MessageSchema, { ...toolResult("a", 1), role: Role.USER });
    expect(openCallIds([calling("a"), disguised])).toEqual(["a"]);
  });

  it("are refused with a reason", () => {
    const refused = (reason: string) =>
      refusedResult(create(ToolApprovalSchema, { toolCallId: "a", reason })).content[0]?.part.value;
    expect([refused("not now"), refused("")]).toEqual(["not now", "the user refused this call"]);
  });
});
