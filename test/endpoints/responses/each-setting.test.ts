/** Each setting of a request: what the response repeats, its bounds, and its path in errors of the engine. */
import { create, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { getToolPaths } from "../../../src/endpoints/responses/request-paths.ts";
import { defaultSettings, getOrigin } from "../../../src/endpoints/responses/settings.ts";
import { RunSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { read } from "./support/reading.ts";

const hex = "0123456789abcdef".repeat(2);
const CLAUDE = "anthropic/claude-sonnet-4-5";

/** Reads a body that is valid but for the given fields. */
function readWith(fields: object, model = "gpt-5.2") {
  return read({ model, input: "hi", ...fields });
}

async function getProblem(fields: object, model?: string): Promise<string> {
  const failure = await readWith(fields, model).catch((thrown: unknown) => thrown);
  if (!(failure instanceof Error)) throw new Error("expected a failure");
  return failure.message;
}

describe("The settings that a response repeats", () => {
  it("are those of the request", async () => {
    const given = {
      background: true,
      frequency_penalty: 0.5,
      instructions: "Be brief.",
      max_output_tokens: 100,
      max_tool_calls: 3,
      metadata: { team: "a" },
      parallel_tool_calls: false,
      presence_penalty: -0.5,
      prompt: { id: "pmpt_1" },
      prompt_cache_key: "key",
      prompt_cache_retention: "24h",
      reasoning: { effort: "low", summary: "auto" },
      safety_identifier: "someone",
      service_tier: "flex",
      temperature: 0.25,
      text: { format: { type: "json_object" }, verbosity: "low" },
      tool_choice: "none",
      tools: [{ type: "web_search" }],
      top_logprobs: 2,
      top_p: 0.75,
      truncation: "auto",
      user: "other",
    };
    const { settings } = await readWith({ ...given, conversation: `conv_${hex}`, include: ["a", "b"] });
    expect(settings.echoed).toEqual({
      ...given,
      store: true,
      conversation: { id: `conv_${hex}` },
      previous_response_id: null,
    });
    expect(settings.include).toEqual(["a", "b"]);
  });

  it("name the response before", async () => {
    const run = { ...create(RunSchema, { id: `run_${hex}` }), origin: getOrigin(defaultSettings) };
    const body = { model: "gpt-5.2", input: "hi", previous_response_id: `resp_${hex}` };
    const { settings } = await read(body, { runs: [run] });
    expect(settings.echoed.previous_response_id).toBe(`resp_${hex}`);
  });

  it("have the defaults of functions and of formats with a schema", async () => {
    const { settings } = await readWith({
      tools: [{ type: "function", name: "f" }],
      text: { format: { type: "json_schema", name: "p", schema: {} } },
      tool_choice: { type: "function", name: "f" },
      top_logprobs: 0,
    });
    expect(settings.echoed).toMatchObject({
      tools: [{ type: "function", name: "f", description: null, parameters: null, strict: false }],
      text: { format: { type: "json_schema", name: "p", schema: {}, description: null, strict: false } },
      tool_choice: { type: "function", name: "f" },
    });
  });

  it("have no secret of a server", async () => {
    const server = { type: "mcp", server_label: "d", server_url: "https://d.test" };
    const { settings } = await readWith({ tools: [{ ...server, authorization: "a", headers: { b: "c" } }] });
    expect(settings.echoed.tools).toEqual([{ ...server, headers: null }]);
  });
});

describe("A setting at its bound", () => {
  it.each<[object]>([
    [{ model: "m".repeat(512) }],
    [{ temperature: 0 }],
    [{ temperature: 2 }],
    [{ top_p: 0.01 }],
    [{ top_p: 1 }],
    [{ max_output_tokens: 1 }],
    [{ max_tool_calls: 1 }],
    [{ top_logprobs: 20 }],
    [{ reasoning: { effort: "e".repeat(64) } }],
    [{ include: Array.from({ length: 64 }, () => "reasoning.encrypted_content") }],
    [{ text: { format: { type: "json_schema", name: "n".repeat(64), schema: {} } } }],
    [{ metadata: Object.fromEntries(Array.from({ length: 16 }, (_, n) => [n, ""])) }],
    [{ metadata: { ["k".repeat(64)]: "v".repeat(512) } }],
  ])("is accepted: %j", async (fields) => {
    await expect(readWith(fields)).resolves.toBeDefined();
  });

  it.each<[object, string]>([
    [{ model: "m".repeat(513) }, "model: expected at most 512 characters, found 513"],
    [{ temperature: -0.1 }, "temperature: expected a number from 0 to 2, found -0.1"],
    [{ top_p: -0.1 }, "top_p: expected a number from 0 to 1, found -0.1"],
    [{ max_output_tokens: 0 }, "max_output_tokens: expected a number from 1, found 0"],
    [{ max_tool_calls: 0 }, "max_tool_calls: expected a number from 1, found 0"],
    [{ top_logprobs: 21 }, "top_logprobs: expected a number from 0 to 20, found 21"],
    [{ top_logprobs: -1 }, "top_logprobs: expected a number from 0 to 20, found -1"],
    [{ reasoning: { effort: "e".repeat(65) } }, "reasoning.effort: expected at most 64 characters, found 65"],
    [{ include: Array.from({ length: 65 }, () => "a") }, "include: expected at most 64 elements, found 65"],
    [{ truncation: "maybe" }, 'truncation: expected "auto" or "disabled", found "maybe"'],
    [{ stream: "yes" }, "stream: expected true or false, found a text"],
    [{ background: 1 }, "background: expected true or false, found a number"],
    [{ previous_response_id: "" }, "previous_response_id: expected at least 1 characters, found 0"],
    [{ conversation: {} }, "conversation.id: is missing, expected the id of a conversation"],
    [{ conversation: { id: "" } }, "conversation.id: expected at least 1 characters, found 0"],
    [
      { text: { format: { type: "xml" } } },
      'text.format.type: expected "text", "json_object" or "json_schema", found "xml"',
    ],
    [
      { text: { format: { type: "json_schema", schema: {} } } },
      "text.format.name: is missing, expected a text",
    ],
    [
      { text: { format: { type: "json_schema", name: "p" } } },
      "text.format.schema: is missing, expected a JSON Schema",
    ],
    [
      { text: { format: { type: "json_schema", name: "", schema: {} } } },
      "text.format.name: expected at least 1 characters, found 0",
    ],
    [
      { text: { format: { type: "json_schema", name: "n".repeat(65), schema: {} } } },
      "text.format.name: expected at most 64 characters, found 65",
    ],
    [{ metadata: { ["k".repeat(65)]: "" } }, "metadata"],
  ])("is refused beyond it: %j", async (fields, problem) => {
    expect(await getProblem(fields)).toContain(problem);
  });

  it.each([
    ["local/m", { frequency_penalty: 2.5 }, "frequency_penalty: expected a number from -2 to 2, found 2.5"],
    ["local/m", { presence_penalty: -2.5 }, "presence_penalty: expected a number from -2 to 2, found -2.5"],
    [CLAUDE, { prompt: {} }, "prompt: is a template stored by OpenAI, but another provider serves the model"],
    [CLAUDE, { moderation: {} }, "moderation: is done by OpenAI, but another provider serves the model"],
  ])("is refused for %s: %j", async (model, fields, problem) => {
    expect(await getProblem(fields, model)).toContain(problem);
  });

  it("may be a penalty of 2 or -2", async () => {
    const { input } = await readWith({ frequency_penalty: 2, presence_penalty: -2 }, "local/m");
    expect(input.request.options?.request?.providerOptionsJson).toEqual({
      local: '{"frequency_penalty":2,"presence_penalty":-2}',
    });
  });
});

describe("The settings of one provider", () => {
  it.each([
    ["default", { anthropic: '{"service_tier":"standard_only"}' }],
    ["priority", { anthropic: '{"service_tier":"auto"}' }],
    ["fast", { anthropic: '{"service_tier":"auto"}' }],
    ["auto", {}],
  ])("are Anthropic's tier for service_tier %s", async (service_tier, options) => {
    const { input, settings } = await readWith({ service_tier }, CLAUDE);
    expect(input.request.options?.request?.providerOptionsJson).toEqual(options);
    expect(settings.warnings).toEqual([]);
  });

  it.each([
    [{ user: "u" }, "u"],
    [{ safety_identifier: "s" }, "s"],
    [{ user: "u", safety_identifier: "s" }, "s"],
  ])("name Anthropic's user by %j", async (fields, user_id) => {
    const { input, settings } = await readWith(fields, CLAUDE);
    expect(input.request.options?.request?.metadata).toEqual({ user_id });
    expect(settings.warnings).toEqual([]);
  });

  it("are Gemini's penalties, each by itself", async () => {
    const getOptions = async (fields: object) =>
      (await readWith(fields, "gemini/m")).input.request.options?.request?.providerOptionsJson;
    expect(await getOptions({ presence_penalty: 1 })).toEqual({
      gemini: '{"generationConfig":{"presencePenalty":1}}',
    });
    expect(await getOptions({ presence_penalty: 0, frequency_penalty: 0 })).toEqual({});
  });

  it("are not those of OpenAI's background mode, which the sidecar replaces", async () => {
    const given = { background: true, background_options: { completion_window: "2h" }, truncation: "auto" };
    const { input, settings } = await readWith(given, "openai/gpt-5.2");
    expect(input.request.options?.request?.providerOptionsJson).toEqual({ openai: '{"truncation":"auto"}' });
    expect(settings.warnings).toMatchObject([{ param: "background_options", code: "unsupported_setting" }]);
  });

  it("cause no warning if they are read elsewhere", async () => {
    const { settings } = await readWith(
      {
        background: false,
        conversation: `conv_${hex}`,
        include: [],
        instructions: "Be brief.",
        max_output_tokens: 10,
        max_tool_calls: 1,
        metadata: {},
        parallel_tool_calls: true,
        reasoning: { effort: "low" },
        store: true,
        stream: true,
        stream_options: {},
        temperature: 1,
        text: {},
        tool_choice: "auto",
        tools: [],
        top_p: 1,
        truncation: "disabled",
        service_tier: "auto",
        top_logprobs: 0,
        a_field_that_is_null: null,
      },
      CLAUDE,
    );
    expect(settings.warnings).toEqual([]);
  });

  it("cause no other options for OpenAI than those that it alone knows", async () => {
    const { input, settings } = await readWith({
      background: false,
      instructions: "Be brief.",
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: "low", summary: null },
      stream: true,
      text: { verbosity: "high" },
      tools: [],
      frequency_penalty: 0,
      include: ["reasoning.encrypted_content"],
    });
    expect(input.request.options?.request?.providerOptionsJson).toEqual({
      openai: '{"text":{"verbosity":"high"}}',
    });
    expect(settings.warnings).toEqual([]);
  });
});

describe("A tool of a request", () => {
  it.each([
    "apply_patch",
    "code_interpreter",
    "computer",
    "computer_use_preview",
    "file_search",
    "image_generation",
    "local_shell",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
  ])("that OpenAI executes keeps its provider: %s", async (type) => {
    const { input } = await readWith({ tools: [{ type }] }, CLAUDE);
    expect(input.request.options?.request?.tools[0]?.tool.value).toMatchObject({ provider: "openai" });
  });

  it.each<[object, string]>([
    [{ type: "" }, "tools[0].type: expected at least 1 characters, found 0"],
    [{ type: "function" }, "tools[0].name: is missing, expected a text"],
    [{ type: "namespace", tools: [] }, "tools[0].name: is missing, expected a text"],
    [{ type: "namespace", name: "", tools: [] }, "tools[0].name: expected at least 1 characters, found 0"],
    [{ type: "namespace", name: "n" }, "tools[0].tools: is missing, expected a list of tools"],
    [
      { type: "custom", name: "c", format: { type: "grammar" } },
      'tools[0].format.syntax: is missing, expected "lark" or "regex"',
    ],
    [
      { type: "custom", name: "c", format: { type: "grammar", syntax: "ebnf" } },
      'tools[0].format.syntax: expected "lark" or "regex", found "ebnf"',
    ],
    [
      { type: "custom", name: "c", format: { type: "grammar", syntax: "regex" } },
      "tools[0].format.definition: is missing, expected a text",
    ],
    [
      { type: "custom", name: "c", format: { type: "json" } },
      'tools[0].format.type: expected "text" or "grammar", found "json"',
    ],
    [{ type: "mcp" }, "tools[0].server_label: is missing, expected a text"],
    [
      { type: "mcp", server_label: "d", connector_id: "c" },
      "tools[0].connector_id: is not supported, since the sidecar calls MCP servers itself",
    ],
    [
      { type: "mcp", server_label: "d", tunnel_id: "c" },
      "tools[0].tunnel_id: is not supported, since the sidecar calls MCP servers itself",
    ],
    [
      { type: "mcp", server_label: "d", require_approval: "sometimes" },
      'tools[0].require_approval: expected "always" or "never", found "sometimes"',
    ],
    [
      { type: "mcp", server_label: "d", allowed_tools: [1] },
      "tools[0].allowed_tools[0]: expected a text, found a number",
    ],
    [
      { type: "mcp", server_label: "d", headers: { a: 1 } },
      "tools[0].headers.a: expected a text, found a number",
    ],
  ])("is refused: %j", async (tool, problem) => {
    expect(await getProblem({ tools: [tool] })).toContain(problem);
  });

  it.each([
    [undefined, "APPROVAL_POLICY_ALWAYS"],
    ["always", "APPROVAL_POLICY_ALWAYS"],
    ["never", "APPROVAL_POLICY_NEVER"],
  ])("of a server with require_approval %j needs %s", async (require_approval, approval) => {
    const tool = { type: "mcp", server_label: "d", server_description: "Docs.", require_approval };
    const { input } = await readWith({ tools: [tool] });
    expect(toJson(CreateRunRequestSchema, input.request)).toMatchObject({
      mcpServers: [{ serverLabel: "d", serverDescription: "Docs.", approval }],
    });
  });

  it("of a server has filters", async () => {
    const tool = {
      type: "mcp",
      server_label: "d",
      allowed_tools: { read_only: true },
      require_approval: { always: { tool_names: ["a"] }, never: { read_only: false } },
    };
    const { input } = await readWith({ tools: [tool] });
    expect(toJson(CreateRunRequestSchema, input.request)).toMatchObject({
      mcpServers: [
        {
          allowedTools: { readOnly: true },
          approval: "APPROVAL_POLICY_ALWAYS",
          alwaysApprove: { toolNames: ["a"] },
          neverApprove: { readOnly: false },
        },
      ],
    });
    const [server] = input.request.mcpServers;
    expect([server?.allowedTools?.toolNames, server?.alwaysApprove?.readOnly]).toEqual([[], undefined]);
  });

  it("that would be loaded later is loaded at once, with a warning", async () => {
    const tools = [
      { type: "function", name: "f", defer_loading: true },
      { type: "mcp", server_label: "d", defer_loading: true },
      { type: "function", name: "g", defer_loading: false },
    ];
    const { settings, input } = await readWith({ tools }, CLAUDE);
    expect(settings.warnings.map(({ param, message }) => `${param}: ${message}`)).toEqual([
      expect.stringMatching(/^tools\[0\]\.defer_loading: .*the model's provider has no tool search/),
      expect.stringMatching(/^tools\[1\]\.defer_loading: .*all tools of the server are loaded at once/),
    ]);
    expect(input.request.options?.request?.tools).toHaveLength(2);
  });

  it("is read with a warning about each field that other providers do not have", async () => {
    const tools = [
      { type: "function", name: "f", parameters: {}, strict: null, output_schema: {}, allowed_callers: null },
      { type: "custom", name: "g", format: { type: "text" }, output_schema: {} },
    ];
    const params = async (model: string) =>
      (await readWith({ tools }, model)).settings.warnings.map(({ param }) => param);
    expect(await params(CLAUDE)).toEqual(["tools[0].output_schema", "tools[1].output_schema"]);
    expect(await params("gpt-5.2")).toEqual([]);
  });

  it("is sent to OpenAI unchanged if there is a search for tools", async () => {
    const group = {
      type: "namespace",
      name: "n",
      description: "N.",
      tools: [{ type: "function", name: "f" }],
    };
    const later = { type: "function", name: "g", defer_loading: true };
    const plain = { type: "function", name: "h" };
    const { input } = await readWith({ tools: [{ type: "tool_search" }, group, later, plain] });
    const tools = input.request.options?.request?.tools ?? [];
    expect(tools.map(({ tool }) => tool.case)).toEqual(["hosted", "hosted", "hosted", "function"]);
  });

  it("has the schema of an object, whatever the root of its parameters leaves out", async () => {
    const tools = [
      { type: "function", name: "a", parameters: {} },
      { type: "function", name: "b", parameters: { properties: {} } },
      { type: "function", name: "c", parameters: { type: "object" }, strict: true },
      { type: "custom", name: "d", format: { type: "text" } },
      { type: "custom", name: "e", format: { type: "grammar", syntax: "regex", definition: "a+" } },
    ];
    const { input } = await readWith({ tools });
    expect(input.request.options?.request?.tools.map(({ tool }) => tool.value)).toMatchObject([
      { parametersJson: "", strict: false },
      { parametersJson: '{"type":"object","properties":{}}' },
      { parametersJson: '{"type":"object"}', strict: true },
      { name: "d" },
      { name: "e", grammar: { syntax: 2, definition: "a+" } },
    ]);
  });

  it("of a group names the group, if the group has a description", async () => {
    const member = (name: string, description?: string) => ({ type: "function", name, description });
    const tools = [
      { type: "namespace", name: "n", description: "Both.", tools: [member("a"), member("b", "B.")] },
      { type: "namespace", name: "o", tools: [member("c", "C.")] },
    ];
    const { input } = await readWith({ tools });
    expect(input.request.options?.request?.tools.map(({ tool }) => tool.value)).toMatchObject([
      { name: "n__a", description: 'About the tools of "n": Both.' },
      { name: "n__b", description: "B." },
      { name: "o__c", description: "C." },
    ]);
  });
});

describe("A field of the engine", () => {
  it.each([
    ["options.request.max_tokens", "max_output_tokens"],
    ["options.request.reasoning_effort", "reasoning.effort"],
    ["options.request.response_format.schema_json", "text.format.schema"],
    ["options.request.response_format.schema_json#/properties/a", "text.format.schema#/properties/a"],
    ["options.request.response_format.type", "text.format"],
    ["options.request.response_format", "text.format"],
    ["options.request.tool_choice.parallel", "parallel_tool_calls"],
    ["options.request.tool_choice", "tool_choice"],
    ["options.limits.max_tool_calls", "max_tool_calls"],
    ["options.request.provider", "model"],
    ["options.request.messages", "input"],
    ["options.request.messages[7]", "input"],
    ["options.system", "instructions"],
    ["previous_run_id", "previous_response_id"],
    ["thread_id", "conversation"],
    ["input", "input"],
    ["input[0].content[0].text", "input"],
    ["approvals[2].tool_call_id", "input"],
    ["mcp_servers", "tools"],
    ["mcp_servers[4].server_url", "tools"],
    ['options.request.provider_options_json["openai"].service_tier', "service_tier"],
    ["options.request.tools[0].function.parameters_json", "tools[0]"],
    ["options.request.top_p", "top_p"],
    ["systems", "systems"],
  ])("%s is called %s", async (field, path) => {
    const { toBodyPath } = await readWith({ tools: [{ type: "function", name: "f" }] });
    expect(toBodyPath(field)).toBe(path);
  });

  it("that is a tool is found in the tools of the body", () => {
    const tools = [
      { type: "mcp" },
      { type: "namespace", tools: [{ type: "function" }, { type: "custom" }] },
      { type: "function" },
      { type: "namespace" },
    ];
    expect(getToolPaths(tools)).toEqual(["tools[1].tools[0]", "tools[1].tools[1]", "tools[2]"]);
  });
});
