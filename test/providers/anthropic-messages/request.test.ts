import { describe, expect, it } from "vitest";
import { assistantMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import {
  ResponseFormat_Type as Format,
  LossPolicy,
  ToolChoice_Mode as Mode,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { build, options, type RequestInit } from "./build-request.ts";

const WEATHER = {
  tool: {
    case: "function",
    value: { name: "weather", description: "Tells it.", parametersJson: '{"type":"object","properties":{}}' },
  },
} as const;
const SEARCH = {
  tool: {
    case: "hosted",
    value: { provider: "anthropic", configJson: '{"type":"web_search_20250305","name":"web_search"}' },
  },
} as const;

/** Some fields of the body, and the warnings. */
async function sent(init: RequestInit, ...keys: string[]) {
  const { body, warnings } = await build(init);
  return { ...Object.fromEntries(keys.map((key) => [key, body[key]])), warnings };
}

describe("reasoning_effort", () => {
  const settingsFor = (model: string, reasoningEffort: string, more: RequestInit = {}) =>
    sent({ model, reasoningEffort, ...more }, "thinking", "output_config", "max_tokens");

  it("is sent as adaptive thinking with a summary and an effort for models that have them", async () => {
    expect(await settingsFor("claude-opus-4-6", "high")).toEqual({
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
      max_tokens: 32_768,
      warnings: [],
    });
  });

  it("is sent as a budget for models that have nothing else, with max_tokens above it", async () => {
    expect(await settingsFor("claude-sonnet-4-5", "medium")).toEqual({
      thinking: { type: "enabled", budget_tokens: 8192 },
      output_config: undefined,
      max_tokens: 32_768,
      warnings: [],
    });
    expect(await settingsFor("claude-opus-4-5", "low")).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 2048 },
      output_config: { effort: "low" },
    });
  });

  it.each([
    ["minimal", 1024],
    ["low", 2048],
    ["medium", 8192],
    ["high", 16_384],
    ["xhigh", 24_576],
    ["max", 32_000],
  ])("is sent as a budget to a model that is not known: %s as %i tokens", async (effort, budget) => {
    expect(await settingsFor("somebody-elses-model", effort)).toMatchObject({
      thinking: { type: "enabled", budget_tokens: budget },
      warnings: [],
    });
  });

  it.each([
    [20_000, 16_384],
    [17_408, 16_384],
    [17_407, 16_383],
    [16_384, 15_360],
    [4096, 3072],
    [2000, 1500],
    [1366, 1024],
  ])("never raises a max_tokens of %i, and lowers the budget to %i", async (maxTokens, budget) => {
    expect(await settingsFor("claude-sonnet-4-5", "high", { maxTokens })).toMatchObject({
      thinking: { type: "enabled", budget_tokens: budget },
      max_tokens: maxTokens,
      warnings: budget === 16_384 ? [] : ["adjusted_setting reasoning_effort"],
    });
  });

  it.each([1365, 1000, 1])("turns thinking off if max_tokens is %i", async (maxTokens) => {
    const more = { maxTokens, temperature: 0.5 };
    const { body, warnings } = await build({ model: "claude-sonnet-4-5", reasoningEffort: "high", ...more });
    expect(body).toMatchObject({ thinking: { type: "disabled" }, max_tokens: maxTokens, temperature: 0.5 });
    expect(warnings).toEqual(["adjusted_setting reasoning_effort"]);
    await expect(
      build({ reasoningEffort: "high", maxTokens, lossPolicy: LossPolicy.REFUSE }),
    ).rejects.toThrow("reasoning_effort: max_tokens includes thinking");
  });

  it("leaves a budget in the caller's options alone, and refuses a max_tokens that is not above it", async () => {
    const thinking = { type: "enabled", budget_tokens: 4000 };
    for (const setting of [thinking, { budget_tokens: 4000 }])
      expect(
        await settingsFor("claude-sonnet-4-5", "low", { maxTokens: 4001, ...options({ thinking: setting }) }),
      ).toMatchObject({ max_tokens: 4001, warnings: [] });
    await expect(build({ maxTokens: 4000, ...options({ thinking }) })).rejects.toThrow(
      "max_tokens: expected more than the thinking budget of 4000, found 4000",
    );
  });

  it("turns thinking off as far as possible if it is none", async () => {
    expect(await settingsFor("claude-opus-5", "none")).toMatchObject({
      thinking: { type: "disabled" },
      warnings: [],
    });
    expect(await settingsFor("claude-sonnet-5-5", "none")).toMatchObject({
      thinking: { type: "between_tools" },
      output_config: undefined,
      warnings: ["adjusted_setting reasoning_effort"],
    });
    expect(await settingsFor("claude-opus-5-5", "none")).toMatchObject({
      output_config: { effort: "low" },
      warnings: ["adjusted_setting reasoning_effort"],
    });
  });

  it("is changed to the nearest effort of the model, and never from some to none", async () => {
    expect(await settingsFor("claude-opus-4-6", "xhigh")).toMatchObject({
      output_config: { effort: "high" },
      warnings: ["adjusted_setting reasoning_effort"],
    });
    expect(await settingsFor("claude-sonnet-4-5", "minimal")).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 2048 },
      warnings: ["adjusted_setting reasoning_effort"],
    });
  });

  it("is left out if the model does not reason, and sent unchanged if the model is unknown", async () => {
    expect(await settingsFor("claude-3-5-haiku-20241022", "high")).toMatchObject({
      thinking: undefined,
      warnings: ["unsupported_setting reasoning_effort"],
    });
    expect(await settingsFor("claude-jazz-7", "high")).toMatchObject({
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
    });
    expect(await settingsFor("somebody-elses-model", "high")).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 16_384 },
    });
    expect(await settingsFor("somebody-elses-model", "extreme")).toMatchObject({
      thinking: undefined,
      warnings: ["unsupported_setting reasoning_effort"],
    });
  });

  it("is overridden by thinking in the caller's options", async () => {
    const budget = { type: "enabled", budget_tokens: 4000 };
    expect(await settingsFor("claude-opus-4-6", "high", options({ thinking: budget }))).toMatchObject({
      thinking: budget,
      output_config: { effort: "high" },
    });
    expect(
      await settingsFor("claude-opus-4-6", "high", options({ thinking: { display: "omitted" } })),
    ).toMatchObject({
      thinking: { type: "adaptive", display: "omitted" },
    });
    expect(await settingsFor("claude-opus-4-6", "high", options({ thinking: null }))).toMatchObject({
      thinking: undefined,
    });
  });

  it("gives no budget to a turn whose tool calls were made without thinking", async () => {
    const messages = [
      userMessage("hi"),
      assistantMessage({
        part: {
          case: "toolCall",
          value: { id: "a", name: "weather", input: { case: "argumentsJson", value: "{}" } },
        },
      }),
      toolResult("a", "sun"),
    ];
    expect(await settingsFor("claude-sonnet-4-5", "high", { messages })).toMatchObject({
      thinking: { type: "disabled" },
      warnings: ["adjusted_setting reasoning_effort"],
    });
    const nextTurn = [...messages, assistantMessage("Sunny."), userMessage("And tomorrow?")];
    expect(await settingsFor("claude-sonnet-4-5", "high", { messages: nextTurn })).toMatchObject({
      thinking: { type: "enabled" },
      warnings: [],
    });
    expect(await settingsFor("claude-opus-4-6", "high", { messages })).toMatchObject({
      thinking: { type: "adaptive" },
    });
  });

  it("leaves out a budget in the caller's options in such a turn", async () => {
    const call = { id: "a", name: "weather", input: { case: "argumentsJson" as const, value: "{}" } };
    const called = [userMessage("hi"), assistantMessage({ part: { case: "toolCall", value: call } })];
    const messages = [...called, toolResult("a", "sun")];
    const budget = options({ thinking: { type: "enabled", budget_tokens: 2000 } });
    expect(await settingsFor("claude-sonnet-4-5", "", { ...budget, messages })).toMatchObject({
      thinking: { type: "disabled" },
      warnings: ["adjusted_setting reasoning_effort"],
    });
    // Models that cannot stop thinking take no budget, and begin wherever they want.
    expect(await settingsFor("claude-opus-5-5", "", { ...budget, messages })).toMatchObject({
      thinking: { type: "adaptive" },
      warnings: ["adjusted_setting reasoning_effort"],
    });
    const nextTurn = [...messages, assistantMessage("Sunny."), userMessage("And tomorrow?")];
    expect(await settingsFor("claude-sonnet-4-5", "", { ...budget, messages: nextTurn })).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 2000 },
      warnings: [],
    });
  });
});

