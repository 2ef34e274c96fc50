import { describe, expect, it } from "vitest";
import { UnsupportedToolChoiceError } from "../../../src/core/errors.ts";
import { developerMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import type { Message } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  LossPolicy,
  ToolChoice_Mode as Mode,
  ResponseFormat_Type,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { ServerProfile } from "../../../src/providers/openai-chat/profile.ts";
import { acceptsToolChoice } from "../../../src/providers/openai-chat/tools.ts";
import { PROVIDER, type ProfileInit, profile, type RequestInit, sent, toMessages } from "./support.ts";

const HI = { messages: [userMessage("hi")] };
const SCHEMA = '{"type":"object","properties":{"n":{"type":"number","minimum":1.0}},"required":["n"]}';

function functionTool(name: string, more: object = {}) {
  return {
    tool: { case: "function", value: { name, description: "d", parametersJson: SCHEMA, ...more } },
  } as const;
}

/** The body of a request without its model and messages. */
async function toSettings(request: RequestInit, init: ProfileInit = {}, streaming = false) {
  const { body, warnings } = await sent({ ...request, ...HI }, init, streaming);
  const { model: _, messages: __, ...settings } = body;
  return { settings, warnings };
}

describe("the settings of a request", () => {
  it("are few if the caller sets none", async () => {
    expect(await toSettings({})).toEqual({ settings: {}, warnings: [] });
    expect((await toSettings({}, "openai")).settings).toEqual({ store: false });
  });

  it("request a stream, and its usage if the server accepts that", async () => {
    expect((await toSettings({}, {}, true)).settings).toEqual({
      stream: true,
      stream_options: { include_usage: true },
    });
    expect((await toSettings({}, "mistral", true)).settings).toEqual({ stream: true });
  });

  it("have sampling, limits and stop sequences under the server's names", async () => {
    const request = { temperature: 0, topP: 0.5, maxTokens: 7, stopSequences: ["a", "b"] };
    expect(await toSettings(request)).toEqual({
      settings: { temperature: 0, top_p: 0.5, max_tokens: 7, stop: ["a", "b"] },
      warnings: [],
    });
    expect((await toSettings({ maxTokens: 7 }, "openai")).settings).toMatchObject({
      max_completion_tokens: 7,
    });
  });

  it("leave out settings that a model refuses, with warnings, and are refused under LOSS_POLICY_REFUSE", async () => {
    const request = { model: "gpt-5", temperature: 1, topP: 1, stopSequences: ["a"] };
    expect(await toSettings(request, "openai")).toEqual({
      settings: { store: false },
      warnings: [
        "unsupported_setting temperature",
        "unsupported_setting top_p",
        "unsupported_setting stop_sequences",
      ],
    });
    await expect(toSettings({ ...request, lossPolicy: LossPolicy.REFUSE }, "openai")).rejects.toMatchObject({
      violations: [{ field: "temperature" }, { field: "top_p" }, { field: "stop_sequences" }],
    });
  });

  it("have as many stop sequences as the server accepts, and no more", async () => {
    const stopSequences = ["a", "b", "c", "d", "e"];
    await expect(toSettings({ stopSequences })).rejects.toThrow(
      "stop_sequences: expected at most 4, found 5",
    );
    expect((await toSettings({ stopSequences }, "vllm")).settings.stop).toEqual(stopSequences);
  });

  it("merge provider options last, under the provider's name or the API's name", async () => {
    const options = '{"seed":1,"temperature":null,"stream_options":{"x":true}}';
    for (const name of [PROVIDER, "openai-chat"]) {
      const request = { temperature: 1, providerOptionsJson: { [name]: options, groq: '{"n":2}' } };
      expect((await toSettings(request, {}, true)).settings).toEqual({
        seed: 1,
        stream: true,
        stream_options: { include_usage: true, x: true },
      });
    }
  });

  it("are refused with options that the method decides, or that are invalid", async () => {
    const withOptions = (text: string) => toSettings({ providerOptionsJson: { [PROVIDER]: text } });
    await expect(withOptions('{"stream":true}')).rejects.toThrow("stream");
    await expect(withOptions('{"unsupported_tool_choice":1}')).rejects.toThrow("unsupported_tool_choice");
    await expect(withOptions("[]")).rejects.toThrow("provider_options_json");
  });

  it.each<[string, RequestInit, ProfileInit, object, string[]]>([
    ["not accepted", {}, {}, {}, ["unsupported_setting metadata"]],
    ["accepted", {}, "mistral", { metadata: { k: "v" } }, []],
    ["accepted only with stored answers", {}, "openai", { store: false }, ["unsupported_setting metadata"]],
    [
      "with a stored answer",
      { providerOptionsJson: { [PROVIDER]: '{"store":true}' } },
      "openai",
      { store: true, metadata: { k: "v" } },
      [],
    ],
  ])("have metadata if the server accepts it: %s", async (_, request, init, settings, warnings) => {
    expect(await toSettings({ ...request, metadata: { k: "v" } }, init)).toEqual({ settings, warnings });
  });

  it("leave out metadata beyond OpenAI's limits, with a warning", async () => {
    const pairs = Array.from({ length: 17 }, (_, index) => [`k${index}`, "v"]);
    const metadata = Object.fromEntries([...pairs, ["long", "v".repeat(513)]]);
    const { settings, warnings } = await toSettings(
      { metadata, providerOptionsJson: { [PROVIDER]: '{"store":true}' } },
      "openai",
    );
    expect(Object.keys(settings.metadata as object)).toHaveLength(16);
    expect(warnings).toEqual(["unsupported_setting metadata"]);
  });
});

describe("reasoning effort", () => {
  it.each<[string, ProfileInit, string, object, string[]]>([
    ["OpenAI's field", {}, "high", { reasoning_effort: "high" }, []],
    ["an effort that only the server knows", {}, "ultra", { reasoning_effort: "ultra" }, []],
    ["OpenRouter's object", "openrouter", "low", { reasoning: { effort: "low" } }, []],
    [
      "a switch and an effort",
      "deepseek",
      "high",
      { thinking: { type: "enabled" }, reasoning_effort: "high" },
      [],
    ],
    ["a switch that is off", "deepseek", "none", { thinking: { type: "disabled" } }, []],
    [
      "the nearest effort that reasons",
      "deepseek",
      "minimal",
      { thinking: { type: "enabled" }, reasoning_effort: "low" },
      ["adjusted_setting reasoning_effort"],
    ],
    [
      "a switch alone",
      "zai",
      "high",
      { thinking: { type: "enabled" } },
      ["adjusted_setting reasoning_effort"],
    ],
    ["Qwen's switch, off", "alibaba", "none", { enable_thinking: false }, []],
    ["Qwen's switch, on", "alibaba", "low", { enable_thinking: true }, ["adjusted_setting reasoning_effort"]],
    [
      "the template's switch",
      "vllm",
      "medium",
      { chat_template_kwargs: { enable_thinking: true }, reasoning_effort: "medium" },
      [],
    ],
    [
      "the template's switch, off",
      "llama-cpp",
      "none",
      { chat_template_kwargs: { enable_thinking: false } },
      [],
    ],
    [
      "MiniMax's switch",
      "minimax",
      "high",
      { reasoning_split: true, thinking: { type: "adaptive" } },
      ["adjusted_setting reasoning_effort"],
    ],
    [
      "MiniMax's switch, off",
      "minimax",
      "none",
      { reasoning_split: true, thinking: { type: "disabled" } },
      [],
    ],
    ["a separation alone if no effort is asked for", "minimax", "", { reasoning_split: true }, []],
    ["nothing", { reasoningFormat: "none" }, "low", {}, ["unsupported_setting reasoning_effort"]],
  ])("is sent as %s", async (_, init, reasoningEffort, settings, warnings) => {
    expect(await toSettings({ reasoningEffort }, init)).toEqual({ settings, warnings });
  });

  it("is the nearest that the model has", async () => {
    const request = { model: "gpt-5", reasoningEffort: "none" };
    const { settings, warnings } = await toSettings(request, "openai");
    expect(settings.reasoning_effort).toBe("minimal");
    expect(warnings).toEqual(["adjusted_setting reasoning_effort"]);
  });
});

describe("tools", () => {
  const tools = [functionTool("f"), functionTool("g")];

  it("are nested, in the caller's order, with the spelling of their schemas", async () => {
    const { text, warnings } = await sent({ ...HI, tools: [functionTool("f")] });
    const parameters = `"parameters":${SCHEMA}`;
    expect(text).toContain(`{"type":"function","function":{"name":"f","description":"d",${parameters}}}`);
    expect(warnings).toEqual([]);
  });

  it("have a schema even if they take no arguments", async () => {
    const { settings } = await toSettings({
      tools: [functionTool("f", { parametersJson: "", description: "" })],
    });
    expect(settings.tools).toEqual([
      {
        type: "function",
        function: { name: "f", parameters: { type: "object", properties: {}, additionalProperties: false } },
      },
    ]);
  });

  it("are strict if the server supports it, with a schema in its dialect", async () => {
    const { settings, warnings } = await toSettings(
      { tools: [functionTool("f", { strict: true })] },
      "openai",
    );
    expect(settings.tools).toMatchObject([
      { function: { strict: true, parameters: { additionalProperties: false, required: ["n"] } } },
    ]);
    expect(warnings).toEqual([]);
  });

  it("are not strict if the server does not support it", async () => {
    const { settings, warnings } = await toSettings({ tools: [functionTool("f", { strict: true })] });
    expect(settings.tools).toEqual([
      { type: "function", function: { name: "f", description: "d", parameters: JSON.parse(SCHEMA) } },
    ]);
    expect(warnings).toEqual(["unsupported_setting tools[0].function.strict"]);
  });

  it("have their schema shown, not enforced, if the server cannot enforce it", async () => {
    const free = '{"type":"object","additionalProperties":{"type":"string"}}';
    const tool = functionTool("f", { strict: true, parametersJson: free });
    const { settings, warnings } = await toSettings({ tools: [tool] }, "openai");
    expect(settings.tools).toEqual([
      { type: "function", function: { name: "f", description: "d", parameters: JSON.parse(free) } },
    ]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^adjusted_schema tools\[0\]\.function\.parameters_json/);
  });

  it("are sent verbatim if they are hosted by the server, and left out if another provider hosts them", async () => {
    const hosted = (provider: string) =>
      ({
        tool: { case: "hosted", value: { provider, configJson: '{"type":"custom","custom":{"name":"c"}}' } },
      }) as const;
    const { settings, warnings } = await toSettings({
      tools: [hosted(PROVIDER), hosted("openai-chat"), hosted("anthropic")],
    });
    const customTool = { type: "custom", custom: { name: "c" } };
    expect(settings.tools).toEqual([customTool, customTool]);
    expect(warnings).toEqual(["unsupported_setting tools[2]"]);
  });

  it("are extended by provider options", async () => {
    const options = '{"tools":[{"type":"browser_search"}]}';
    const { settings } = await toSettings({
      tools: [functionTool("f")],
      providerOptionsJson: { [PROVIDER]: options },
    });
    expect(settings.tools).toMatchObject([{ type: "function" }, { type: "browser_search" }]);
  });

  it.each<[string, object, string]>([
    ["a name that is too long", { name: "n".repeat(65) }, "tools[0].function.name"],
    ["parameters that are not JSON", { parametersJson: "{" }, "tools[0].function.parameters_json"],
  ])("are refused, naming the field, for %s", async (_, more, field) => {
    const refused = toSettings({ tools: [functionTool("f", more)] }, "openai");
    await expect(refused).rejects.toMatchObject({ violations: [{ field }] });
  });

  it("are refused if they are of no kind", async () => {
    await expect(toSettings({ tools: [{}] })).rejects.toThrow(
      "tools[0]: expected one of `function`, `hosted` and `custom`, found none",
    );
  });

  it.each<[Mode, unknown]>([
    [Mode.UNSPECIFIED, undefined],
    [Mode.AUTO, "auto"],
    [Mode.NONE, "none"],
    [Mode.REQUIRED, "required"],
    [Mode.NAMED, { type: "function", function: { name: "g" } }],
  ])("have the tool choice of mode %i", async (mode, expected) => {
    const toolChoice = { mode, toolName: mode === Mode.NAMED ? "g" : "", parallel: false };
    const { settings, warnings } = await toSettings({ tools, toolChoice });
    expect(settings.tool_choice).toEqual(expected);
    expect(settings.parallel_tool_calls).toBe(false);
    expect(settings.tools).toHaveLength(2);
    expect(warnings).toEqual([]);
  });

  it("have no tool choice if there are no tools", async () => {
    expect((await toSettings({ toolChoice: { mode: Mode.NONE, parallel: true } })).settings).toEqual({});
  });

  it("are left out if none may be called and the server has no `none`", async () => {
    const { settings, warnings } = await toSettings({ tools, toolChoice: { mode: Mode.NONE } }, "ollama");
    expect({ settings, warnings }).toEqual({ settings: {}, warnings: [] });
  });

  it.each([Mode.REQUIRED, Mode.NAMED])(
    "cannot be forced by mode %i if the server does not support it",
    async (mode) => {
      const request = { tools, toolChoice: { mode, toolName: "g" } };
      await expect(toSettings(request, "ollama")).rejects.toBeInstanceOf(UnsupportedToolChoiceError);
      const strict = {
        ...request,
        providerOptionsJson: { [PROVIDER]: '{"unsupported_tool_choice":"error"}' },
      };
      await expect(toSettings(strict, "ollama")).rejects.toBeInstanceOf(UnsupportedToolChoiceError);
      const freed = { ...request, providerOptionsJson: { [PROVIDER]: '{"unsupported_tool_choice":"auto"}' } };
      const { settings, warnings } = await toSettings(freed, "ollama");
      expect(settings.tools).toHaveLength(mode === Mode.NAMED ? 1 : 2);
      expect(settings.tool_choice).toBeUndefined();
      expect(warnings).toEqual(["adjusted_setting tool_choice.mode"]);
    },
  );

  it("are the named one alone, which must be called, if the server cannot be told its name", async () => {
    const toolChoice = { mode: Mode.NAMED, toolName: "g" };
    const { settings, warnings } = await toSettings({ tools, toolChoice }, "llama-cpp");
    expect(settings.tools).toMatchObject([{ function: { name: "g" } }]);
    expect(settings.tool_choice).toBe("required");
    expect(warnings).toEqual([]);
  });

  it("have the tool choices that supportsToolChoice reports", () => {
    const taken = (known: ServerProfile) =>
      [Mode.AUTO, Mode.NONE, Mode.REQUIRED, Mode.NAMED].filter((mode) => acceptsToolChoice(known, mode));
    expect(taken(profile())).toEqual([Mode.AUTO, Mode.NONE, Mode.REQUIRED, Mode.NAMED]);
    expect(taken(profile("ollama"))).toEqual([Mode.AUTO, Mode.NONE]);
    expect(taken(profile("moonshot"))).toEqual([Mode.AUTO, Mode.NONE, Mode.NAMED]);
  });

  it("have no parallel_tool_calls if the server does not support it", async () => {
    const toolChoice = { mode: Mode.AUTO, parallel: false };
    const { settings, warnings } = await toSettings({ tools, toolChoice }, "deepseek");
    expect(settings.parallel_tool_calls).toBeUndefined();
    expect(warnings).toEqual(["unsupported_setting tool_choice.parallel"]);
  });
});

describe("the response format", () => {
  const json = { responseFormat: { type: ResponseFormat_Type.JSON } };
  const schema = (more: object = {}) => ({
    responseFormat: { type: ResponseFormat_Type.JSON_SCHEMA, schemaJson: SCHEMA, ...more },
  });

  it("is text by default", async () => {
    const request = { responseFormat: { type: ResponseFormat_Type.TEXT } };
    expect((await toSettings(request)).settings).toEqual({});
  });

  it("is a schema in the server's setting, with its spelling", async () => {
    const { text, warnings } = await sent({ ...HI, ...schema({ name: "answer" }) });
    expect(text).toContain(
      `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":${SCHEMA}}}`,
    );
    expect(warnings).toEqual([]);
  });

  it("is enforced if the caller asks for it, in the server's dialect", async () => {
    const { settings } = await toSettings(schema({ strict: true }), "openai");
    expect(settings.response_format).toEqual({
      type: "json_schema",
      json_schema: {
        name: "response",
        strict: true,
        schema: { ...JSON.parse(SCHEMA), additionalProperties: false },
      },
    });
    expect((await toSettings(schema({ strict: true }), "vllm")).settings).toMatchObject({
      response_format: { json_schema: { strict: true, schema: JSON.parse(SCHEMA) } },
    });
    // The server may pass it on to OpenAI.
    const item = { type: "object", properties: { b: { type: "string" } }, required: ["b"] };
    const list = { type: "array", items: item };
    const optional = { type: "object", properties: { a: list, c: {} }, required: ["a"] };
    const nested = schema({ strict: true, schemaJson: JSON.stringify(optional) });
    expect((await toSettings(nested, "vllm")).settings).toMatchObject({
      response_format: {
        json_schema: {
          schema: { ...optional, properties: { a: { items: { additionalProperties: false } } } },
        },
      },
    });
  });

  it("is JSON with the schema in the instructions if the server takes no schema, the same in every turn", async () => {
    const turn = { ...schema({ strict: true }), messages: [systemMessage("Be brief."), userMessage("hi")] };
    const { body, warnings } = await sent(turn, "deepseek");
    expect(body.response_format).toEqual({ type: "json_object" });
    const [system, user] = toMessages(body);
    expect(system?.content).toMatch(/^Be brief\.\n\nAnswer with JSON/);
    expect(system?.content).toContain(SCHEMA);
    expect(user?.content).toBe("hi");
    expect(warnings).toEqual(["adjusted_setting response_format"]);
    await expect(sent({ ...turn, lossPolicy: LossPolicy.REFUSE }, "deepseek")).rejects.toThrow(
      "response_format",
    );
  });

  it("is requested only by an instruction if the server has no JSON mode", async () => {
    const { body, warnings } = await sent({ ...HI, ...json }, "perplexity");
    expect(body.response_format).toBeUndefined();
    expect(toMessages(body)[0]).toEqual({
      role: "system",
      content: "Answer with one JSON object and nothing else.",
    });
    expect(warnings).toEqual(["adjusted_setting response_format"]);
  });

  it("is JSON, with the word added to the instructions if they lack it", async () => {
    const contents = async (messages: Message[]) =>
      toMessages((await sent({ ...json, messages })).body).map(({ content }) => content);
    const sentence = "Answer with one JSON object and nothing else.";
    expect(await contents([userMessage("JSON please")])).toEqual([sentence, "JSON please"]);
    expect(await contents([developerMessage("Use json."), userMessage("hi")])).toEqual(["Use json.", "hi"]);
    const two = {
      ...systemMessage("a"),
      content: [...systemMessage("a").content, ...systemMessage("b").content],
    };
    expect(await contents([two, userMessage("hi")])).toEqual([
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
        { type: "text", text: sentence },
      ],
      "hi",
    ]);
    expect((await toSettings(json)).settings).toEqual({ response_format: { type: "json_object" } });
  });

  it("is refused, naming the field, if it is not a JSON Schema", async () => {
    for (const init of ["openai", "deepseek"]) {
      await expect(toSettings(schema({ schemaJson: "[]" }), init)).rejects.toMatchObject({
        violations: [{ field: "response_format.schema_json" }],
      });
    }
  });
});
