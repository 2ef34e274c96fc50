/** Servers that send unused fields, or fields in another form than OpenAI's. */
import { describe, expect, it } from "vitest";
import { assistantMessage, textOf, userMessage } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { type ContentPart, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason as Reason, type Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { Wire } from "./reading.ts";
import { chunk, decodeEvents, getFinal, respond, responseJson, sent, toMessages } from "./support.ts";

/** The answer with a message, read as a whole and as a stream of one delta, which must give the same. */
async function answerWith(message: object, finish = "stop"): Promise<Response> {
  const whole = respond({
    id: "chat_1",
    model: "model-1",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  });
  const streamed = await decodeEvents([chunk(message), chunk({}, finish), "[DONE]"]);
  expect(responseJson(getFinal(streamed))).toEqual(responseJson(whole));
  return whole;
}

function getContent({ message }: Response): ContentPart["part"][] {
  return (message?.content ?? []).map(({ part }) => part);
}

/** The message of an answer as the next request has it. */
async function sentBack(response: Response): Promise<Wire | undefined> {
  const history = [userMessage("hi"), response.message ?? assistantMessage(""), userMessage("go on")];
  const { body } = await sent({ messages: history });
  return toMessages(body).find(({ role }) => role === "assistant");
}

const look = { id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"sea"}' } };

describe("a tool call", () => {
  const expected = {
    case: "toolCall",
    value: { id: "call_1", name: "look", input: { case: "argumentsJson", value: '{"at":"sea"}' } },
  };

  it.each<[string, object]>([
    ["an empty function_call", { tool_calls: [look], function_call: { name: "", arguments: "" } }],
    ["a function_call without fields", { tool_calls: [look], function_call: {} }],
    ["a function_call of null", { tool_calls: [look], function_call: null }],
    ["the same call in function_call", { tool_calls: [look], function_call: look.function }],
    ["an empty custom tool", { tool_calls: [{ ...look, custom: { name: "", input: "" } }] }],
    ["a custom tool of null", { tool_calls: [{ ...look, custom: null }] }],
    ["an empty custom tool and no type", { tool_calls: [{ ...look, custom: {}, type: undefined }] }],
    ["the type of a custom tool by mistake", { tool_calls: [{ ...look, type: "custom" }] }],
    ["no others and not in a list (TGI)", { tool_calls: look }],
    ["an index of null", { tool_calls: [{ ...look, index: null }] }],
    ["empty audio and no images", { tool_calls: [look], audio: null, images: null, annotations: null }],
  ])("is read in addition to %s", async (_, message) => {
    const response = await answerWith({ content: null, ...message }, "tool_calls");
    expect(getContent(response)).toMatchObject([expected]);
    expect(response.finishReason).toMatchObject({ reason: Reason.TOOL_CALLS });
  });

  it("of a custom tool is read alongside an empty function", async () => {
    const custom = { name: "shell", input: "ls" };
    const entry = { id: "call_1", type: "custom", custom, function: { name: "", arguments: "" } };
    expect(getContent(await answerWith({ tool_calls: [entry] }, "tool_calls"))).toMatchObject([
      { case: "toolCall", value: { name: "shell", input: { case: "text", value: "ls" } } },
    ]);
  });

  it("of a custom tool keeps its kind if its type comes before its name", async () => {
    const pieces = [
      { index: 0, id: "call_1", type: "custom", function: { name: "", arguments: "" } },
      { index: 0, custom: { name: "shell", input: "l" }, function: { name: "", arguments: "" } },
      { index: 0, custom: { name: "", input: "s" }, function: { name: "", arguments: "" } },
    ];
    const deltas = pieces.map((piece) => chunk({ tool_calls: [piece] }));
    const streamed = getFinal(await decodeEvents([...deltas, chunk({}, "tool_calls"), "[DONE]"]));
    expect(getContent(streamed)).toMatchObject([
      { case: "toolCall", value: { name: "shell", input: { case: "text", value: "ls" } } },
    ]);
  });

  it.each<[string, object]>([
    ["an empty function_call", { function_call: { name: "", arguments: "" } }],
    ["tool_calls of null", { tool_calls: null }],
    ["an empty list of tool_calls", { tool_calls: [] }],
    ["a tool call without content", { tool_calls: [{}] }],
    ["a tool call of null", { tool_calls: [null] }],
    ["audio of empty values", { audio: { id: "", data: "", transcript: "", expires_at: 0 } }],
  ])("is not read from %s, which does not end reasoning either", async (_, fields) => {
    const empty = { content: "", reasoning_content: "", ...fields };
    const events = [
      chunk({ ...empty, reasoning_content: "Let " }),
      chunk({ ...empty, reasoning_content: "me see" }),
      chunk({ ...empty, content: "Yes" }),
      chunk(empty, "stop"),
      "[DONE]",
    ];
    const response = getFinal(await decodeEvents(events));
    expect(getContent(response)).toMatchObject([
      { case: "reasoning", value: { text: "Let me see" } },
      { case: "text", value: "Yes" },
    ]);
    expect(response.finishReason).toMatchObject({ reason: Reason.STOP });
  });

  it.each([
    ["its name", { name: "look" }],
    ["a part of its arguments", { name: "look", arguments: '{"at' }],
  ])("has started the output if the stream is cut after %s", async (_, called) => {
    const { events, error } = await decodeEvents([
      chunk({ tool_calls: [{ index: 0, id: "call_1", function: called }] }),
    ]);
    expect(error).toMatchObject({ kind: ErrorKind.STREAM, outputStarted: true });
    expect(events.at(-1)?.event).toMatchObject({ case: "error" });
  });

  it("has not started the output if the stream is cut after an empty entry", async () => {
    const { error } = await decodeEvents([chunk({ tool_calls: [{ index: 0, id: "call_1" }] })]);
    expect(error).toMatchObject({ kind: ErrorKind.STREAM, outputStarted: false });
  });
});

describe("content that is not a text", () => {
  it.each<[string, unknown, string]>([
    ["a JSON object", { city: "Paris", days: [1, 2] }, '{"city":"Paris","days":[1,2]}'],
    ["an empty JSON object", {}, "{}"],
    ["a JSON list", [{ city: "Paris" }, 2], '[{"city":"Paris"},2]'],
    ["a number", 42, "42"],
    ["a boolean", false, "false"],
  ])("is the JSON text if it is %s", async (_, content, text) => {
    const response = await answerWith({ content });
    expect(getContent(response)).toMatchObject([{ case: "text", value: text }]);
    expect(await sentBack(response)).toEqual({ role: "assistant", content: text });
  });

  it("keeps every digit of its numbers", () => {
    const body = '{"choices":[{"message":{"content":{"id":12345678901234567890}},"finish_reason":"stop"}]}';
    expect(textOf(respond(body))).toBe('{"id":12345678901234567890}');
  });

  it("is joined if it is a list of texts and of null", async () => {
    const response = await answerWith({ content: [{ type: "text", text: "a" }, null, "b"] });
    expect(getContent(response)).toMatchObject([{ case: "text", value: "ab" }]);
  });

  it.each([[null], [""], [[]]])("is nothing if it is %j", async (content) => {
    expect(getContent(await answerWith({ content }))).toEqual([]);
  });
});

describe("audio", () => {
  it("keeps its id if later pieces have an empty one", async () => {
    const pieces = [{ id: "audio_1" }, { id: "", data: "AAAA", transcript: "Hi" }];
    const events = [...pieces.map((audio) => chunk({ audio })), chunk({}, "stop"), "[DONE]"];
    const response = getFinal(await decodeEvents(events));
    expect(await sentBack(response)).toMatchObject({ audio: { id: "audio_1" } });
  });

  it("goes back as its transcript if it has no id", async () => {
    const response = await answerWith({ content: null, audio: { id: "", data: "AAAA", transcript: "Hi" } });
    expect(getContent(response).map((part) => part.case)).toEqual(["native", "text"]);
    expect(await sentBack(response)).toEqual({ role: "assistant", content: "Hi" });
  });
});

describe("a thought signature on the message", () => {
  const extra_content = { google: { thought_signature: "c2ln" } };

  it.each<[string, object]>([
    ["in extra_content", { content: "Hi", extra_content }],
    ["beside the content", { content: "Hi", thought_signature: "c2ln" }],
    ["in reasoning_opaque", { content: "Hi", reasoning_opaque: "c2ln" }],
    ["of an answer that only calls a tool", { content: null, tool_calls: [look], extra_content }],
    ["of an answer without content", { content: "", extra_content }],
  ])("goes back %s", async (_, message) => {
    const response = await answerWith(message);
    const calls = "tool_calls" in message ? [{ role: Role.TOOL, toolCallId: "call_1", content: [] }] : [];
    const history = [userMessage("hi"), response.message ?? assistantMessage(""), ...calls];
    const { body } = await sent({ messages: history });
    const back = toMessages(body).find(({ role }) => role === "assistant");
    const content = ("content" in message && message.content) || null;
    expect(back).toEqual({ role: "assistant", ...message, content });
  });

  it("may be a list of reasoning items, which come one by one", async () => {
    const [first, second] = ["a", "b"].map((id) => ({ type: "reasoning", id, encrypted_content: id }));
    const events = [
      chunk({ content: "Hi", reasoning_items: [first] }),
      chunk({ content: "", reasoning_items: [second] }, "stop"),
      "[DONE]",
    ];
    const message = { role: "assistant", content: "Hi", reasoning_items: [first, second] };
    expect(await sentBack(getFinal(await decodeEvents(events)))).toEqual(message);
    expect(await sentBack(await answerWith(message))).toEqual(message);
  });

  it("may come in a separate piece at the end of a stream", async () => {
    const events = [chunk({ content: "Hi" }), chunk({ content: "", extra_content }, "stop"), "[DONE]"];
    const response = getFinal(await decodeEvents(events));
    expect(await sentBack(response)).toEqual({ role: "assistant", content: "Hi", extra_content });
  });

  it("does not go to another model", async () => {
    const response = await answerWith({ content: "Hi", extra_content });
    const history = [userMessage("hi"), response.message ?? assistantMessage(""), userMessage("on")];
    const { body } = await sent({ model: "model-2", messages: history });
    expect(toMessages(body)[1]).toEqual({ role: "assistant", content: "Hi" });
  });
});
