import { create, toJson } from "@bufbuild/protobuf";
import type { ResponseCreateParams, Tool } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { toFields } from "../../../src/endpoints/openai/fields.ts";
import { encodeOtherParts } from "../../../src/endpoints/responses/provider-state.ts";
import { parseRequest } from "../../../src/endpoints/responses/read-request.ts";
import { defaultSettings, getOrigin, getSettings } from "../../../src/endpoints/responses/settings.ts";
import { ContentPartSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RunSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { read } from "./support/reading.ts";

const hex = "0123456789abcdef".repeat(2);
const CLAUDE = "anthropic/claude-sonnet-4-5";

/** The request to the engine for a body, in its JSON form. */
async function toRun(body: Partial<ResponseCreateParams> & Record<string, unknown>) {
  const { input } = await read({ model: "gpt-5.2", input: "hi", ...body });
  return toJson(CreateRunRequestSchema, input.request) as Record<string, unknown>;
}

/** The request to the model. */
async function toRequest(body: Partial<ResponseCreateParams> & Record<string, unknown>) {
  const { options } = await toRun(body);
  return (options as { request: Record<string, unknown> }).request;
}

async function readWarnings(body: Record<string, unknown>): Promise<string[]> {
  const { settings } = await read({ model: CLAUDE, input: "hi", ...body });
  return settings.warnings.map(({ param }) => param);
}

async function readNativeOptions(body: Record<string, unknown>): Promise<unknown> {
  const request = await toRequest(body);
  const options = request.providerOptionsJson as Record<string, string> | undefined;
  return options === undefined ? undefined : JSON.parse(options.openai ?? "null");
}

const weather: Tool = {
  type: "function",
  name: "get_weather",
  description: "Weather",
  parameters: { type: "object", properties: {} },
  strict: true,
};

describe("the settings of a request", () => {
  it("become those of the contract", async () => {
    expect(
      await toRun({
        instructions: "Be brief.",
        temperature: 0.5,
        top_p: 0.25,
        max_output_tokens: 100,
        reasoning: { effort: "xhigh" },
        metadata: { team: "a" },
        background: true,
      }),
    ).toEqual({
      options: {
        maxToolRounds: 0,
        request: {
          model: "gpt-5.2",
          temperature: 0.5,
          topP: 0.25,
          maxTokens: 100,
          reasoningEffort: "xhigh",
        },
        system: "Be brief.",
      },
      background: true,
      store: true,
      metadata: { team: "a" },
    });
  });

  it.each<[object, object | undefined]>([
    [{ format: { type: "text" } }, undefined],
    [{ format: { type: "json_object" } }, { type: "TYPE_JSON" }],
    [
      { format: { type: "json_schema", name: "p", schema: { type: "object", b: 1, a: 2 }, strict: true } },
      { type: "TYPE_JSON_SCHEMA", name: "p", schemaJson: '{"type":"object","b":1,"a":2}', strict: true },
    ],
  ])("read the format %o of the answer", async (text, responseFormat) => {
    const request = await toRequest({ text: text as never });
    expect(request.responseFormat).toEqual(responseFormat);
  });

  it("go to an API of OpenAI's kind unchanged if the contract has no field for them, unknown ones too", async () => {
    const settings = {
      prompt_cache_key: "k",
      prompt_cache_retention: "24h",
      safety_identifier: "u",
      service_tier: "flex",
      truncation: "auto",
      top_logprobs: 2,
      client_metadata: { a: "b" },
      context_management: [{ type: "compaction", compact_threshold: 1000 }],
      a_field_of_next_year: { x: [1] },
    };
    const body = {
      ...settings,
      user: null,
      max_tool_calls: 3,
      include: ["reasoning.encrypted_content", "web_search_call.action.sources"],
      reasoning: { effort: "low", summary: "auto" },
      text: {
        verbosity: "low",
        format: { type: "json_schema", name: "p", description: "A person.", schema: { type: "object" } },
      },
    };
    expect(await readNativeOptions(body)).toEqual({
      ...settings,
      max_tool_calls: 3,
      include: ["web_search_call.action.sources"],
      reasoning: { summary: "auto" },
      text: { verbosity: "low", format: { description: "A person." } },
    });
    expect((await read({ model: "gpt-5.2", input: "hi", ...body })).settings.warnings).toEqual([]);
  });

  it("cause a warning if the provider lacks the setting, unless they request the default behaviour", async () => {
    const lost = {
      prompt_cache_key: "k",
      truncation: "auto",
      top_logprobs: 2,
      client_metadata: {},
      a_field_of_next_year: 1,
      verbosity: "low",
      text: { verbosity: "high" },
      include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
    };
    expect(await readWarnings(lost)).toEqual([
      "prompt_cache_key",
      "truncation",
      "top_logprobs",
      "client_metadata",
      "a_field_of_next_year",
      "verbosity",
      "text.verbosity",
      "include[1]",
    ]);
    expect(
      await readWarnings({
        truncation: "disabled",
        top_logprobs: 0,
        service_tier: "auto",
        text: { verbosity: "medium" },
      }),
    ).toEqual([]);
  });

  it("distinguish data that the provider does not return from unknown data", async () => {
    const known = [
      "file_search_call.results",
      "web_search_call.results",
      "web_search_call.action.sources",
      "code_interpreter_call.outputs",
      "message.output_text.logprobs",
    ];
    const provided = [
      "reasoning.encrypted_content",
      "message.input_image.image_url",
      "computer_call_output.output.image_url",
    ];
    const include = [...known, "something.else", ...provided];
    const { settings } = await read({ model: CLAUDE, input: "hi", include } as never);
    expect(settings.warnings.map(({ param, message }) => [param, message])).toEqual([
      ...known.map((_, index) => [
        `include[${index}]`,
        expect.stringContaining("the model's provider does not return this"),
      ]),
      ["include[5]", expect.stringContaining("is not a value of this API")],
    ]);
    const options = await readNativeOptions({ include });
    expect(options).toEqual({ include: [...known, "something.else"] });
  });

  it("become Anthropic's if it has a counterpart", async () => {
    const body = { safety_identifier: "u1", user: "u2", service_tier: "default" };
    const request = await toRequest({ model: CLAUDE, ...body } as never);
    expect(request.metadata).toEqual({ user_id: "u1" });
    expect(request.providerOptionsJson).toEqual({ anthropic: '{"service_tier":"standard_only"}' });
    expect(await readWarnings(body)).toEqual([]);
    expect(await readWarnings({ service_tier: "flex" })).toEqual(["service_tier"]);
  });

  it("leave a forced call of a tool to the model if some models of the provider cannot be forced", async () => {
    const readOptions = async (tool_choice?: unknown) =>
      (await toRequest({ model: CLAUDE, tools: [weather], tool_choice } as never)).providerOptionsJson;
    const relaxed = { anthropic: '{"unsupported_tool_choice":"auto"}' };
    expect(await readOptions("required")).toEqual(relaxed);
    expect(await readOptions({ type: "function", name: "get_weather" })).toEqual(relaxed);
    for (const free of [undefined, null, "auto", "none"]) expect(await readOptions(free)).toBeUndefined();
  });

  it("pass the penalties of Open Responses on if the provider has them", async () => {
    const body = { frequency_penalty: 0.5, presence_penalty: 0 };
    const getErrorOptions = async (model: string) =>
      (await toRequest({ model, ...body })).providerOptionsJson;
    expect(await getErrorOptions("local/m")).toEqual({ local: '{"frequency_penalty":0.5}' });
    expect(await getErrorOptions("gemini/m")).toEqual({
      gemini: '{"generationConfig":{"frequencyPenalty":0.5}}',
    });
    expect(await getErrorOptions("openai/m")).toBeUndefined();
    expect(await readWarnings({ ...body, model: "openai/m" })).toEqual(["frequency_penalty"]);
    expect(await readWarnings(body)).toEqual(["frequency_penalty"]);
    const { settings } = await read({ model: "m", input: "hi", ...body });
    expect(settings.echoed).toMatchObject(body);
  });

  it.each(["prompt", "moderation"])("refuse %s if OpenAI does not serve the model", async (name) => {
    const value = { id: "pmpt_1", model: "m" };
    await expect(read({ model: CLAUDE, input: "hi", [name]: value })).rejects.toMatchObject({
      violations: [{ field: name }],
    });
    expect(await readNativeOptions({ [name]: value })).toEqual({ [name]: value });
  });

  it("are repeated with OpenAI's defaults, and kept with the run", async () => {
    const { settings, input } = await read({ model: "gpt-5.2", input: "hi" });
    expect(settings).toEqual(defaultSettings);
    expect(getSettings({ ...create(RunSchema), origin: input.origin })).toEqual(settings);
    const { settings: given } = await read({
      model: "gpt-5.2",
      input: "hi",
      conversation: { id: `conv_${hex}` },
      tools: [
        weather,
        {
          type: "mcp",
          server_label: "d",
          server_url: "https://d.test",
          authorization: "secret",
          headers: { a: "secret" },
        },
      ],
      tool_choice: { type: "function", name: "get_weather" },
      text: { format: { type: "json_schema", name: "p", schema: {} } },
      reasoning: { effort: "low" },
    });
    expect(given.echoed).toMatchObject({
      conversation: { id: `conv_${hex}` },
      tools: [weather, { type: "mcp", server_label: "d", server_url: "https://d.test", headers: null }],
      tool_choice: { type: "function", name: "get_weather" },
      text: {
        format: { type: "json_schema", name: "p", schema: {}, strict: false, description: null },
        verbosity: "medium",
      },
      reasoning: { effort: "low", summary: null },
    });
    expect(JSON.stringify(given)).not.toContain("secret");
  });

  it("say how the answer is sent", async () => {
    const { isStreamed, streamOptions } = await read({
      model: "m",
      input: "hi",
      stream: true,
      stream_options: { include_obfuscation: false },
    });
    expect([isStreamed, streamOptions.includeObfuscation]).toEqual([true, false]);
    expect((await read({ model: "m", input: "hi", stream: null })).isStreamed).toBe(false);
  });
});

describe("the tools of a request", () => {
  it("are executed by the sidecar only if there are tools of MCP servers among them", async () => {
    const server = { type: "mcp", server_label: "d", server_url: "https://d.test" };
    const roundsWith = async (tools: object[]) =>
      (await read({ model: "m", input: "hi", tools })).input.request.options?.maxToolRounds;
    expect(await roundsWith([weather])).toBe(0);
    // As many as the engine allows.
    expect(await roundsWith([weather, server])).toBeUndefined();
  });

  it("become tools of the contract, in their original spelling, and MCP servers of the sidecar", async () => {
    const body = `{"model":"gpt-5.2","input":"hi","tools":[
      {"type":"function","name":"f","parameters":{"type":"object","2":1,"1":1.0}},
      {"type":"custom","name":"c","description":"C","format":{"type":"grammar","syntax":"lark","definition":"start: A"}},
      {"type":"namespace","name":"agents","description":"Other agents.","tools":[
        {"type":"function","name":"spawn","description":"Starts one.","parameters":{}},
        {"type":"function","name":"stop"}]},
      {"type":"web_search","search_context_size":"low"},
      {"type":"mcp","server_label":"docs","server_url":"https://d.test/mcp","authorization":"t","headers":{"k":"v"},
       "allowed_tools":["a"],"require_approval":{"never":{"tool_names":["a"],"read_only":true}}}]}`;
    const { input } = await read(body);
    const run = toJson(CreateRunRequestSchema, input.request);
    expect(run).toMatchObject({
      options: {
        request: {
          tools: [
            { function: { name: "f", parametersJson: '{"type":"object","2":1,"1":1.0}' } },
            {
              custom: {
                name: "c",
                description: "C",
                grammar: { syntax: "SYNTAX_LARK", definition: "start: A" },
              },
            },
            {
              function: {
                name: "agents__spawn",
                description: 'Starts one.\n\nAbout the tools of "agents": Other agents.',
              },
            },
            { function: { name: "agents__stop" } },
            {
              hosted: { provider: "openai", configJson: '{"type":"web_search","search_context_size":"low"}' },
            },
          ],
        },
      },
      mcpServers: [
        {
          serverLabel: "docs",
          serverUrl: "https://d.test/mcp",
          authorization: "t",
          headers: { k: "v" },
          allowedTools: { toolNames: ["a"] },
          approval: "APPROVAL_POLICY_ALWAYS",
          neverApprove: { toolNames: ["a"], readOnly: true },
        },
      ],
    });
  });

  it("may be tools of the model's provider, in the provider's form", async () => {
    const tool = { type: "web_search_20250305", name: "web_search", max_uses: 2 };
    const request = await toRequest({ model: CLAUDE, tools: [tool, { type: "web_search" }] } as never);
    expect(request.tools).toEqual([
      { hosted: { provider: "anthropic", configJson: JSON.stringify(tool) } },
      { hosted: { provider: "openai", configJson: '{"type":"web_search"}' } },
    ]);
  });

  it("are counted if the sidecar executes them", async () => {
    const mcp = { type: "mcp", server_label: "docs", server_url: "https://d.test" };
    const createLimits = async (tools: readonly object[]) => {
      const { options } = await toRun({ max_tool_calls: 3, tools: tools as never });
      return (options as { limits?: object }).limits;
    };
    expect(await createLimits([mcp])).toEqual({ maxToolCalls: 3 });
    expect(await createLimits([weather])).toBeUndefined();
  });

  const named = (toolName: string) => ({ mode: "MODE_NAMED", toolName });

  it.each<[unknown, object | undefined]>([
    [undefined, undefined],
    ["auto", { mode: "MODE_AUTO" }],
    ["none", { mode: "MODE_NONE" }],
    ["required", { mode: "MODE_REQUIRED" }],
    [{ type: "function", name: "get_weather" }, named("get_weather")],
    [{ type: "function", name: "spawn", namespace: "agents" }, named("agents__spawn")],
    [{ type: "custom", name: "c" }, named("c")],
    [{ type: "web_search_preview" }, named("web_search_preview")],
    [{ type: "mcp", server_label: "docs", name: "search" }, named("docs__search")],
    [{ type: "apply_patch" }, named("apply_patch")],
  ])("are chosen by %o", async (tool_choice, toolChoice) => {
    const group = {
      type: "namespace",
      name: "agents",
      description: "",
      tools: [{ type: "function", name: "spawn" }],
    };
    const request = await toRequest({ tools: [weather, group] as never, tool_choice: tool_choice as never });
    expect(request.toolChoice).toEqual(toolChoice);
  });

  it("are only those that the choice allows", async () => {
    const request = await toRequest({
      tools: [weather, { type: "web_search" }, { type: "custom", name: "c" }],
      tool_choice: {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "function", name: "get_weather" }, { type: "web_search" }],
      },
    });
    expect(request.toolChoice).toEqual({ mode: "MODE_REQUIRED" });
    expect(request.tools).toMatchObject([{ function: { name: "get_weather" } }, { hosted: {} }]);
  });

  it("may be called at the same time if there are any", async () => {
    const choice = { mode: "MODE_AUTO", parallel: false };
    expect((await toRequest({ tools: [weather], parallel_tool_calls: false })).toolChoice).toEqual(choice);
    expect((await toRequest({ parallel_tool_calls: false })).toolChoice).toBeUndefined();
  });

  it("cannot be those of a server if there are others", async () => {
    const mcp = { type: "mcp", server_label: "docs", server_url: "https://d.test" };
    const tool_choice = { type: "mcp", server_label: "docs" };
    const request = await toRequest({ tools: [mcp] as never, tool_choice: tool_choice as never });
    expect(request.toolChoice).toEqual({ mode: "MODE_REQUIRED" });
    await expect(
      toRequest({ tools: [mcp, weather] as never, tool_choice: tool_choice as never }),
    ).rejects.toMatchObject({
      violations: [{ field: "tool_choice.name" }],
    });
  });

  it("are those of the previous response if the request has none", async () => {
    const { echoed } = defaultSettings;
    const previous = {
      ...create(RunSchema, { id: `run_${hex}` }),
      origin: getOrigin({ ...defaultSettings, echoed: { ...echoed, tools: [weather as never] } }),
    };
    const body = { model: "gpt-5.2", input: "hi", previous_response_id: `resp_${hex}` };
    const { input, settings } = await read(body, { runs: [previous] });
    expect(input.request).toMatchObject({ inheritTools: true, previousRunId: `run_${hex}` });
    expect(settings.echoed.tools).toEqual([weather]);
    const withoutTools = await read({ ...body, tools: [] }, { runs: [previous] });
    expect(withoutTools.input.request.inheritTools).toBe(false);
    await expect(read(body)).rejects.toThrow(`Previous response with id 'resp_${hex}' not found`);
  });
});

