import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import { ask, headers, hello, post, refusal, weatherTool } from "./support.ts";

const simulator = useSimulator();

const user = { role: "user", content: "Hello" };
const call = { type: "tool_use", id: "toolu_1", name: "get_weather", input: {} };
const result = { type: "tool_result", tool_use_id: "toolu_1", content: "rain" };
const called = { role: "assistant", content: [call] };
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const userMessage = (...content: object[]): object => ({ messages: [{ role: "user", content }] });
const messages = (...all: object[]): object => ({ messages: all });
const format = (schema: object): object => ({ output_config: { format: { type: "json_schema", schema } } });

describe("the headers", () => {
  it.each([
    ["no key", { "anthropic-version": "2023-06-01" }, "x-api-key header is required"],
    ["a refused key", { ...headers, "x-api-key": "invalid" }, "API key is invalid."],
    ["a refused token", { ...headers, "x-api-key": "", authorization: "Bearer invalid" }, "x-api-key header"],
  ])("with %s get 401", async (_, sent, message) => {
    expect(await refusal(simulator(), hello, { headers: sent })).toMatchObject({
      status: 401,
      type: "authentication_error",
      message: expect.stringContaining(message) as string,
    });
  });

  it.each([{ authorization: "Bearer test-key" }, { "x-api-key": "test-key" }])(
    "can have a key as %j",
    async (key) => {
      const response = await post(simulator(), hello, {
        headers: { "anthropic-version": "2026-10-21", ...key },
      });
      expect(response.status).toBe(200);
    },
  );

  it.each([
    [{ "x-api-key": "k" }, "anthropic-version: header is required"],
    [
      { ...headers, "anthropic-version": "2020-01-01" },
      'anthropic-version: "2020-01-01" is not a valid version',
    ],
  ])("%j get 400 for their version", async (sent, message) => {
    expect(await refusal(simulator(), hello, { headers: sent })).toMatchObject({
      status: 400,
      message: expect.stringContaining(message) as string,
    });
  });

  it("with a newer version rule out sampling settings", async () => {
    const newer = { ...headers, "anthropic-version": "2026-10-21" };
    for (const name of ["temperature", "top_p", "top_k"]) {
      const body = { ...hello, [name]: 1 };
      expect((await post(simulator(), body)).status).toBe(200);
      expect(await refusal(simulator(), body, { headers: newer })).toMatchObject({
        status: 400,
        message: `${name}: Extra inputs are not permitted`,
      });
    }
  });

  it("allow beta parameters if they name a beta", async () => {
    const body = { ...hello, mcp_servers: [] };
    expect(await refusal(simulator(), body)).toMatchObject({
      message: "mcp_servers: Extra inputs are not permitted",
    });
    const beta = { headers: { ...headers, "anthropic-beta": "mcp-client-2025-11-20" } };
    expect((await post(simulator(), body, beta)).status).toBe(200);
  });
});

