/** Bodies of `POST /v1/chat/completions` -> requests of the contract. */
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { readRequest } from "../../../src/endpoints/chat-completions/read-request.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ResponseFormat_Type, ToolChoice_Mode } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { Grammar_Syntax } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { expectReadOrRefused } from "../support/changed-bodies.ts";
import { createDirectory } from "../support/directory.ts";

const directory = createDirectory({
  providers: new Map([
    ["openai", "openai-responses"],
    ["anthropic", "anthropic-messages"],
    ["gemini", "gemini"],
    ["local", "openai-chat"],
  ]),
});

function read(body: object | string) {
  return readRequest(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), directory);
}

/** A request with these fields besides the model and the messages. */
function readWith(fields: object, model = "local/m") {
  return read({ model, messages: [{ role: "user", content: "Hi" }], ...fields });
}

function readViolations(body: object): unknown {
  try {
    read(body);
  } catch (thrown) {
    if (thrown instanceof InvalidRequestError) return thrown.violations;
    throw thrown;
  }
  return [];
}

/** A body with every kind of field that is read. */
const whole = {
  model: "anthropic/m",
  messages: [
    { role: "system", content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] },
    { role: "developer", content: "b", name: "c" },
    {
      role: "user",
      content: [
        { type: "text", text: "a" },
        { type: "image_url", image_url: { url: "https://a/b.png", detail: "low" } },
        { type: "input_audio", input_audio: { data: "aGk=", format: "wav" } },
        { type: "file", file: { file_data: "aGk=", filename: "a.pdf" } },
      ],
    },
    {
      role: "assistant",
      content: "a",
      refusal: "b",
      reasoning_content: "c",
      thinking_blocks: [{ type: "thinking", thinking: "a", signature: "b" }],
      reasoning_details: [{ type: "reasoning.encrypted", data: "or1.W10", index: 0 }],
      audio: { id: "a" },
      tool_calls: [
        {
          id: "a",
          type: "function",
          function: { name: "f", arguments: "{}" },
          extra_content: { google: { thought_signature: "a" } },
        },
        { id: "b", type: "custom", custom: { name: "g", input: "a" } },
      ],
    },
    { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "a" }] },
    { role: "tool", tool_call_id: "b", content: "b" },
  ],
  tools: [
    {
      type: "function",
      function: { name: "f", parameters: { type: "object" }, strict: true, description: "a" },
    },
    {
      type: "custom",
      custom: { name: "g", format: { type: "grammar", grammar: { syntax: "lark", definition: "a" } } },
    },
  ],
  tool_choice: {
    type: "allowed_tools",
    allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
  },
  response_format: { type: "json_schema", json_schema: { name: "a", schema: {}, strict: true } },
  stop: ["a"],
  n: 1,
  seed: 1,
  metadata: { a: "b" },
  modalities: ["text"],
  logit_bias: { "1": 2 },
  stream_options: { include_usage: true },
  parallel_tool_calls: true,
  temperature: 1,
  max_completion_tokens: 1,
  verbosity: "low",
  service_tier: "auto",
};