describe("max_tokens", () => {
  const limit = async (model: string) => (await build({ model })).body.max_tokens;

  it("has a default that fits the model", async () => {
    expect(await limit("claude-3-5-haiku-20241022")).toBe(8192);
    expect(await limit("claude-sonnet-4-5")).toBe(16_384);
    // This model thinks by default.
    expect(await limit("claude-opus-5-5")).toBe(32_768);
    expect(await limit("claude-3-opus-20240229")).toBe(4096);
    expect(await limit("claude-jazz-7")).toBe(32_768);
    expect(await limit("somebody-elses-model")).toBe(4096);
  });

  it("is above the budget of an unknown model", async () => {
    const { body } = await build({ model: "somebody-elses-model", reasoningEffort: "high" });
    expect(body).toMatchObject({ thinking: { budget_tokens: 16_384 }, max_tokens: 20_480 });
  });

  it("is the caller's if the caller sets one", async () => {
    expect((await build({ maxTokens: 7 })).body.max_tokens).toBe(7);
  });
});

describe("temperature and top_p", () => {
  const settingsFor = (model: string, more: RequestInit) => sent({ model, ...more }, "temperature", "top_p");

  it("are sent if the model takes them, within the API's range", async () => {
    expect(await settingsFor("claude-opus-4-6", { temperature: 0.5, topP: 0.25 })).toEqual({
      temperature: 0.5,
      top_p: 0.25,
      warnings: [],
    });
    expect(await settingsFor("claude-opus-4-6", { temperature: 1.5 })).toMatchObject({
      temperature: 1,
      warnings: ["adjusted_setting temperature"],
    });
  });

  it("are not sent together to models that refuse both", async () => {
    expect(await settingsFor("claude-sonnet-4-5", { temperature: 0.5, topP: 0.25 })).toEqual({
      temperature: 0.5,
      top_p: undefined,
      warnings: ["unsupported_setting top_p"],
    });
  });

  it("are left out if the model thinks or never takes them, without a warning for 1", async () => {
    const both = ["unsupported_setting temperature", "unsupported_setting top_p"];
    const sampling = { temperature: 0, topP: 0.5 };
    expect((await settingsFor("claude-opus-4-6", { ...sampling, reasoningEffort: "low" })).warnings).toEqual(
      both,
    );
    expect((await settingsFor("claude-opus-4-7", sampling)).warnings).toEqual(both);
    expect(await settingsFor("claude-opus-4-7", { temperature: 1, topP: 1 })).toEqual({
      temperature: undefined,
      top_p: undefined,
      warnings: [],
    });
  });

  it("are left out for the newer version of the API", async () => {
    const { body, warnings } = await build(
      { model: "claude-opus-4-6", temperature: 0 },
      { apiVersion: "2026-10-21" },
    );
    expect(body.temperature).toBeUndefined();
    expect(warnings).toEqual(["unsupported_setting temperature"]);
  });
});

