import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { AnthropicAdapter } from "outrigger";
import { describe, expect, it } from "vitest";
import { restoreAnswers } from "../../../src/endpoints/answers/restore-answers.ts";
import { type Message, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";
import { startWireServer } from "../support/wire-server.ts";

const servers = useTestServers();

type Parts = NonNullable<MessageInitShape<typeof MessageSchema>["content"]>;

const state = { provider: "p", model: "m", dataJson: '{"signature":"s"}' };

function answer(content: Parts): Message {
  return create(MessageSchema, { role: Role.ASSISTANT, content });
}

function call(id: string, argumentsJson: string, rest: object = {}) {
  return {
    part: {
      case: "toolCall" as const,
      value: { id, name: "f", input: { case: "argumentsJson" as const, value: argumentsJson } },
    },
    ...rest,
  };
}

const reasoning = { part: { case: "reasoning" as const, value: { text: "Hm." } }, providerState: state };
const kept = answer([reasoning, call("a", '{"x":1}', { providerState: state }), call("b", "{}")]);

/** Restores one message from the kept one, and counts the look-ups. */
async function restore(message: Message): Promise<{ message: Message; lookedUp: string[] }> {
  const lookedUp: string[] = [];
  await restoreAnswers([message], {
    getMessage: () => Promise.reject(new Error("messages have no ids in these APIs")),
    findCall: async (id) => {
      lookedUp.push(id);
      return { id: "1", message: kept };
    },
  });
  return { message, lookedUp };
}

describe("restoreAnswers()", () => {
  it("puts the reasoning and the state of calls back, whatever the white space of the arguments", async () => {
    const { message } = await restore(answer([call("a", '{ "x": 1 }'), call("b", "{}")]));
    expect(message.content.map(({ part }) => part.case)).toEqual(["reasoning", "toolCall", "toolCall"]);
    expect(message.content.map(({ providerState }) => providerState?.dataJson)).toEqual([
      state.dataJson,
      state.dataJson,
      undefined,
    ]);
  });

  it("looks up only the latest 256 answers", async () => {
    const lookedUp: string[] = [];
    const answers = Array.from({ length: 258 }, (_, index) => answer([call(`call_${index}`, "{}")]));
    await restoreAnswers(answers, {
      getMessage: () => Promise.reject(new Error("messages have no ids in these APIs")),
      findCall: async (id) => void lookedUp.push(id),
    });
    expect([lookedUp.length, lookedUp[0], lookedUp.at(-1)]).toEqual([256, "call_2", "call_257"]);
  });

  it("replaces reasoning that has lost its signature", async () => {
    const bare = { part: reasoning.part };
    const { message } = await restore(answer([bare, call("a", '{"x":1}'), call("b", "{}")]));
    expect(message.content).toHaveLength(3);
    expect(message.content[0]?.providerState?.dataJson).toBe(state.dataJson);
  });

  it("keeps the reasoning that a client returned with its state", async () => {
    const other = { ...reasoning, providerState: { ...state, dataJson: "{}" } };
    const { message } = await restore(answer([other, call("a", '{"x":1}'), call("b", "{}")]));
    expect(message.content.map(({ providerState }) => providerState?.dataJson)).toEqual([
      "{}",
      state.dataJson,
      undefined,
    ]);
  });

  it.each([
    ["other arguments", [call("a", '{"x":2}'), call("b", "{}")]],
    ["fewer calls", [call("a", '{"x":1}')]],
    ["another order", [call("b", "{}"), call("a", '{"x":1}')]],
  ])("leaves an answer with %s as it is", async (_, content) => {
    const { message } = await restore(answer(content));
    expect(message.content.every(({ providerState }) => providerState === undefined)).toBe(true);
  });

  describe("if a client returned the calls in several messages", () => {
    const result = () => create(MessageSchema, { role: Role.TOOL, toolCallId: "a" });
    const source = {
      getMessage: () => Promise.reject(new Error("messages have no ids in these APIs")),
      findCall: async (id: string) => (id === "a" ? { id: "1", message: kept } : undefined),
    };
    const getKinds = (messages: readonly Message[]) =>
      messages.map(({ content }) => content.map(({ part }) => part.case));

    it("puts the calls together, with the reasoning before them", async () => {
      const messages = [answer([call("a", '{"x":1}')]), result(), answer([call("b", "{}")]), result()];
      expect(await restoreAnswers(messages, source)).toEqual({ hasReasoning: true, hasCallState: true });
      expect(getKinds(messages)).toEqual([["reasoning", "toolCall", "toolCall"], [], [], []]);
    });

    it.each([
      ["a call is missing", [result()]],
      [
        "a message of the user is between",
        [create(MessageSchema, { role: Role.USER }), answer([call("b", "{}")])],
      ],
      ["another message has a text", [answer([{ part: { case: "text", value: "Hi" } }, call("b", "{}")])]],
      ["another call is between", [answer([call("c", "{}")]), answer([call("b", "{}")])]],
    ])("changes nothing if %s", async (_, others) => {
      const messages = [answer([call("a", '{"x":1}')]), ...others];
      const before = getKinds(messages);
      expect(await restoreAnswers(messages, source)).toEqual({ hasReasoning: false, hasCallState: false });
      expect(getKinds(messages)).toEqual(before);
    });
  });

  it("looks up answers without state only", async () => {
    const signed = call("a", '{"x":1}', { providerState: state });
    expect((await restore(answer([reasoning, signed]))).lookedUp).toEqual([]);
    // A call of Anthropic has state even without reasoning.
    expect((await restore(answer([signed]))).lookedUp).toEqual(["a"]);
    expect((await restore(answer([{ part: { case: "text", value: "Hi" } }]))).lookedUp).toEqual([]);
  });
});

describe("An answer that is streamed in one read of the network", () => {
  const events = [
    { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", content: [] } },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "thinking", thinking: "", signature: "" },
    },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } },
    { type: "content_block_stop", index: 0 },
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "t1", name: "f", input: {} },
    },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 7 } },
    { type: "message_stop" },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const tool = { name: "f", parameters: { type: "object" } };
  const placeholder = Buffer.from("skip_thought_signature_validator").toString("base64");

  it.each([
    [
      "/v1/chat/completions",
      { tools: [{ type: "function", function: tool }], stream: true },
      [
        {
          role: "assistant",
          tool_calls: [{ id: "t1", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "t1", content: "done" },
      ],
    ],
    [
      "/v1beta/models/claude-x:streamGenerateContent",
      { tools: [{ functionDeclarations: [tool] }] },
      [
        {
          role: "model",
          // A client that has no signature writes this one.
          parts: [{ functionCall: { id: "t1", name: "f", args: {} }, thoughtSignature: placeholder }],
        },
        { role: "user", parts: [{ functionResponse: { id: "t1", name: "f", response: {} } }] },
      ],
    ],
  ])("is found again: %s", async (path, body, returned) => {
    const provider = await startWireServer(servers);
    provider.answers = [{ body: [text], headers: { "content-type": "text/event-stream" } }];
    const adapters = [new AnthropicAdapter({ apiKey: "any", baseUrl: provider.url })];
    const { fetch } = await startApi(servers, { adapters });
    const isChat = path.includes("chat");
    const [question] = [isChat ? { role: "user", content: "Hi" } : { role: "user", parts: [{ text: "Hi" }] }];
    for (const items of [[question], [question, ...returned]]) {
      const conversation = isChat ? { model: "claude-x", messages: items } : { contents: items };
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify({ ...body, ...conversation }) };
      expect((await (await fetch(path, init)).text()).length).toBeGreaterThan(100);
    }
    expect(JSON.parse(provider.requests[1]?.text ?? "").messages[1].content[0]).toMatchObject({
      type: "thinking",
      signature: "c2ln",
    });
  });
});

