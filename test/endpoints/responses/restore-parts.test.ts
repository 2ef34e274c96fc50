import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { toItemId } from "../../../src/endpoints/openai/ids.ts";
import { encodeOtherParts } from "../../../src/endpoints/responses/provider-state.ts";
import { type ContentPartSchema, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ThreadMessageSchema } from "../../../src/gen/outrigger/v1/thread_pb.ts";
import { read, toInput } from "./support/reading.ts";

type Part = MessageInitShape<typeof ContentPartSchema>;

const messageId = `msg_${"ab".repeat(18)}`;

function kept(...content: Part[]) {
  const message = create(MessageSchema, { role: Role.ASSISTANT, content });
  return { messages: [create(ThreadMessageSchema, { id: messageId, output: true, message })] };
}

function stateFor(provider: string, model: string, data: object) {
  return { provider, model, dataJson: JSON.stringify(data) };
}

function call(id: string, argumentsJson: string, providerState?: ReturnType<typeof stateFor>): Part {
  const part = {
    case: "toolCall",
    value: { id, name: "f", input: { case: "argumentsJson", value: argumentsJson } },
  } as const;
  return { part, ...(providerState && { providerState }) };
}

function reasoning(text: string, providerState: ReturnType<typeof stateFor>): Part {
  return { part: { case: "reasoning", value: { text } }, providerState };
}

const claude = "claude-opus-5-5";
const gemini = "gemini-3-pro";
const thinking = stateFor("anthropic", claude, { block: { type: "thinking", signature: "c2ln" } });
const signed = stateFor("gemini", gemini, { part: { thoughtSignature: "s" } });
const result = { type: "function_call_output", call_id: "call_1", output: "done" };

