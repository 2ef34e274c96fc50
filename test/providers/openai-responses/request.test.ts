import { describe, expect, it } from "vitest";
import { assistantMessage, developerMessage, systemMessage, userMessage } from "../../../src/core/message.ts";
import { imagePart, textPart } from "../../../src/core/parts.ts";
import {
  ResponseFormat_Type as Format,
  LossPolicy,
  ToolChoice_Mode as Mode,
  StatePolicy,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { build, functionTool, options, PLAIN_BODY, toRefusal } from "./build.ts";

const ENCRYPTED = ["reasoning.encrypted_content"];

describe("a request of the Responses API", () => {
  it("has the model, the input and `store: false`", async () => {
    expect(await build({})).toEqual({
      body: PLAIN_BODY,
      text: '{"model":"gpt-4o","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"store":false}',
      warnings: [],
    });
  });

  it("requests a stream without padding", async () => {
    const { body } = await build({}, {}, true);
    expect(body).toEqual({ ...PLAIN_BODY, stream: true, stream_options: { include_obfuscation: false } });
  });

  it("passes the model's name through unchanged", async () => {
    const { body } = await build({ model: "ft:gpt-4o:acme/übung#1" });
    expect(body).toEqual({ ...PLAIN_BODY, model: "ft:gpt-4o:acme/übung#1" });
  });

  it("has every setting of the caller in one body", async () => {
    const { body, warnings } = await build({
      model: "gpt-5.1",
      messages: [systemMessage("Be brief."), userMessage("hi")],
      tools: [functionTool({ name: "look", description: "Looks.", parametersJson: '{"type":"object"}' })],
      toolChoice: { mode: Mode.AUTO, parallel: false },
      responseFormat: { type: Format.TEXT },
      temperature: 0,
      topP: 0.5,
      maxTokens: 100,
      reasoningEffort: "none",
      metadata: { user: "u1" },
      ...options({ service_tier: "flex" }),
    });
    expect(warnings).toEqual([]);
    expect(body).toEqual({
      model: "gpt-5.1",
      instructions: "Be brief.",
      input: PLAIN_BODY.input,
      tools: [
        {
          type: "function",
          name: "look",
          description: "Looks.",
          parameters: { type: "object" },
          strict: false,
        },
      ],
      tool_choice: "auto",
      parallel_tool_calls: false,
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 100,
      reasoning: { effort: "none" },
      metadata: { user: "u1" },
      store: false,
      include: ENCRYPTED,
      service_tier: "flex",
    });
  });
});

describe("sampling parameters", () => {
  const sampling = { temperature: 0, topP: 0.9 };
  const taken = { temperature: 0, top_p: 0.9 };

  it.each([
    ["gpt-4o", "", true],
    ["gpt-4.1-mini", "", true],
    ["gpt-5", "", false],
    ["gpt-5", "minimal", false],
    ["o3", "", false],
    ["gpt-5.1", "", true],
    ["gpt-5.1", "none", true],
    ["gpt-5.1", "low", false],
    ["gpt-5.1-2025-11-13", "none", true],
    ["gpt-5.6", "", false],
    ["gpt-5.6", "none", true],
    ["gpt-6.1-terra", "none", true],
    ["gpt-6.1-sol", "low", false],
    ["a-model-of-tomorrow", "high", true],
  ])("are sent to %s with effort %j: %j", async (model, reasoningEffort, takes) => {
    const { body, warnings } = await build({ model, reasoningEffort, ...sampling });
    const effort = reasoningEffort === "" ? {} : { reasoning: { effort: reasoningEffort } };
    const include = model.startsWith("gpt-4") ? {} : { include: ENCRYPTED };
    expect(body).toEqual({ ...PLAIN_BODY, model, ...effort, ...include, ...(takes ? taken : {}) });
    expect(warnings).toEqual(takes ? [] : ["unsupported_setting temperature", "unsupported_setting top_p"]);
  });

  it("are refused under LOSS_POLICY_REFUSE for a model that does not accept them", async () => {
    expect(await toRefusal(build({ model: "gpt-5", ...sampling, lossPolicy: LossPolicy.REFUSE }))).toEqual([
      {
        field: "temperature",
        description: "the model does not accept it in such a request; it was left out",
      },
      { field: "top_p", description: "the model does not accept it in such a request; it was left out" },
    ]);
  });

  it("include the token limit under the provider's name", async () => {
    expect((await build({ maxTokens: 16 })).body).toEqual({ ...PLAIN_BODY, max_output_tokens: 16 });
    const reasoning = await build({ model: "gpt-5", maxTokens: 5, temperature: 1 });
    expect(reasoning.body).toMatchObject({ max_output_tokens: 5 });
  });

  it("lose stop sequences with a warning", async () => {
    const { body, warnings } = await build({ stopSequences: ["END"] });
    expect(body).toEqual(PLAIN_BODY);
    expect(warnings).toEqual(["unsupported_setting stop_sequences"]);
    const violations = await toRefusal(build({ stopSequences: ["END"], lossPolicy: LossPolicy.REFUSE }));
    expect(violations.map(({ field }) => field)).toEqual(["stop_sequences"]);
  });
});

describe("the reasoning effort", () => {
  it.each([
    ["gpt-5", "minimal", "minimal", []],
    ["gpt-5", "none", "minimal", ["adjusted_setting reasoning_effort"]],
    ["gpt-5", "max", "high", ["adjusted_setting reasoning_effort"]],
    ["gpt-5.1", "minimal", "low", ["adjusted_setting reasoning_effort"]],
    ["gpt-5.2", "xhigh", "xhigh", []],
    ["gpt-5.6", "max", "max", []],
    ["gpt-6-astra", "none", "low", ["adjusted_setting reasoning_effort"]],
    ["gpt-4o", "none", undefined, []],
    ["gpt-4o", "high", undefined, ["unsupported_setting reasoning_effort"]],
    ["gpt-5", "ultra", "ultra", []],
    ["a-model-of-tomorrow", "max", "max", []],
  ])("of %s is sent for the requested %s as %s", async (model, reasoningEffort, expected, warned) => {
    const { body, warnings } = await build({ model, reasoningEffort });
    expect(body.reasoning).toEqual(expected === undefined ? undefined : { effort: expected });
    expect(warnings).toEqual(warned);
    if (warned.length > 0) {
      const violations = await toRefusal(build({ model, reasoningEffort, lossPolicy: LossPolicy.REFUSE }));
      expect(violations.map(({ field }) => field)).toEqual(["reasoning_effort"]);
    }
  });

  it("is never lowered to none, which would change the settings that the request may have", async () => {
    const { body, warnings } = await build({
      model: "gpt-5.2",
      reasoningEffort: "minimal",
      temperature: 0.5,
    });
    expect(body).toMatchObject({ reasoning: { effort: "low" } });
    expect(body.temperature).toBeUndefined();
    expect(warnings).toEqual(["unsupported_setting temperature", "adjusted_setting reasoning_effort"]);
    const off = await build({ model: "gpt-5.2", reasoningEffort: "none", temperature: 0.5 });
    expect(off.body).toMatchObject({ reasoning: { effort: "none" }, temperature: 0.5 });
    expect(off.warnings).toEqual([]);
  });

  it("is merged with other reasoning settings of the caller", async () => {
    const { body } = await build({
      model: "gpt-5.6",
      reasoningEffort: "high",
      ...options({ reasoning: { summary: "auto", context: "all_turns" } }),
    });
    expect(body.reasoning).toEqual({ effort: "high", summary: "auto", context: "all_turns" });
  });
});

describe("metadata", () => {
  const pairs = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));

  it("is sent unchanged up to the limits", async () => {
    const metadata = { ...pairs(15), [`${"k".repeat(64)}`]: "v".repeat(512) };
    expect(await build({ metadata })).toMatchObject({ body: { ...PLAIN_BODY, metadata }, warnings: [] });
  });

  it.each([
    ["more pairs than 16", pairs(18), pairs(16), 2],
    ["a key that is too long", { ["k".repeat(65)]: "v", a: "b" }, { a: "b" }, 1],
    ["a value that is too long", { a: "v".repeat(513), b: "c" }, { b: "c" }, 1],
    ["nothing that fits", { a: "v".repeat(513) }, undefined, 1],
  ])("is left out beyond the limits: %s", async (_name, metadata, kept, count) => {
    const { body, warnings } = await build({ metadata });
    expect(body).toEqual({ ...PLAIN_BODY, ...(kept === undefined ? {} : { metadata: kept }) });
    expect(warnings).toEqual(["unsupported_setting metadata"]);
    const [violation] = await toRefusal(build({ metadata, lossPolicy: LossPolicy.REFUSE }));
    expect(violation?.description).toContain(`${count} pairs were left out`);
  });
});