interface Reply {
  readonly content: string;
  readonly tool_calls: readonly { readonly id: string }[];
}

describe("Calls that a client returned one by one, each with its result", () => {
  const tool = {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  };

  it.each(["openai", "anthropic", "gemini", "compatible"])(
    "continue the tool loop of a model that needs its reasoning: %s",
    async (provider) => {
      const { fetch, simulator } = await startApi(servers, { aliases: { thinker: "sim-reasoning:calls=3" } });
      const complete = async (messages: readonly object[]) => {
        const model = `${provider}/thinker`;
        const body = JSON.stringify({ model, messages, tools: [{ type: "function", function: tool }] });
        const headers = { "content-type": "application/json" };
        const answer = await fetch("/v1/chat/completions", { method: "POST", headers, body });
        expect(answer.status).toBe(200);
        const { choices } = (await answer.json()) as { choices: [{ message: Reply }] };
        return choices[0].message;
      };
      const question = { role: "user", content: "How is the weather in Oslo?" };
      const { tool_calls: calls } = await complete([question]);
      const pieces = calls.flatMap((call) => [
        { role: "assistant", content: "", tool_calls: [call] },
        { role: "tool", tool_call_id: call.id, content: "rain" },
      ]);
      const answer = await complete([question, ...pieces]);
      expect(answer.content).toContain("rain");
      expect(simulator.requests).toHaveLength(2);
    },
  );
});