function callItem(fields: object = {}) {
  return { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":1}', ...fields };
}

describe("A stored message that a client returns", () => {
  it.each([
    [
      "unchanged",
      { id: toItemId("reasoning", messageId, 0) },
      { id: toItemId("function_call", messageId, 1) },
    ],
    ["without ids", {}, {}],
  ])("has Claude's empty thinking with its signature again: %s", async (_how, reasoningId, callId) => {
    const stored = kept(reasoning("", thinking), call("call_1", '{"a":1}'));
    const items = [{ type: "reasoning", summary: [], ...reasoningId }, callItem(callId), result];
    const [message] = await toInput(items, `anthropic/${claude}`, stored);
    expect(message).toEqual(stored.messages[0]?.message);
  });

  it("has reasoning again that the client left out, in its place", async () => {
    const stored = kept(
      reasoning("One", thinking),
      { part: { case: "text", value: "Let me see." } },
      reasoning("Two", thinking),
      call("call_1", '{"a":1}'),
    );
    const [message] = await toInput([callItem(), result], `anthropic/${claude}`, stored);
    expect(message?.content.map(({ part }) => part.case)).toEqual(["reasoning", "reasoning", "toolCall"]);
    const items = [{ role: "assistant", content: "Let me see." }, callItem(), result];
    const [whole] = await toInput(items, `anthropic/${claude}`, stored);
    expect(whole).toEqual(stored.messages[0]?.message);
  });

  const second = { call_id: "call_2" };
  const answerOfSecond = { ...result, ...second };

  it.each([
    ["unchanged", (index: number) => ({ id: toItemId("function_call", messageId, index) })],
    ["without ids", () => ({})],
  ])("is one message again if each of its calls was followed by its result: %s", async (_how, getId) => {
    const stored = kept(
      reasoning("One", thinking),
      call("call_1", '{"a":1}'),
      reasoning("Two", thinking),
      call("call_2", '{"a":1}'),
    );
    const other = { call_id: "call_3" };
    const items = [
      callItem(getId(1)),
      result,
      callItem({ ...second, ...getId(3) }),
      answerOfSecond,
      callItem(other),
      { ...result, ...other },
    ];
    const messages = await toInput(items, `anthropic/${claude}`, stored);
    expect(messages[0]).toEqual(stored.messages[0]?.message);
    expect(messages.map((message) => message?.content.map(({ part }) => part.case))).toEqual([
      ["reasoning", "toolCall", "reasoning", "toolCall"],
      ["toolResult"],
      ["toolResult"],
      ["toolCall"],
      ["toolResult"],
    ]);
  });

  it.each([
    ["the user wrote something between its calls", [{ role: "user", content: "Well?" }, callItem(second)], 5],
    [
      "a text of the model is before the other call",
      [{ role: "assistant", content: "Well." }, callItem(second)],
      4,
    ],
    ["its first call is repeated", [callItem()], 4],
    ["its second call is repeated", [callItem(second), answerOfSecond, callItem(second)], 5],
  ])("stays in several messages if %s", async (_why, others, count) => {
    const stored = kept(call("call_1", '{"a":1}'), call("call_2", '{"a":1}'));
    const items = [callItem(), result, ...others, answerOfSecond];
    expect(await toInput(items, `anthropic/${claude}`, stored)).toHaveLength(count);
  });

  it("has a text without characters again if it has a signature", async () => {
    const stored = kept(call("call_1", '{"a":1}', signed), {
      part: { case: "text", value: "" },
      providerState: signed,
    });
    const [message] = await toInput([callItem(), result], `gemini/${gemini}`, stored);
    expect(message).toEqual(stored.messages[0]?.message);
  });

  it("has a text without characters once if an item carries its signature as well", async () => {
    const stored = kept(call("call_1", '{"a":1}', signed), {
      part: { case: "text", value: "" },
      providerState: signed,
    });
    const id = toItemId("reasoning", messageId, 2);
    const encrypted_content = encodeOtherParts(stored.messages[0]?.message?.content ?? []);
    const carrier = { type: "reasoning", id, summary: [], encrypted_content };
    const items = [callItem({ id: toItemId("function_call", messageId, 0) }), carrier, result];
    const [message] = await toInput(items, `gemini/${gemini}`, stored);
    expect(message).toEqual(stored.messages[0]?.message);
  });

  it("does not get reasoning of another model that the caller did not send", async () => {
    const stored = kept(reasoning("One", thinking), call("call_1", '{"a":1}', signed));
    const request = await read({ model: `gemini/${gemini}`, input: [callItem(), result] }, stored);
    expect(request.input.input?.[0]?.message?.content).toHaveLength(1);
    expect(request.settings.warnings).toEqual([]);
  });

  it("has the arguments again as the model spelled them", async () => {
    const stored = kept(call("call_1", '{"a":1,"b":[2.0]}', signed));
    const items = [callItem({ arguments: '{ "a": 1, "b": [2.0] }' }), result];
    const [message] = await toInput(items, `gemini/${gemini}`, stored);
    expect(message).toEqual(stored.messages[0]?.message);
  });

  it("gets nothing for a call that was changed", async () => {
    const stored = kept(call("call_1", '{"a":1}', signed));
    const [message] = await toInput([callItem({ arguments: '{"a":2}' }), result], `gemini/${gemini}`, stored);
    expect(message?.content[0]?.providerState).toBeUndefined();
  });

  it("has reasoning once, although the results of a server's tools split the message", async () => {
    const args = '{"q":1}';
    const stored = kept(
      reasoning("One", thinking),
      {
        part: {
          case: "toolCall",
          value: { id: "call_1", name: "docs__f", input: { case: "argumentsJson", value: args } },
        },
      },
      {
        part: {
          case: "toolCall",
          value: { id: "call_2", name: "docs__f", input: { case: "argumentsJson", value: args } },
        },
      },
    );
    const item = (index: number) => ({
      type: "mcp_call",
      id: toItemId("mcp_call", messageId, index),
      server_label: "docs",
      name: "f",
      arguments: args,
      output: "found",
    });
    const messages = await toInput([item(1), item(2)], `anthropic/${claude}`, stored);
    const cases = messages.map((message) => message?.content.map(({ part }) => part.case));
    expect(cases).toEqual([["reasoning", "toolCall"], ["toolResult"], ["toolCall"], ["toolResult"]]);
  });

  it("has the provider's ids of hosted tools again", async () => {
    const dataJson =
      '{"type":"web_search_call","id":"ws_0a1b","status":"completed","action":{"type":"search"}}';
    const stored = kept({
      part: { case: "native", value: { provider: "openai", kind: "web_search_call", dataJson } },
    });
    const item = { ...JSON.parse(dataJson), id: toItemId("web_search_call", messageId, 0) };
    const [message] = await toInput([item, { role: "user", content: "hi" }], "gpt-5.2", stored);
    expect(message).toEqual(stored.messages[0]?.message);
  });
});

describe("Items of OpenAI that a client sends", () => {
  const rs = { type: "reasoning", id: "rs_0a", summary: [], encrypted_content: "gAAA" };
  const dataIn = async (items: readonly object[], model = "gpt-5.2") => {
    const [message] = await toInput(items, model);
    return message?.content.map(({ providerState }) => JSON.parse(providerState?.dataJson ?? "null"));
  };

  it("keep their ids alongside reasoning that has one", async () => {
    expect(await dataIn([rs, callItem({ id: "fc_0b" }), result])).toMatchObject([
      { item: { id: "rs_0a" } },
      { item: { id: "fc_0b" } },
    ]);
    const text = { type: "message", role: "assistant", id: "msg_0c", content: "Hi." };
    expect(await dataIn([rs, text])).toMatchObject([{ item: { id: "rs_0a" } }, { item: { id: "msg_0c" } }]);
  });

  it("lose them if there is no such reasoning, or another provider serves the model", async () => {
    expect(await dataIn([callItem({ id: "fc_0b" }), result])).toEqual([null]);
    const { id: _, ...withoutId } = rs;
    expect(await dataIn([withoutId, callItem({ id: "fc_0b" }), result])).toMatchObject([{}, null]);
    expect(await dataIn([rs, callItem({ id: "fc_0b" }), result], `gemini/${gemini}`)).toMatchObject([
      {},
      null,
    ]);
  });

  it("keep the sources of a text", async () => {
    const annotations = [
      { type: "url_citation", url: "https://a.test/", title: "A", start_index: 0, end_index: 2 },
    ];
    const [message] = await toInput(
      [{ role: "assistant", content: [{ type: "output_text", text: "Hi.", annotations }] }],
      "gpt-5.2",
    );
    expect(message?.content[0]).toMatchObject({
      citations: [{ url: "https://a.test/" }],
      providerState: { provider: "openai" },
    });
  });
});