describe("storage at the provider", () => {
  it.each([
    ["a model that reasons", "gpt-5", false, {}, { store: false, include: ENCRYPTED }],
    ["a model that does not", "gpt-4o", false, {}, { store: false }],
    ["an unknown model", "my-finetune", false, {}, { store: false, include: ENCRYPTED }],
    ["an entry that stores", "gpt-5", true, {}, { store: true }],
    ["a request that stores", "gpt-5", false, { store: true }, { store: true }],
    ["a request that does not", "gpt-5", true, { store: false }, { store: false, include: ENCRYPTED }],
  ])("is set for %s", async (_name, model, store, fields, expected) => {
    const { body } = await build({ model, ...options(fields) }, { store });
    expect(body).toEqual({ ...PLAIN_BODY, model, ...expected });
  });
});

describe("provider options", () => {
  it("are merged last: objects by key, null removes, other values replace", async () => {
    const { body } = await build({
      model: "gpt-5.1",
      maxTokens: 10,
      metadata: { a: "1", b: "2" },
      responseFormat: { type: Format.JSON_SCHEMA, schemaJson: '{"type":"object"}', name: "x" },
      ...options({
        max_output_tokens: null,
        metadata: { b: null, c: "3" },
        text: { verbosity: "low" },
        model: "gpt-5.1-codex",
        previous_response_id: "resp_1",
        prompt_cache_key: "k",
      }),
    });
    expect(body).toEqual({
      ...PLAIN_BODY,
      model: "gpt-5.1-codex",
      include: ENCRYPTED,
      metadata: { a: "1", c: "3" },
      text: {
        verbosity: "low",
        format: { type: "json_schema", name: "x", schema: { type: "object" }, strict: false },
      },
      previous_response_id: "resp_1",
      prompt_cache_key: "k",
    });
  });

  it("add tools and includes, without repeating includes", async () => {
    const { body } = await build({
      model: "gpt-5",
      tools: [functionTool({ name: "ping" })],
      ...options({
        tools: [{ type: "web_search" }],
        include: ["web_search_call.results", "reasoning.encrypted_content"],
      }),
    });
    expect((body.tools as { type: string }[]).map(({ type }) => type)).toEqual(["function", "web_search"]);
    expect(body.include).toEqual(["reasoning.encrypted_content", "web_search_call.results"]);
  });

  it("add tools and includes if there were none", async () => {
    const { body } = await build(options({ tools: [{ type: "shell" }], include: ["x"] }));
    expect(body).toEqual({ ...PLAIN_BODY, tools: [{ type: "shell" }], include: ["x"] });
  });

  it("keep long numbers", async () => {
    const { text } = await build({ providerOptionsJson: { openai: '{"seed":12345678901234567890}' } });
    expect(text).toContain('"seed":12345678901234567890');
  });

  it("are read under the registered name first, then under the name of the API, never both", async () => {
    const both = { azure: '{"a":1}', openai: '{"b":2}' };
    const azure = { provider: "azure" };
    expect((await build({ providerOptionsJson: both }, azure)).body).toEqual({ ...PLAIN_BODY, a: 1 });
    expect((await build({ providerOptionsJson: { openai: '{"b":2}' } }, azure)).body).toEqual({
      ...PLAIN_BODY,
      b: 2,
    });
    expect((await build({ providerOptionsJson: { anthropic: '{"c":3}' } }, azure)).body).toEqual(PLAIN_BODY);
  });

  it.each([
    ["openai", "openai", '{"a":', "found text that is not JSON"],
    ["openai", "openai", "[1]", "found a list"],
    ["azure", "azure", '"x"', "found a string"],
    ["azure", "openai", "null", "found null"],
  ])("are refused for %s under %s if they are %j", async (provider, name, text, found) => {
    const [violation] = await toRefusal(build({ providerOptionsJson: { [name]: text } }, { provider }));
    expect(violation?.field).toBe(`provider_options_json["${name}"]`);
    expect(violation?.description).toContain(found);
  });

  it.each([true, false])("cannot set `stream`: %j", async (stream) => {
    const [violation] = await toRefusal(build(options({ stream })));
    expect(violation?.field).toBe('provider_options_json["openai"].stream');
  });
});