describe("readRequest", () => {
  it("reads each message as one message", () => {
    const { request } = read({ ...whole, model: "local/m" });
    expect(request.messages.map(({ role }) => role)).toEqual([
      Role.SYSTEM,
      Role.DEVELOPER,
      Role.USER,
      Role.ASSISTANT,
      Role.TOOL,
      Role.TOOL,
    ]);
    const kinds = request.messages.map(({ content }) => content.map(({ part }) => part.case));
    expect(kinds).toEqual([
      // The part has a field that the contract lacks, and the provider speaks the same API.
      ["native"],
      ["text"],
      ["text", "image", "audio", "document"],
      ["reasoning", "text", "text", "toolCall", "toolCall"],
      ["toolResult"],
      ["toolResult"],
    ]);
    expect(request.messages[3]?.content.map(({ refusal }) => refusal)).toEqual([
      false,
      false,
      true,
      false,
      false,
    ]);
  });

  it("gives Anthropic its thinking back, and only with the signature or the data that it needs", () => {
    const blocks = [
      { type: "thinking", thinking: "a", signature: "s" },
      { type: "thinking", thinking: "b" },
      { type: "redacted_thinking", data: "sealed" },
    ];
    const readParts = (model: string) => {
      const messages = [{ role: "assistant", content: "x", thinking_blocks: blocks }];
      return read({ model, messages }).request.messages[0]?.content.slice(0, -1) ?? [];
    };
    const parts = readParts("anthropic/m");
    expect(parts.map(({ part }) => part)).toMatchObject([
      { case: "reasoning", value: { text: "a", redacted: false } },
      { case: "reasoning", value: { text: "b", redacted: false } },
      { case: "reasoning", value: { text: "", redacted: true } },
    ]);
    expect(parts.map(({ providerState }) => providerState && JSON.parse(providerState.dataJson))).toEqual([
      { block: blocks[0] },
      undefined,
      { block: blocks[2] },
    ]);
    expect(readParts("gemini/m").map(({ providerState }) => providerState)).toEqual(Array(3).fill(undefined));
  });

  it("reads reasoning in the content of an answer, and gives it back to its server", () => {
    const chunk = { type: "thinking", thinking: [{ type: "text", text: "Hm." }], signature: "s" };
    const reference = { type: "reference", reference_ids: [1] };
    const content = [chunk, { type: "text", text: "Yes" }, reference];
    const readParts = (model: string) => {
      const { request, warnings } = read({ model, messages: [{ role: "assistant", content }] });
      return { parts: request.messages[0]?.content ?? [], warnings };
    };
    const { parts, warnings } = readParts("local/m");
    expect(parts.map(({ part }) => part.case)).toEqual(["reasoning", "text", "native"]);
    expect(parts[0]?.part.value).toMatchObject({ text: "Hm." });
    expect(JSON.parse(parts[0]?.providerState?.dataJson ?? "")).toEqual({ chunk });
    expect(warnings).toEqual([]);
    const other = readParts("anthropic/m");
    expect(other.parts.map(({ part }) => part.case)).toEqual(["reasoning", "text"]);
    expect(other.parts[0]?.providerState).toBeUndefined();
    expect(other.warnings).toMatchObject([{ param: "messages[0].content[2]", code: "unsupported_content" }]);
  });

  it.each([
    ["gemini/m", { part: { thoughtSignature: "s" } }],
    ["local/m", { call: { extra_content: { google: { thought_signature: "s" } } } }],
    ["anthropic/m", undefined],
  ])("gives %s the signature of a call back as %j", (model, state) => {
    const extra_content = { google: { thought_signature: "s" } };
    const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" }, extra_content };
    const messages = [
      { role: "user", content: "Hi" },
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "a", content: "b" },
    ];
    const { providerState } = read({ model, messages }).request.messages[1]?.content[0] ?? {};
    expect(providerState && JSON.parse(providerState.dataJson)).toEqual(state);
  });

  it("reads settings under both names of the limit", () => {
    expect(readWith({ max_tokens: 5 }).request.maxTokens).toBe(5);
    expect(readWith({ max_tokens: 5, max_completion_tokens: 6 }).request.maxTokens).toBe(6);
    const { request } = readWith({
      stop: "END",
      temperature: 0,
      top_p: 0.5,
      reasoning_effort: "low",
      response_format: { type: "json_object" },
    });
    expect(request).toMatchObject({
      stopSequences: ["END"],
      temperature: 0,
      topP: 0.5,
      reasoningEffort: "low",
    });
    expect(request.responseFormat?.type).toBe(ResponseFormat_Type.JSON);
  });

  it("keeps the order of the keys of a schema", () => {
    const text =
      '{"messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"2":1,"1":2}}}}';
    expect(read(text).request.responseFormat?.schemaJson).toBe('{"2":1,"1":2}');
  });

  it.each([
    ["auto", ToolChoice_Mode.AUTO, ""],
    ["none", ToolChoice_Mode.NONE, ""],
    ["required", ToolChoice_Mode.REQUIRED, ""],
    [{ type: "function", function: { name: "f" } }, ToolChoice_Mode.NAMED, "f"],
    [{ type: "custom", custom: { name: "g" } }, ToolChoice_Mode.NAMED, "g"],
  ])("reads the tool choice %j", (choice, mode, toolName) => {
    const { request } = readWith({ tools: whole.tools, tool_choice: choice });
    expect(request.toolChoice).toMatchObject({ mode, toolName });
    expect(request.tools).toHaveLength(2);
  });

  it("reads the tools", () => {
    const tools = [
      ...whole.tools,
      { type: "function", function: { name: "bare" } },
      { type: "function", function: { name: "empty", parameters: {} } },
      { type: "custom", custom: { name: "free", format: { type: "text" } } },
      {
        type: "custom",
        custom: { name: "r", format: { type: "grammar", grammar: { syntax: "regex", definition: "x" } } },
      },
    ];
    const read = readWith({ tools }).request.tools.map(({ tool }) => tool);
    expect(read[4]?.value).not.toHaveProperty("grammar");
    expect(read).toMatchObject([
      {
        case: "function",
        value: { name: "f", description: "a", parametersJson: '{"type":"object"}', strict: true },
      },
      { case: "custom", value: { name: "g", grammar: { syntax: Grammar_Syntax.LARK, definition: "a" } } },
      { case: "function", value: { name: "bare", description: "", parametersJson: "", strict: false } },
      { case: "function", value: { name: "empty", parametersJson: "" } },
      { case: "custom", value: { name: "free" } },
      { case: "custom", value: { name: "r", grammar: { syntax: Grammar_Syntax.REGEX, definition: "x" } } },
    ]);
  });

  it("passes a provider's own tools unchanged if it has the same API", () => {
    const tools = [{ type: "browser", depth: 2 }];
    const value = { provider: "local", configJson: JSON.stringify(tools[0]) };
    expect(readWith({ tools }).request.tools[0]?.tool).toMatchObject({ case: "hosted", value });
  });

  it("warns about fields of tools that providers of other APIs do not have", () => {
    const f = { name: "f", description: "a", parameters: {}, strict: true, examples: [], defer: null };
    const tools = [{ type: "function", function: f, cache_control: { type: "ephemeral" } }];
    const params = (model: string) => readWith({ tools }, model).warnings.map(({ param }) => param);
    expect(params("openai/m")).toEqual(["tools[0].cache_control", "tools[0].function.examples"]);
    expect(params("local/m")).toEqual([]);
  });

  it.each([
    [{ parallel_tool_calls: false }, undefined],
    [{ parallel_tool_calls: false, tools: whole.tools }, [ToolChoice_Mode.AUTO, false]],
    [{ tools: whole.tools }, undefined],
    [{ tool_choice: "none", parallel_tool_calls: true }, [ToolChoice_Mode.NONE, undefined]],
    [{ tool_choice: null, tools: whole.tools }, undefined],
  ])("has a tool choice only if the body says something about its tools: %j", (fields, choice) => {
    const { toolChoice } = readWith(fields).request;
    expect(toolChoice && [toolChoice.mode, toolChoice.parallel]).toEqual(choice);
  });

  it("limits the tools to the allowed ones", () => {
    const { request, toBodyPath } = readWith({
      tools: [...whole.tools].reverse(),
      tool_choice: whole.tool_choice,
    });
    expect(request.tools.map(({ tool }) => tool.value && "name" in tool.value && tool.value.name)).toEqual([
      "f",
    ]);
    expect(toBodyPath("tools[0].function.parameters_json")).toBe("tools[1]");
  });

  it.each([
    ["messages[2].content[1].image", "messages[2].content[1]"],
    ["messages[3].content[3].tool_call.id", "messages[3].tool_calls[0]"],
    ["max_tokens", "max_completion_tokens"],
    ["stop_sequences", "stop"],
    ["response_format.schema_json", "response_format.json_schema.schema"],
    ["response_format.schema_json#/properties/a", "response_format.json_schema.schema#/properties/a"],
    ["response_format.name", "response_format.json_schema.name"],
    ["tool_choice.parallel", "parallel_tool_calls"],
    ["tool_choice.tool_name", "tool_choice"],
    ['provider_options_json["local"].seed', "seed"],
  ])("names %s as %s of the body", (field, path) => {
    expect(read(whole).toBodyPath(field)).toBe(path);
  });

  it("passes settings that the contract lacks to a provider of the same API", () => {
    const { request, warnings } = readWith({ seed: 7, logit_bias: { "1": 2 }, top_k: 3, n: 1 });
    expect(JSON.parse(request.providerOptionsJson.local ?? "")).toEqual({
      seed: 7,
      logit_bias: { "1": 2 },
      top_k: 3,
    });
    expect(warnings).toEqual([]);
  });

  it("gives other providers their counterparts, and warns about the rest", () => {
    const settings = { seed: 7, user: "u", verbosity: "low", presence_penalty: 1, top_k: 3, store: false };
    const options = ["openai/m", "anthropic/m", "gemini/m"].map((model) => {
      const { request, warnings } = readWith(settings, model);
      const [json = "{}"] = Object.values(request.providerOptionsJson);
      return [JSON.parse(json), warnings.map(({ param }) => param)];
    });
    expect(options).toEqual([
      [{ user: "u", text: { verbosity: "low" } }, ["seed", "presence_penalty", "top_k"]],
      [{ metadata: { user_id: "u" } }, ["seed", "verbosity", "presence_penalty", "top_k"]],
      [{ generationConfig: { seed: 7, presencePenalty: 1 } }, ["user", "verbosity", "top_k"]],
    ]);
  });

  it.each<[string, string | undefined]>([
    ["default", "standard_only"],
    ["priority", "auto"],
    ["fast", "auto"],
    ["flex", undefined],
  ])("gives Anthropic the counterpart of the service tier %s: %s", (tier, counterpart) => {
    const { request, warnings } = readWith({ service_tier: tier }, "anthropic/m");
    const options = JSON.parse(request.providerOptionsJson.anthropic ?? "{}");
    expect(options.service_tier).toBe(counterpart);
    expect(warnings.map(({ param }) => param)).toEqual(counterpart === undefined ? ["service_tier"] : []);
  });

  it.each<[string, object]>([
    ["messages", { messages: [] }],
    ["messages[0].role", { messages: [{ role: "robot", content: "a" }] }],
    ["messages[0].content", { messages: [{ role: "user" }] }],
    ["messages[0].content[0].type", { messages: [{ role: "user", content: [{ type: "smell" }] }] }],
    ["messages[0].tool_call_id", { messages: [{ role: "tool", content: "a" }] }],
    ["messages[0].tool_calls[0].id", { messages: [{ role: "assistant", tool_calls: [{ function: {} }] }] }],
    ["messages[0].function_call", { messages: [{ role: "assistant", function_call: {} }] }],
    ["n", { n: 2 }],
    ["modalities[1]", { modalities: ["text", "audio"] }],
    ["functions", { functions: [] }],
    ["tools[0].type", { tools: [{ type: "web_search" }] }],
    ["tools[0].function", { tools: [{ type: "function" }] }],
    [
      "tool_choice.allowed_tools.tools",
      { tools: whole.tools, tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto" } } },
    ],
    ["temperature", { temperature: 3 }],
    ["response_format.json_schema", { response_format: { type: "json_schema" } }],
    ["stop[0]", { stop: [1] }],
  ])("refuses a mistake with its path: %s", (field, change) => {
    const body = { model: "anthropic/m", messages: [{ role: "user", content: "Hi" }], ...change };
    expect(readViolations(body)).toMatchObject([{ field, description: expect.stringMatching(/./) }]);
  });

  it("refuses state that was changed", () => {
    const details = [{ type: "reasoning.encrypted", data: "or1.AAAA" }];
    const body = { messages: [{ role: "assistant", content: "a", reasoning_details: details }] };
    expect(readViolations(body)).toMatchObject([{ field: "messages[0].reasoning_details[0].data" }]);
  });

  it("reads or refuses any value at any path, and throws nothing else", () =>
    expectReadOrRefused(whole, read));
});