describe("stop_sequences, metadata and names", () => {
  it("are sent as far as the API takes them", async () => {
    const request = { stopSequences: ["END", " \n"], metadata: { user_id: "u1", team: "blue" } };
    expect(await sent(request, "stop_sequences", "metadata")).toEqual({
      stop_sequences: ["END"],
      metadata: { user_id: "u1" },
      warnings: ["unsupported_setting stop_sequences", "unsupported_setting metadata"],
    });
    const named = { ...userMessage("hi"), name: "Ada" };
    expect((await build({ messages: [named] })).warnings).toEqual(["unsupported_setting messages[0].name"]);
  });
});

describe("tools", () => {
  it("are sent exactly as written, without the hosted tools of other providers", async () => {
    const parametersJson = '{"type":"object","properties":{"z":{"default":1.0},"2":{},"1":{}}}';
    const verbatim = { tool: { case: "function", value: { name: "verbatim", parametersJson } } } as const;
    const withoutParameters = { tool: { case: "function", value: { name: "withoutParameters" } } } as const;
    const foreign = { tool: { case: "hosted", value: { provider: "openai", configJson: "{}" } } } as const;
    const { body, text, warnings } = await build({
      tools: [WEATHER, verbatim, withoutParameters, SEARCH, foreign],
    });
    expect(body.tools).toMatchObject([
      { name: "weather", description: "Tells it.", input_schema: { type: "object" } },
      { name: "verbatim" },
      { name: "withoutParameters", input_schema: { type: "object", properties: {} } },
      { type: "web_search_20250305", name: "web_search" },
    ]);
    expect(text).toContain(`"input_schema":${parametersJson}`);
    expect(warnings).toEqual(["unsupported_setting tools[4]"]);
  });

  it("are strict if the model supports that", async () => {
    const strict = { tool: { case: "function", value: { ...WEATHER.tool.value, strict: true } } } as const;
    expect((await build({ tools: [strict] })).body.tools).toMatchObject([{ name: "weather", strict: true }]);
    const old = await build({ model: "claude-3-5-haiku-20241022", tools: [strict] });
    expect(old.warnings).toEqual(["unsupported_setting tools[0].function.strict"]);
    expect(old.body.tools).not.toMatchObject([{ strict: true }]);
  });
});