describe("a request under LOSS_POLICY_REFUSE", () => {
  it("is refused by an error that names everything that would be lost", async () => {
    const violations = await toRefusal(
      build({
        model: "gpt-5",
        messages: [
          { ...userMessage([textPart("look"), imagePart("https://x.test/a.png")]), name: "ann" },
          assistantMessage({ part: { case: "reasoning", value: { text: "hm" } } }),
          userMessage({
            part: {
              case: "document",
              value: { fileName: "a.pdf", source: { case: "url", value: "https://x.test/a.pdf" } },
            },
          }),
        ],
        temperature: 1,
        stopSequences: ["x"],
        reasoningEffort: "none",
        metadata: { a: "x".repeat(600) },
        foreignState: StatePolicy.STRIP,
        lossPolicy: LossPolicy.REFUSE,
      }),
    );
    expect(violations.map(({ field }) => field)).toEqual([
      "messages[0].name",
      "messages[1].content[0]",
      "messages[2].content[0].document.file_name",
      "temperature",
      "reasoning_effort",
      "metadata",
      "stop_sequences",
    ]);
  });

  it("is sent if nothing is lost", async () => {
    const { body, warnings } = await build({
      messages: [developerMessage("Be kind."), userMessage("hi")],
      lossPolicy: LossPolicy.REFUSE,
    });
    expect(body).toEqual({ ...PLAIN_BODY, instructions: "Be kind." });
    expect(warnings).toEqual([]);
  });
});