describe("the path of what the engine finds wrong", () => {
  it("is that of the body", async () => {
    const { toBodyPath } = await read({
      model: "m",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "a" },
            { type: "input_image", image_url: "b" },
          ],
        },
        { role: "assistant", content: "c" },
        { type: "function_call", call_id: "x", name: "f", arguments: "{}" },
      ],
      tools: [
        { type: "namespace", name: "n", description: "", tools: [weather] },
        { type: "mcp", server_label: "d" },
      ],
    });
    expect(toBodyPath("options.request.messages[0].content[1].image")).toBe("input[0].content[1]");
    expect(toBodyPath("messages[1].content[1].tool_call.id")).toBe("input[2]");
    expect(toBodyPath("messages[1]")).toBe("input[1]");
    expect(toBodyPath("options.request.tools[0].function.name")).toBe("tools[0].tools[0]");
    expect(toBodyPath("mcp_servers[0].server_url")).toBe("tools[1]");
    expect(toBodyPath("options.request.max_tokens")).toBe("max_output_tokens");
    expect(toBodyPath("options.request.tool_choice.mode")).toBe("tool_choice");
    expect(toBodyPath("metadata")).toBe("metadata");
  });
});

const deep = `${"[".repeat(300)}${"]".repeat(300)}`;

describe("a body that is wrong", () => {
  it.each<[string, string | object, string | undefined, RegExp]>([
    ["no bytes", "", undefined, /found nothing/],
    ["text that is not JSON", "{", undefined, /not JSON/],
    ["a list in place of an object", "[]", undefined, /found a list/],
    ["too many levels", `{"model":"m","input":${deep}}`, undefined, /256 levels/],
    ["an empty model", { model: "", input: "hi" }, "model", /at least 1 characters/],
    ["no input", { model: "m" }, "input", /is missing/],
    ["an empty input", { model: "m", input: [] }, "input", /is missing/],
    [
      "an input of another type",
      { model: "m", input: 1 },
      "input",
      /expected a text or a list of items, found a number/,
    ],
    ["an item of another type", { model: "m", input: ["a"] }, "input[0]", /expected an object, found a text/],
    ["an item without a type", { model: "m", input: [{}] }, "input[0].type", /is missing/],
    ["an unknown item", { model: "m", input: [{ type: "x" }] }, "input[0].type", /found "x"/],
    [
      "an unknown role",
      { model: "m", input: [{ role: "boss", content: "" }] },
      "input[0].role",
      /found "boss"/,
    ],
    ["an item without content", { model: "m", input: [{ role: "user" }] }, "input[0].content", /is missing/],
    [
      "an unknown part",
      { model: "m", input: [{ role: "user", content: [{ type: "video" }] }] },
      "input[0].content[0].type",
      /found "video"/,
    ],
    [
      "an image with two sources",
      { model: "m", input: [{ type: "input_image", image_url: "a", file_id: "b" }] },
      "input[0].file_id",
      /together with image_url/,
    ],
    [
      "an image with a wrong source",
      { model: "m", input: [{ role: "user", content: [{ type: "input_image", image_url: { url: "a" } }] }] },
      "input[0].content[0].image_url",
      /expected a text, found an object/,
    ],
    [
      "a file that is not base64",
      { model: "m", input: [{ type: "input_file", file_data: "%%" }] },
      "input[0].file_data",
      /expected base64/,
    ],
    ["half a character", '{"model":"m","input":"\\ud800"}', "input", /unpaired surrogate/],
    [
      "a temperature out of range",
      { model: "m", input: "a", temperature: 3 },
      "temperature",
      /from 0 to 2, found 3/,
    ],
    [
      "a fraction of a token",
      { model: "m", input: "a", max_output_tokens: 1.5 },
      "max_output_tokens",
      /whole number/,
    ],
    [
      "too many labels",
      { model: "m", input: "a", metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [n, ""])) },
      "metadata",
      /at most 16/,
    ],
    [
      "a label that is no text",
      { model: "m", input: "a", metadata: { a: 1 } },
      "metadata.a",
      /expected a text/,
    ],
    ["a long label", { model: "m", input: "a", metadata: { a: "x".repeat(513) } }, "metadata.a", /512/],
    ["a tool without a type", { model: "m", input: "a", tools: [{}] }, "tools[0].type", /is missing/],
    [
      "a tool without a name",
      { model: "m", input: "a", tools: [{ type: "function", name: "" }] },
      "tools[0].name",
      /at least 1/,
    ],
    [
      "a server without a label",
      { model: "m", input: "a", tools: [{ type: "mcp", server_label: "", server_url: "https://d.test" }] },
      "tools[0].server_label",
      /at least 1/,
    ],
    [
      "an empty grammar",
      {
        model: "m",
        input: "a",
        tools: [{ type: "custom", name: "c", format: { type: "grammar", syntax: "lark", definition: "" } }],
      },
      "tools[0].format.definition",
      /at least 1/,
    ],
    [
      "a block of another provider without its data",
      { model: "m", input: [{ type: "anthropic:server_tool_use", id: "x" }] },
      "input[0].data",
      /is missing/,
    ],
    ["no room for an answer", { model: "m", input: "a", max_output_tokens: 0 }, "max_output_tokens", /1/],
    ["too high a temperature", { model: "m", input: "a", temperature: 2.1 }, "temperature", /2/],
    ["too high a top_p", { model: "m", input: "a", top_p: 1.1 }, "top_p", /1/],
    [
      "a group in a group",
      { model: "m", input: "a", tools: [{ type: "namespace", name: "a", tools: [{ type: "namespace" }] }] },
      "tools[0].tools[0]",
      /found a namespace/,
    ],
    [
      "a connector of OpenAI",
      { model: "m", input: "a", tools: [{ type: "mcp", server_label: "a", connector_id: "b" }] },
      "tools[0].connector_id",
      /server_url/,
    ],
    [
      "a schema that is missing",
      { model: "m", input: "a", text: { format: { type: "json_schema", name: "a" } } },
      "text.format.schema",
      /is missing/,
    ],
    [
      "a response that is none",
      { model: "m", input: "a", previous_response_id: "resp_1" },
      "previous_response_id",
      /Previous response with id 'resp_1' not found/,
    ],
    [
      "no store and a previous response that is none",
      { model: "m", input: "a", store: false, previous_response_id: "resp_1" },
      "previous_response_id",
      /store: false/,
    ],
    [
      "two conversations",
      { model: "m", input: "a", conversation: `conv_${hex}`, previous_response_id: `resp_${hex}` },
      "conversation",
      /together with previous_response_id/,
    ],
    [
      "no store and a previous response",
      { model: "m", input: "a", store: false, previous_response_id: `resp_${hex}` },
      "previous_response_id",
      /store: false/,
    ],
    [
      "no store and a conversation",
      { model: "m", input: "a", store: false, conversation: `conv_${hex}` },
      "conversation",
      /store: false/,
    ],
    [
      "no store in the background",
      { model: "m", input: "a", store: false, background: true },
      "background",
      /store: false/,
    ],
  ])("is refused if it has %s", async (_name, body, field, message) => {
    const failure = await read(body).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({
      name: "InvalidRequestError",
      message: expect.stringMatching(message),
      violations: field === undefined ? [] : [{ field }],
    });
  });

  it("is not found if its conversation does not exist", async () => {
    const body = { model: "m", input: "a", conversation: { id: "conv_1" } };
    const failure = await read(body).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ name: "NotFoundError", violations: [{ field: "conversation" }] });
  });

  it("is refused if it is not UTF-8", async () => {
    await expect(read(new Uint8Array([0x7b, 0xff, 0x7d]))).rejects.toThrow("UTF-8");
  });

  it("takes time that grows with its size alone", async () => {
    const group = (length: number) => ({
      model: "m",
      input: "hi",
      tools: [
        {
          type: "namespace",
          name: "n",
          description: "",
          tools: Array.from({ length }, () => ({ type: "function", name: "f" })),
        },
      ],
    });
    // Quadratic work on this would take minutes.
    const { input } = await read(group(200_000));
    expect(input.request.options?.request?.tools).toHaveLength(200_000);
    const calls = Array.from({ length: 100_000 }, (_, n) => ({
      type: "function_call",
      call_id: `c${n}`,
      name: "f",
      arguments: "{}",
    }));
    expect((await read({ model: "m", input: calls })).input.input).toHaveLength(1);
    const said = { role: "assistant", content: "a long text ".repeat(50) };
    const state = { provider: "p", model: "m", dataJson: "{}" };
    const kept = create(ContentPartSchema, { part: { case: "text", value: "gone" }, providerState: state });
    const carrier = { type: "reasoning", summary: [], encrypted_content: encodeOtherParts([kept]) };
    const turn = Array.from({ length: 10_000 }, () => [said, carrier]).flat();
    expect((await read({ model: "m", input: turn })).input.input).toHaveLength(1);
  });

  it("has at most 64 warnings", async () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`field_${n}`, n]));
    const { settings } = await read({ model: CLAUDE, input: "hi", ...fields });
    expect(settings.warnings).toHaveLength(64);
    expect(settings.warnings.at(-1)?.code).toBe("limit_reached");
  });

  it("does not reach the prototypes of objects", async () => {
    const body =
      '{"model":"__proto__","input":"hi","__proto__":{"store":false},"metadata":{"__proto__":"x"}}';
    const { input } = await read(body);
    expect(input.request.store).toBe(true);
    expect(({} as Record<string, unknown>).store).toBeUndefined();
  });
});

