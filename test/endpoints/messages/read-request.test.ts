/** Bodies of `POST /v1/messages` -> requests of the contract. */
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { readRequest } from "../../../src/endpoints/messages/read-request.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ToolChoice_Mode } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { expectReadOrRefused } from "../support/changed-bodies.ts";
import { createDirectory } from "../support/directory.ts";

const models = createDirectory({
  providers: new Map([
    ["openai", "openai-responses"],
    ["anthropic", "anthropic-messages"],
    ["gemini", "gemini"],
    ["local", "openai-chat"],
  ]),
});

function read(body: object | string, betas?: string) {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return readRequest(bytes, { models, betas });
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

const base = { model: "openai/m", max_tokens: 10, messages: [{ role: "user", content: "Hi" }] };

/** A body with every kind of field that is read, as Claude Code sends them. */
const whole = {
  model: "openai/m",
  max_tokens: 100,
  system: [
    { type: "text", text: "x-anthropic-billing-header: 1" },
    { type: "text", text: "a", cache_control: { type: "ephemeral" } },
  ],
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "a" },
        { type: "image", source: { type: "url", url: "https://a/b.png" } },
        { type: "document", source: { type: "text", media_type: "text/plain", data: "a" }, title: "b" },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "a", signature: "b" },
        { type: "redacted_thinking", data: "or1.W10" },
        { type: "text", text: "a" },
        { type: "tool_use", id: "t1", name: "f", input: { b: 1, a: 2 }, caller: { type: "direct" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "b" },
        { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "a" }], is_error: true },
      ],
    },
    { role: "system", content: "c" },
  ],
  tools: [{ name: "f", description: "a", input_schema: { type: "object" } }],
  tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true },
  thinking: { type: "enabled", budget_tokens: 3000 },
  output_config: { format: { type: "json_schema", schema: {} } },
  metadata: { user_id: "a" },
  stop_sequences: ["a"],
  temperature: 1,
  top_k: 3,
};