describe("schemas", () => {
  const tool = (schema: unknown, strict: boolean) =>
    ({
      tool: { case: "function", value: { name: "t", parametersJson: JSON.stringify(schema), strict } },
    }) as const;

  it("describe rules in words that the provider does not enforce", async () => {
    const bounded = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const { body, warnings } = await build({ tools: [tool(bounded, true)] });
    expect(body.tools).toMatchObject([
      { strict: true, input_schema: { additionalProperties: false, properties: { n: { type: "integer" } } } },
    ]);
    expect(JSON.stringify(body.tools)).not.toContain('"minimum"');
    expect(warnings).toEqual(["adjusted_schema tools[0].function.parameters_json#/properties/n/minimum"]);
  });

  it("are sent unenforced if the provider cannot enforce them", async () => {
    const free = { type: "object", additionalProperties: { type: "string" } };
    const { body, warnings } = await build({ tools: [tool(free, true)] });
    expect(body.tools).toEqual([{ name: "t", input_schema: free }]);
    expect(warnings).toEqual(["adjusted_schema tools[0].function.parameters_json"]);
    const answer = await build({
      responseFormat: { type: Format.JSON_SCHEMA, schemaJson: JSON.stringify(free) },
    });
    expect(answer.body.output_config).toBeUndefined();
    expect(JSON.stringify(answer.body.system)).toContain("fits the JSON Schema");
    expect(answer.warnings).toEqual(["adjusted_schema response_format.schema_json"]);
  });

  it("of tool parameters have an object at the root", async () => {
    const either = {
      anyOf: [
        { type: "object", properties: { a: {} } },
        { type: "object", properties: { b: {} } },
      ],
    };
    const { body } = await build({ tools: [tool({ type: "object", ...either }, false)] });
    expect(body.tools).toMatchObject([{ input_schema: { type: "object" } }]);
    expect((body.tools as { input_schema: object }[])[0]?.input_schema).not.toHaveProperty("anyOf");
  });

  it("share the provider's limits of one request", async () => {
    const optional = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`p${n}`, { type: "string" }]));
    const wide = { type: "object", properties: optional };
    const { body, warnings } = await build({
      tools: [tool(wide, true), tool({ ...wide, title: "2" }, true)],
    });
    expect((body.tools as { strict?: boolean }[]).map(({ strict }) => strict)).toEqual([true, undefined]);
    expect(warnings).toEqual(["adjusted_schema tools[1].function.parameters_json"]);
  });
});