describe("The Messages API in front of Anthropic, if a client drops the thinking of a turn with calls", () => {
  const question = { role: "user", content: "How is the weather in Oslo?" };
  const tools = [
    {
      // An unknown field, and an order that the translation does not use.
      input_schema: { type: "object", properties: { city: { type: "string" } } },
      input_examples: [{ city: "Oslo" }],
      name: "get_weather",
    },
  ];

  it.each([false, true])(
    "restores it, and sends all else as the client wrote it (stream: %s)",
    async (stream) => {
      const { fetch, simulator } = await startApi(servers, { aliases: { thinker: "sim-reasoning" } });
      const rest = { max_tokens: 4000, tools, temperature: 1 };
      const send = async (messages: readonly object[], streams: boolean) => {
        const body = JSON.stringify({ model: "anthropic/thinker", ...rest, messages, stream: streams });
        const headers = { "content-type": "application/json", "anthropic-beta": "a-beta" };
        const answer = await fetch("/v1/messages", { method: "POST", headers, body });
        expect([answer.status, answer.headers.get("outrigger-warnings")]).toEqual([200, null]);
        return answer;
      };
      const { content } = (await (await send([question], false)).json()) as { content: { type: string }[] };
      const calls = content.filter(({ type }) => type === "tool_use") as unknown as { id: string }[];
      const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "rain" }));
      const messages = [question, { role: "assistant", content: calls }, { role: "user", content: results }];
      expect(await (await send(messages, stream)).text()).toContain("rain");
      const [first, second] = simulator.requests;
      const sent = second?.body as Readonly<Record<string, unknown>>;
      expect(sent).toMatchObject({ ...rest, stream });
      expect(JSON.stringify(sent.tools)).toBe(JSON.stringify(tools));
      expect(sent.messages).toMatchObject([{}, { content }, {}]);
      expect(Object.keys(sent)).toEqual(Object.keys(first?.body as object));
      expect(JSON.stringify(sent)).not.toContain("cache_control");
      expect(second?.headers["anthropic-beta"]).toContain("a-beta");
    },
  );
});

describe("A forced tool call for a model that does not support forcing", () => {
  const schema = { name: "f", parameters: { type: "object" } };

  it.each([
    [
      "/v1/chat/completions",
      {
        model: "anthropic/claude-opus-5-5",
        messages: [{ role: "user", content: "Hi" }],
        tools: [{ type: "function", function: schema }],
        tool_choice: "required",
      },
    ],
    [
      // The AI SDK leaves out `models`.
      "/v1beta/anthropic/claude-opus-5-5:generateContent",
      {
        contents: [{ parts: [{ text: "Hi" }] }],
        tools: [{ functionDeclarations: [schema] }],
        toolConfig: { functionCallingConfig: { mode: "ANY" } },
      },
    ],
  ])("becomes optional, with a warning: %s", async (path, body) => {
    const { fetch, simulator } = await startApi(servers, { aliases: { "claude-opus-5-5": "sim-tools" } });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    expect([answer.status, answer.headers.get("outrigger-warnings")]).toEqual([
      200,
      expect.stringContaining("adjusted_setting"),
    ]);
    expect(simulator.requests[0]?.body).toMatchObject({ tool_choice: { type: "auto" } });
  });
});