describe("readRequest", () => {
  it("reads results of tools as messages before the rest of the user's message", () => {
    const { request, toBodyPath } = read(whole);
    expect(request.messages.map(({ role }) => role)).toEqual([
      Role.SYSTEM,
      Role.USER,
      Role.ASSISTANT,
      Role.TOOL,
      Role.USER,
      Role.SYSTEM,
    ]);
    expect(request.messages[3]?.content[0]?.part.value).toMatchObject({ toolCallId: "t1", failed: true });
    expect(toBodyPath("messages[3].content[0].tool_result")).toBe("messages[2].content[1]");
    expect(toBodyPath("messages[4].content[0].text")).toBe("messages[2].content[0]");
    expect(toBodyPath("messages[0].content[0].text")).toBe("system[1]");
  });

  it("keeps the order of the keys of an input, and reads the settings", () => {
    const { request } = read(whole);
    const calls = request.messages[2]?.content.flatMap(({ part }) =>
      part.case === "toolCall" ? [part.value] : [],
    );
    expect(calls?.[0]?.input.value).toBe('{"b":1,"a":2}');
    expect(request).toMatchObject({ maxTokens: 100, reasoningEffort: "medium", stopSequences: ["a"] });
    expect(request.toolChoice).toMatchObject({ mode: ToolChoice_Mode.NAMED, toolName: "f", parallel: false });
  });

  it.each([
    ["response_format.schema_json", "output_config.format.schema"],
    ["reasoning_effort", "output_config.effort"],
    ["tool_choice.parallel", "tool_choice.disable_parallel_tool_use"],
    ["tool_choice.tool_name", "tool_choice"],
    ["provider", "model"],
    ["max_tokens", "max_tokens"],
  ])("names %s as %s of the body", (field, path) => {
    expect(read(whole).toBodyPath(field)).toBe(path);
  });

  it("leaves out what differs in each run of Claude Code, for other providers only", () => {
    const system = (model: string) => read({ ...whole, model }).request.messages[0]?.content.length;
    expect([system("openai/m"), system("anthropic/m")]).toEqual([1, 2]);
  });

  it("passes settings, betas and hosted tools to Anthropic", () => {
    const tools = [{ type: "web_search_20250305", name: "web_search" }];
    const { request, warnings } = read(
      { ...whole, model: "anthropic/m", tools, tool_choice: null },
      "a-1,b-2",
    );
    expect(JSON.parse(request.providerOptionsJson.anthropic ?? "")).toEqual({
      thinking: { type: "enabled", budget_tokens: 3000 },
      top_k: 3,
      beta_headers: "a-1,b-2",
    });
    expect(request.metadata).toEqual({ user_id: "a" });
    expect(request.tools[0]?.tool).toMatchObject({ case: "hosted", value: { provider: "anthropic" } });
    expect(warnings).toEqual([]);
  });

  it("warns about fields of tools that other providers do not have, unless they are hints", () => {
    const hints = { cache_control: { type: "ephemeral" }, eager_input_streaming: true };
    const known = { type: "custom", name: "f", description: "a", input_schema: {}, strict: true, ...hints };
    const tools = [{ ...known, input_examples: [{}], defer_loading: true, allowed_callers: null }];
    const params = (model: string) => read({ ...base, model, tools }).warnings.map(({ param }) => param);
    expect(params("openai/m")).toEqual(["tools[0].input_examples", "tools[0].defer_loading"]);
    expect(params("anthropic/m")).toEqual([]);
  });

  it.each([
    [{ thinking: { type: "disabled" } }, "none"],
    [{ thinking: { type: "enabled", budget_tokens: 1024 } }, "low"],
    [{ thinking: { type: "enabled", budget_tokens: 30_000 } }, "high"],
    [{ thinking: { type: "adaptive" }, output_config: { effort: "max" } }, "max"],
    [{ thinking: { type: "adaptive" } }, ""],
  ])("reads the effort of %j as %j", (fields, effort) => {
    expect(read({ ...base, ...fields }).request.reasoningEffort).toBe(effort);
  });

  it.each(["openai/m", "gemini/m", "local/m", "anthropic/m"])(
    "neither warns %s of the fields of the contract, nor passes them as settings",
    (model) => {
      const fields = {
        max_tokens: 9,
        messages: [{ role: "user", content: "Hi" }],
        metadata: {},
        stop_sequences: ["a"],
        stream: true,
        system: "b",
        temperature: 1,
        tool_choice: { type: "auto" },
        tools: [{ name: "f", input_schema: { type: "object" } }],
        top_p: 1,
      };
      const { request, warnings } = read({ ...fields, model });
      expect([warnings, request.providerOptionsJson]).toEqual([[], {}]);
    },
  );

  describe("with changes of the tools in the conversation", () => {
    const define = (name: string, description = "") => ({
      name,
      description,
      input_schema: { type: "object" },
    });
    const change = (type: string, tool: object) => ({ type, tool });
    const refer = (name: string) => ({ type: "tool_reference", name });
    const system = (...content: object[]) => ({ role: "system", content });
    const user = { role: "user", content: "Hi" };
    const describeTools = (body: object) =>
      read(body).request.tools.map(({ tool }) =>
        tool.case === "function" ? `${tool.value.name} ${tool.value.description}`.trim() : tool.case,
      );

    it.each(["openai/m", "anthropic/claude-opus-5"])("has those that are left, for %s", (model) => {
      const definition = { type: "tool_definition", definition: define("d", "new") };
      const messages = [
        user,
        system(change("tool_removal", refer("a")), change("tool_removal", refer("b"))),
        user,
        system(
          { type: "text", text: "Tools changed." },
          change("tool_addition", refer("b")),
          change("tool_addition", definition),
          change("tool_addition", { type: "mcp_toolset_reference", server_name: "s" }),
        ),
      ];
      const tools = [define("a"), define("b"), define("c"), define("d", "old")];
      expect(describeTools({ ...base, model, messages, tools })).toEqual(["b", "c", "d new"]);
      const { request } = read({ ...base, model, messages, tools });
      // A message with changes alone says nothing else.
      expect(request.messages.map(({ role }) => role)).toEqual([Role.USER, Role.USER, Role.SYSTEM]);
      expect(request.messages[2]?.content).toMatchObject([{ part: { value: "Tools changed." } }]);
    });

    it("names the path of an invalid definition", () => {
      const wrong = { type: "tool_definition", definition: { name: "d" } };
      const messages = [user, system(change("tool_addition", wrong))];
      expect(readViolations({ ...base, messages })).toMatchObject([
        { field: "messages[1].content[0].tool.definition.input_schema" },
      ]);
    });
  });

  it("writes what only Anthropic's models take as text for others", () => {
    const reference = { type: "tool_reference", tool_name: "mcp__a__b" };
    const result = {
      type: "search_result",
      source: "https://a.test",
      title: "A",
      content: [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ],
    };
    const source = { type: "content", content: [{ type: "text", text: "three" }] };
    const content = [
      { type: "tool_result", tool_use_id: "t1", content: [reference, result] },
      result,
      { type: "document", source, title: "B" },
    ];
    const calls = [{ type: "tool_use", id: "t1", name: "ToolSearch", input: {} }];
    const messages = [base.messages[0], { role: "assistant", content: calls }, { role: "user", content }];
    const { request, warnings } = read({ ...base, messages });
    const text = "A\nhttps://a.test\none\ntwo";
    const [tool, user] = request.messages.slice(2);
    expect(tool?.content[0]?.part.value).toMatchObject({
      content: [{ part: { value: "The tool mcp__a__b is available." } }, { part: { value: text } }],
    });
    expect(user?.content).toMatchObject([
      { part: { case: "text", value: text } },
      { part: { case: "document", value: { fileName: "B", mediaType: "text/plain" } } },
    ]);
    const { part } = user?.content[1] ?? {};
    const data = part?.case === "document" ? part.value.source.value : undefined;
    expect(Buffer.from(data ?? "").toString()).toBe("three");
    expect(warnings.map(({ code, param }) => `${code} ${param}`)).toEqual([
      "converted_content messages[2].content[0].content[0]",
      "converted_content messages[2].content[0].content[1]",
      "converted_content messages[2].content[1]",
    ]);
    const native = read({ ...base, model: "anthropic/claude-opus-5", messages });
    expect(native.warnings).toEqual([]);
    expect(native.request.messages[3]?.content.map(({ part }) => part.case)).toEqual(["native", "native"]);
  });

  it("warns about settings that the provider does not support, but not about hints", () => {
    const fields = { top_k: 3, container: "c", service_tier: "auto", cache_control: { type: "ephemeral" } };
    const params = (model: string) => read({ ...base, ...fields, model }).warnings.map(({ param }) => param);
    expect(params("local/m")).toEqual(["top_k", "container"]);
    expect(params("gemini/m")).toEqual(["container"]);
  });

  it.each<[string, object]>([
    ["max_tokens", { max_tokens: undefined }],
    ["messages", { messages: [] }],
    ["messages[0].role", { messages: [{ role: "tool", content: "a" }] }],
    [
      "messages[0].content[0].type",
      { messages: [{ role: "user", content: [{ type: "container_upload" }] }] },
    ],
    [
      "messages[0].content[0].source.type",
      { messages: [{ role: "user", content: [{ type: "image", source: {} }] }] },
    ],
    [
      "messages[0].content[0].source.type",
      { messages: [{ role: "user", content: [{ type: "document", source: {} }] }] },
    ],
    ["messages[0].content[0].input", { messages: [{ role: "assistant", content: [{ type: "tool_use" }] }] }],
    ["tools[0].input_schema", { tools: [{ name: "f" }] }],
    ["tool_choice.type", { tool_choice: {} }],
    ["temperature", { temperature: 2 }],
    [
      "messages[0].content[0].signature",
      {
        messages: [
          { role: "assistant", content: [{ type: "thinking", thinking: "a", signature: "or1.AAAA" }] },
        ],
      },
    ],
  ])("refuses a mistake with its path: %s", (field, change) => {
    expect(readViolations({ ...base, ...change })).toMatchObject([{ field }]);
  });

  it("reads or refuses any value at any path, and throws nothing else", () =>
    expectReadOrRefused(whole, read));
});
