import { describe, expect, it } from "vitest";
import { LossPolicy, ToolChoice_Mode as Mode } from "../../../src/gen/outrigger/v1/request_pb.ts";
import {
  build,
  functionTool,
  hostedTool,
  options,
  PLAIN_BODY,
  type RequestInit,
  toRefusal,
} from "./build.ts";

describe("tools", () => {
  it("are sent flat, with `strict`", async () => {
    const parameters = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const { body, warnings } = await build({
      tools: [
        functionTool({
          name: "weather",
          description: "Tells it.",
          parametersJson: JSON.stringify(parameters),
        }),
        functionTool({ name: "sure", parametersJson: JSON.stringify(parameters), strict: true }),
      ],
    });
    expect(body).toEqual({
      ...PLAIN_BODY,
      tools: [
        { type: "function", name: "weather", description: "Tells it.", parameters, strict: false },
        { type: "function", name: "sure", parameters, strict: true },
      ],
    });
    expect(warnings).toEqual([]);
  });

  it("have an empty strict schema if they take no arguments", async () => {
    const parameters = { type: "object", properties: {}, required: [], additionalProperties: false };
    const { body } = await build({
      tools: [functionTool({ name: "ping" }), functionTool({ name: "pong", strict: true })],
    });
    expect(body).toEqual({
      ...PLAIN_BODY,
      tools: [
        { type: "function", name: "ping", parameters, strict: false },
        { type: "function", name: "pong", parameters, strict: true },
      ],
    });
  });

  it("keep the spelling of their schemas: the order of keys, numbers, escapes", async () => {
    const schema =
      '{"type":"object","properties":{"b":{"const":9007199254740993},"10":{"minimum":1.0},"2":{"description":"\\u00e9"},"a":{}}}';
    const { text } = await build({ tools: [functionTool({ name: "look", parametersJson: schema })] });
    expect(text).toContain(`"parameters":${schema},`);
  });

  it("have a schema that the API enforces if they are strict", async () => {
    const parametersJson =
      '{"type":"object","properties":{"city":{"type":"string","default":"Oslo"},"days":{"type":"integer"}},"required":["city"]}';
    const { body, warnings } = await build({
      tools: [functionTool({ name: "weather", parametersJson, strict: true })],
    });
    expect(body.tools).toEqual([
      {
        type: "function",
        name: "weather",
        parameters: {
          type: "object",
          properties: {
            city: { type: "string", description: expect.stringContaining("Oslo") },
            days: { type: ["integer", "null"] },
          },
          required: ["city", "days"],
          additionalProperties: false,
        },
        strict: true,
      },
    ]);
    expect(warnings).toEqual(["adjusted_schema tools[0].function.parameters_json#/properties/days"]);
  });

  it("are sent without enforcement, with a warning, if their schema cannot be enforced", async () => {
    const parametersJson = '{"type":"object","additionalProperties":{"type":"string"}}';
    const tools = [functionTool({ name: "free", parametersJson, strict: true })];
    const { body, warnings } = await build({ tools });
    expect(body.tools).toEqual([
      { type: "function", name: "free", parameters: JSON.parse(parametersJson), strict: false },
    ]);
    expect(warnings).toEqual([expect.stringMatching(/^adjusted_schema tools\[0\].function.parameters_json/)]);
    expect(await toRefusal(build({ tools, lossPolicy: LossPolicy.REFUSE }))).toHaveLength(1);
  });

  it("are sent verbatim if the provider hosts them, by the name of the entry or of its API", async () => {
    const search = { type: "web_search", filters: { "2": 1, "1": 2 } };
    const grammar = {
      type: "custom",
      name: "sql",
      format: { type: "grammar", syntax: "lark", definition: "x" },
    };
    const { body, text, warnings } = await build(
      { tools: [hostedTool("openai", search), hostedTool("azure-west", grammar)] },
      { provider: "azure-west" },
    );
    expect(body).toEqual({ ...PLAIN_BODY, tools: [search, grammar] });
    expect(text).toContain(`"tools":[${JSON.stringify(search)},${JSON.stringify(grammar)}]`);
    expect(warnings).toEqual([]);
  });

  it("are left out with a warning if they belong to another provider", async () => {
    const tools = [hostedTool("anthropic", { type: "web_search_20250305" }), functionTool({ name: "ping" })];
    const { body, warnings } = await build({ tools });
    expect((body.tools as unknown[]).length).toBe(1);
    expect(warnings).toEqual(["unsupported_setting tools[0]"]);
    expect(await toRefusal(build({ tools, lossPolicy: LossPolicy.REFUSE }))).toEqual([
      {
        field: "tools[0]",
        description: 'the hosted tool belongs to provider "anthropic"; it was left out',
      },
    ]);
  });

  it.each<[string, RequestInit, string]>([
    [
      "parameters that are not JSON",
      { tools: [functionTool({ name: "a", parametersJson: "{" })] },
      "tools[0].function.parameters_json",
    ],
    [
      "parameters that are a list",
      { tools: [functionTool({ name: "a", parametersJson: "[]" })] },
      "tools[0].function.parameters_json",
    ],
    [
      "a hosted tool that is a string",
      { tools: [hostedTool("openai", "web_search")] },
      "tools[0].hosted.config_json",
    ],
    ["an empty tool", { tools: [{}] }, "tools[0]"],
  ])("are refused by field: %s", async (_name, init, field) => {
    const violations = await toRefusal(build(init));
    expect(violations.map((violation) => violation.field)).toEqual([field]);
  });
});