describe("tool_choice", () => {
  const chosen = async (toolChoice: NonNullable<RequestInit["toolChoice"]>, more: RequestInit = {}) => {
    const request = { tools: [WEATHER, SEARCH], toolChoice, ...more } as RequestInit;
    return (await build(request)).body;
  };

  it("is sent in all four modes, with the tools", async () => {
    const parallel = false;
    expect((await chosen({ mode: Mode.AUTO, parallel })).tool_choice).toEqual({
      type: "auto",
      disable_parallel_tool_use: true,
    });
    expect((await chosen({ mode: Mode.REQUIRED })).tool_choice).toEqual({ type: "any" });
    expect((await chosen({ mode: Mode.NAMED, toolName: "weather", parallel: true })).tool_choice).toEqual({
      type: "tool",
      name: "weather",
    });
    expect(await chosen({ mode: Mode.NONE, parallel })).toMatchObject({
      tool_choice: { type: "none" },
      tools: [{ name: "weather" }, { name: "web_search" }],
    });
  });

  it("is left out if there are no tools, unless the options add some", async () => {
    expect((await build({ toolChoice: { mode: Mode.NONE } })).body.tool_choice).toBeUndefined();
    const brought = await build({ toolChoice: { mode: Mode.NONE }, ...options({ tools: [{ name: "x" }] }) });
    expect(brought.body).toMatchObject({ tool_choice: { type: "none" }, tools: [{ name: "x" }] });
  });

  const forced = [
    { model: "claude-opus-5-5", more: {} },
    { model: "claude-sonnet-4-5", more: { reasoningEffort: "low" } },
    { model: "claude-opus-4-6", more: options({ thinking: { type: "enabled", budget_tokens: 2000 } }) },
  ];
  it.each(forced)("is refused if $model cannot be forced", async ({ model, more }) => {
    const request = { model, toolChoice: { mode: Mode.REQUIRED }, tools: [WEATHER], ...more };
    await expect(build(request)).rejects.toMatchObject({ kind: ErrorKind.UNSUPPORTED_TOOL_CHOICE });
  });

  it("can be forced with models that think without a budget", async () => {
    const request = { model: "claude-opus-4-6", reasoningEffort: "low" };
    expect((await chosen({ mode: Mode.REQUIRED }, request)).tool_choice).toEqual({ type: "any" });
  });

  it("is an error if the caller prefers that, as it is by default", async () => {
    const request = {
      model: "claude-opus-5-5",
      tools: [WEATHER],
      toolChoice: { mode: Mode.REQUIRED },
    };
    const refused = { name: "UnsupportedToolChoiceError" };
    await expect(build(request)).rejects.toMatchObject(refused);
    await expect(
      build({ ...request, ...options({ unsupported_tool_choice: "error" }) }),
    ).rejects.toMatchObject(refused);
  });

  it("becomes auto if the caller prefers that", async () => {
    const { body, warnings } = await build({
      model: "claude-opus-5-5",
      tools: [WEATHER, SEARCH],
      toolChoice: { mode: Mode.NAMED, toolName: "weather", parallel: false },
      ...options({ unsupported_tool_choice: "auto" }),
    });
    expect(body).toMatchObject({
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      tools: [{ name: "weather" }],
    });
    expect(body.tools).toHaveLength(1);
    expect(warnings).toEqual(["adjusted_setting tool_choice.mode"]);
  });
});