describe("the body", () => {
  it.each(["", "{", "[]", "null", '"text"'])("%j gets 400", async (body) => {
    expect(await refusal(simulator(), body)).toMatchObject({ status: 400, type: "invalid_request_error" });
  });

  it.each<[string, object, string]>([
    ["no model", { model: undefined }, "model: Field required"],
    ["no max_tokens", { max_tokens: undefined }, "max_tokens: Field required"],
    [
      "max_tokens that is not a number",
      { max_tokens: "many" },
      "max_tokens: Input should be a valid integer",
    ],
    [
      "a fractional max_tokens",
      { max_tokens: 1.5 },
      "max_tokens: Input should be a valid integer, got a number with a fractional part",
    ],
    ["no messages", { messages: undefined }, "messages: Field required"],
    ["an empty list of messages", messages(), "messages: at least one message is required"],
    ["messages that are not a list", { messages: "Hi" }, "messages: Input should be a valid list"],
    ["an unknown parameter", { frequency_penalty: 1 }, "frequency_penalty: Extra inputs are not permitted"],
    ["a wrong type", { stream: "yes" }, "stream: Input should be a valid boolean"],
    ["a temperature above the range", { temperature: 1.5 }, "temperature: range: 0..1"],
    [
      "an unknown service tier",
      { service_tier: "flex" },
      "service_tier: Input should be 'auto' or 'standard_only'",
    ],
    ["unknown metadata", { metadata: { team: "a" } }, "metadata.team: Extra inputs are not permitted"],
    [
      "a blank stop sequence",
      { stop_sequences: [" "] },
      "stop_sequences: each stop sequence must contain non-whitespace",
    ],
    [
      "an unknown role",
      messages({ role: "developer", content: "x" }),
      "messages.0.role: Input should be 'user', 'assistant' or 'system'",
    ],
    [
      "a message that is not an object",
      messages("Hi" as unknown as object),
      "messages.0: Input should be a valid dictionary or object to extract fields from",
    ],
    [
      "an unknown block",
      userMessage({ type: "input_text", text: "x" }),
      "messages.0.content.0: Input tag 'input_text' found using 'type' does not match any of the expected tags: 'text', 'image'",
    ],
    ["a block without a type", userMessage({ text: "x" }), "messages.0.content.0.type: Field required"],
    ["a text without text", userMessage({ type: "text" }), "messages.0.content.0.text.text: Field required"],
    [
      "an unknown field of a block",
      userMessage({ type: "text", text: "x", annotations: [] }),
      "messages.0.content.0.text.annotations: Extra inputs are not permitted",
    ],
    [
      "an empty text",
      userMessage({ type: "text", text: "" }),
      "messages: text content blocks must be non-empty",
    ],
    [
      "a blank text",
      messages({ role: "user", content: " \n" }),
      "messages: text content blocks must contain non-whitespace text",
    ],
    ["an empty message", userMessage(), "messages.0: user messages must have non-empty content"],
    [
      "an image of an unsupported media type",
      userMessage({ ...image, source: { ...image.source, media_type: "image/bmp" } }),
      "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ],
    [
      "an image of the assistant",
      messages(user, { role: "assistant", content: [image] }, user),
      "messages.1: `image` blocks can only be in `user` messages",
    ],
    [
      "a call of the user",
      userMessage(call),
      "messages.0: `tool_use` blocks can only be in `assistant` messages",
    ],
    [
      "a result of the assistant",
      messages(user, { role: "assistant", content: [result] }, user),
      "messages.1: `tool_result` blocks can only be in `user` messages",
    ],
    [
      "a call with arguments as text",
      messages(user, { role: "assistant", content: [{ ...call, input: "{}" }] }, user),
      "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ],
    [
      "a call with an invalid id",
      messages(user, { role: "assistant", content: [{ ...call, id: "a.b" }] }, user),
      "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ],
    [
      "a call without its result",
      messages(user, called, user),
      "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
    ],
    [
      "a text before the result",
      messages(user, called, { role: "user", content: [{ type: "text", text: "x" }, result] }),
      "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
    ],
    [
      "a result without its call",
      messages({ role: "user", content: [result] }),
      "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    ],
    [
      "a result that comes too late",
      messages(
        user,
        called,
        { role: "user", content: [result] },
        { role: "assistant", content: "ok" },
        { role: "user", content: [result] },
      ),
      "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    ],
    [
      "two results for a call",
      messages(user, called, { role: "user", content: [result, result] }),
      "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1",
    ],
    [
      "two calls with one id",
      messages(user, { role: "assistant", content: [call, call] }, { role: "user", content: [result] }),
      "messages: `tool_use` ids must be unique",
    ],
    [
      "an assistant message at the end",
      messages(user, { role: "assistant", content: "Well," }),
      "This model does not support assistant message prefill.",
    ],
    [
      "a system message at the beginning",
      messages({ role: "system", content: "x" }, user),
      "messages.0: `system` messages must come after a `user` message",
    ],
    [
      "a system message with an image",
      messages(user, { role: "system", content: [image] }),
      "messages.1: `system` messages can only have `text` blocks",
    ],
    [
      "a system list of texts",
      { system: ["x"] },
      "system.0: Input should be a valid dictionary or object to extract fields from",
    ],
    [
      "a nested function",
      { tools: [{ type: "function", function: {} }] },
      "tools.0: Input tag 'function' found using 'type'",
    ],
    [
      "an invalid tool name",
      { tools: [{ ...weatherTool, name: "get weather" }] },
      "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ],
    ["a tool without a schema", { tools: [{ name: "f" }] }, "tools.0.custom.input_schema: Field required"],
    [
      "a tool whose schema is not of an object",
      { tools: [{ name: "f", input_schema: { type: "string" } }] },
      "tools.0.custom.input_schema.type: Input should be 'object'",
    ],
    ["two tools with one name", { tools: [weatherTool, weatherTool] }, "tools: Tool names must be unique."],
    [
      "a strict tool whose schema is open",
      { tools: [{ name: "f", strict: true, input_schema: { type: "object" } }] },
      "tools.0.custom.input_schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ],
    [
      "a tool choice without tools",
      { tool_choice: { type: "any" } },
      "tool_choice: tool_choice may only be specified while providing tools",
    ],
    [
      "a tool choice that is a string",
      { tools: [weatherTool], tool_choice: "auto" },
      "tool_choice: Input should be a valid dictionary or object to extract fields from",
    ],
    [
      "a tool choice that names an unknown tool",
      { tools: [weatherTool], tool_choice: { type: "tool", name: "other" } },
      "Tool 'other' not found in provided tools",
    ],
    [
      "a forced tool choice with a thinking budget",
      {
        tools: [weatherTool],
        tool_choice: { type: "any" },
        thinking: { type: "enabled", budget_tokens: 1024 },
      },
      "Thinking may not be enabled when tool_choice forces tool use.",
    ],
    [
      "a small budget",
      { thinking: { type: "enabled", budget_tokens: 500 } },
      "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ],
    [
      "a budget above the limit",
      { thinking: { type: "enabled", budget_tokens: 4096 } },
      "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ],
    [
      "an unknown type of thinking",
      { thinking: { type: "adaptive" }, temperature: 0.5 },
      "`temperature` may only be set to 1 when thinking is enabled.",
    ],
    [
      "an unknown effort",
      { output_config: { effort: "minimal" } },
      "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ],
    [
      "an output format whose schema is open",
      format({ type: "array", items: { type: "object", properties: {} } }),
      "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ],
    [
      "an output format with limits",
      format({
        type: "object",
        additionalProperties: false,
        properties: { n: { type: "integer", minimum: 1, maximum: 2 } },
      }),
      "output_config.format.schema: For 'integer' type, properties maximum, minimum are not supported",
    ],
    [
      "an output format with a limit in a nested schema",
      format({ $defs: { s: { anyOf: [{ type: ["string", "null"], maxLength: 2 }] } } }),
      "output_config.format.schema: For 'string' type, property maxLength is not supported",
    ],
    [
      "an unknown cache lifetime",
      userMessage({ type: "text", text: "x", cache_control: { type: "ephemeral", ttl: "2h" } }),
      "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ],
    [
      "a search result without its search",
      messages(
        user,
        {
          role: "assistant",
          content: [{ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }],
        },
        user,
      ),
      "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1.",
    ],
    [
      "an unknown option",
      { model: "sim-text:speed=3" },
      "model: Unknown option 'speed' in the model string.",
    ],
  ])("with %s gets 400", async (_, changes, message) => {
    expect(await refusal(simulator(), { ...hello, ...changes })).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message: expect.stringContaining(message) as string,
      requestId: expect.stringMatching(/^req_/) as string,
    });
  });

  it("that names an unknown model gets 404", async () => {
    expect(await refusal(simulator(), { ...hello, model: "claude-nonexistent" })).toMatchObject({
      status: 404,
      type: "not_found_error",
      message: "model: claude-nonexistent",
    });
  });

  it.each<[string, object]>([
    [
      "a system message that changes the tools",
      messages(user, {
        role: "system",
        content: [{ type: "tool_removal", tool: { type: "tool_reference", name: "get_weather" } }],
      }),
    ],
    [
      "every kind of block",
      {
        system: [{ type: "text", text: "Be kind." }],
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "Look" },
              image,
              { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
              {
                type: "document",
                source: { type: "text", media_type: "text/plain", data: "x" },
                title: "notes",
              },
              { type: "document", source: { type: "content", content: [{ type: "text", text: "x" }] } },
            ],
          },
          {
            role: "assistant",
            content: [
              { type: "text", text: "I see.", citations: null },
              { type: "server_tool_use", id: "srvtoolu_1", name: "web_fetch", input: {} },
              { type: "web_fetch_tool_result", tool_use_id: "srvtoolu_1", content: {} },
              { ...call, caller: { type: "direct" } },
            ],
          },
          {
            role: "user",
            content: [{ ...result, content: [{ type: "text", text: "rain" }, image], is_error: true }],
          },
        ],
      },
    ],
    [
      "messages of one role in a row",
      messages(user, user, called, { role: "user", content: [result] }, user),
    ],
    ["an assistant message at the beginning", messages(called, { role: "user", content: [result] })],
    ["a later system message", messages(user, { role: "system", content: "Be brief." })],
    [
      "nulls where Anthropic takes them",
      { thinking: null, tools: null, tool_choice: null, system: null, metadata: null, output_config: null },
    ],
  ])("with %s is accepted", async (_, changes) => {
    expect((await ask(simulator(), changes)).stop_reason).toBe("end_turn");
  });
});

describe("other HTTP methods", () => {
  it("are refused", async () => {
    const response = await fetch(`${simulator().anthropicBaseUrl}/v1/messages`, { headers });
    expect(response.status).toBe(405);
  });
});