describe("tool choice", () => {
  const tools = [functionTool({ name: "look" })];
  const declared = {
    tools: [
      {
        type: "function",
        name: "look",
        parameters: { type: "object", properties: {}, required: [], additionalProperties: false },
        strict: false,
      },
    ],
  };

  it.each<[string, RequestInit["toolChoice"], unknown]>([
    ["unset", undefined, {}],
    ["unspecified", {}, {}],
    ["auto", { mode: Mode.AUTO }, { tool_choice: "auto" }],
    ["none", { mode: Mode.NONE }, { tool_choice: "none" }],
    ["required", { mode: Mode.REQUIRED }, { tool_choice: "required" }],
    ["named", { mode: Mode.NAMED, toolName: "look" }, { tool_choice: { type: "function", name: "look" } }],
    ["parallel alone", { parallel: true }, { parallel_tool_calls: true }],
    [
      "one call at a time",
      { mode: Mode.REQUIRED, parallel: false },
      { tool_choice: "required", parallel_tool_calls: false },
    ],
  ])("is sent for %s", async (_name, toolChoice, expected) => {
    const init = toolChoice === undefined ? { tools } : { tools, toolChoice };
    const { body, warnings } = await build(init);
    expect(body).toEqual({ ...PLAIN_BODY, ...declared, ...(expected as object) });
    expect(warnings).toEqual([]);
  });

  it("is left out for auto if there are no tools", async () => {
    expect((await build({ toolChoice: { mode: Mode.AUTO } })).body).toEqual(PLAIN_BODY);
  });

  it.each<[string, unknown, string, unknown]>([
    ["a custom tool by its name", { type: "custom", name: "sql" }, "sql", { type: "custom", name: "sql" }],
    ["a hosted tool by its type", { type: "web_search" }, "web_search", { type: "web_search" }],
    [
      "an MCP server by its type",
      { type: "mcp", server_label: "docs" },
      "mcp",
      { type: "mcp", server_label: "docs" },
    ],
  ])("can name %s", async (_name, config, toolName, expected) => {
    const toolChoice = { mode: Mode.NAMED, toolName };
    const hosted = hostedTool("openai", config);
    expect((await build({ tools: [...tools, hosted], toolChoice })).body.tool_choice).toEqual(expected);
    // The same with the caller's text alongside the tool.
    const named = await build({ tools, toolChoice, ...options({ tools: [config] }) });
    expect(named.body.tool_choice).toEqual(expected);
  });

  it.each([
    ["required", { mode: Mode.REQUIRED }, "tool_choice.mode"],
    ["named", { mode: Mode.NAMED, toolName: "google_search" }, "tool_choice.tool_name"],
  ])("is refused for %s if the only tool is another provider's", async (_name, toolChoice, field) => {
    const foreign = [hostedTool("gemini", { type: "google_search" })];
    const violations = await toRefusal(build({ tools: foreign, toolChoice }));
    expect(violations.map((violation) => violation.field)).toEqual([field]);
  });
});