describe("response_format", () => {
  const schemaJson =
    '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}';

  it("is sent as output_config.format for a schema", async () => {
    const request = { responseFormat: { type: Format.JSON_SCHEMA, schemaJson }, reasoningEffort: "low" };
    expect(await sent({ ...request, model: "claude-opus-4-6" }, "output_config", "system")).toEqual({
      output_config: { effort: "low", format: { type: "json_schema", schema: JSON.parse(schemaJson) } },
      system: undefined,
      warnings: [],
    });
  });

  it("becomes an instruction at the end of the system prompt if the API has no setting", async () => {
    const messages = [systemMessage("Be brief."), userMessage("hi")];
    const json = await build({ messages, responseFormat: { type: Format.JSON } });
    expect(json.warnings).toEqual(["adjusted_setting response_format"]);
    expect(json.body.system).toEqual([
      { type: "text", text: "Be brief." },
      { type: "text", text: expect.stringContaining("one JSON object") },
    ]);
    const old = { model: "claude-3-5-haiku-20241022", messages };
    const schema = await build({ ...old, responseFormat: { type: Format.JSON_SCHEMA, schemaJson } });
    expect(JSON.stringify(schema.body.system)).toContain(JSON.stringify(schemaJson).slice(1, -1));
    expect(schema.body.output_config).toBeUndefined();
    expect(schema.warnings).toEqual(["adjusted_setting response_format"]);
  });
});

describe("provider options", () => {
  it("are merged into the body last, with tools appended and messages at its end", async () => {
    const { body } = await build({
      tools: [WEATHER],
      toolChoice: { mode: Mode.REQUIRED },
      ...options({
        tools: [{ name: "x" }],
        max_tokens: 5,
        tool_choice: { type: "auto" },
        service_tier: "auto",
      }),
    });
    expect(body).toMatchObject({
      max_tokens: 5,
      service_tier: "auto",
      tools: [{ name: "weather" }, { name: "x" }],
    });
    expect(body.tool_choice).toEqual({ type: "auto" });
    expect(Object.keys(body).at(-1)).toBe("messages");
  });

  it("are read by the provider's registered name before the API's name", async () => {
    const providerOptionsJson = { anthropic: '{"a":1}', mine: '{"b":2}' };
    const { body } = await build({ providerOptionsJson }, { provider: "mine" });
    expect(body).toMatchObject({ b: 2 });
    expect(body.a).toBeUndefined();
  });

  it("list betas for the header, each once, and are not sent in the body", async () => {
    const { body, betas } = await build(
      options({
        beta_headers: ["one-2026", "two-2026"],
        beta_features: "two-2026, three-2026",
        send_legacy_cache_header: true,
      }),
    );
    expect(betas).toEqual(["one-2026", "two-2026", "three-2026", "prompt-caching-2024-07-31"]);
    expect(Object.keys(body)).toEqual(["model", "max_tokens", "messages"]);
  });

  const wrong = [
    { fields: { stream: true }, field: "stream" },
    { fields: { auto_cache: "no" }, field: "auto_cache" },
    { fields: { beta_headers: [1] }, field: "beta_headers" },
    { fields: { beta_features: "a b\r\nx: y" }, field: "beta_features" },
    { fields: { unsupported_tool_choice: "any" }, field: "unsupported_tool_choice" },
  ];
  it.each(wrong)("are refused if $field is invalid", async ({ fields, field }) => {
    await expect(build(options(fields))).rejects.toThrow(
      `provider_options_json["anthropic"].${field}: expected`,
    );
  });
});

describe("LOSS_POLICY_REFUSE", () => {
  it("refuses a request for everything that would be changed or left out, in one error", async () => {
    const request = { lossPolicy: LossPolicy.REFUSE, temperature: 2, topP: 0.5, metadata: { team: "blue" } };
    await expect(build(request)).rejects.toMatchObject({
      kind: ErrorKind.INVALID_REQUEST,
      violations: [{ field: "top_p" }, { field: "temperature" }, { field: "metadata" }],
    });
  });
});