describe("A body that was parsed before", () => {
  it("is read with the spelling of its text, which may have further members", async () => {
    const schema = '{"type":"object","properties":{"2":{"minimum":1.0},"1":{"maximum":1e2}}}';
    const tools = `[{"type":"function","name":"f","parameters":${schema}}]`;
    const text = `{"type":"response.create","model":"gpt-5.2","input":"hi","tools":${tools}}`;
    const { type: _, ...body } = JSON.parse(text);
    const { input } = await read(toFields(body, () => text));
    expect(input.request.options?.request?.tools[0]?.tool.value).toMatchObject({ parametersJson: schema });
  });

  it("must not nest too deep", () => {
    const input = JSON.parse("[".repeat(256) + "]".repeat(256));
    expect(() => toFields({ input }, () => "")).toThrow("expected at most 256 levels of JSON in the body");
  });
});

it("A large body is read in a later turn of the event loop than the parsing", async () => {
  // Work that earlier tests have left would begin the next turn.
  for (let left = 3; left > 0; left -= 1) await new Promise((resolve) => setImmediate(resolve));
  let turns = 0;
  setImmediate(() => (turns += 1));
  const fields = await parseRequest(Buffer.from(JSON.stringify({ input: "x".repeat(2 * 1024 * 1024) })));
  expect([turns, fields.has("input")]).toEqual([1, true]);
});
