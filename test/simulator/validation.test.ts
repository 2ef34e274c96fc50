import { describe, expect, it } from "vitest";
import { ask, post, useSimulator, weatherTool } from "./support.ts";

const simulator = useSimulator();

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

async function refusal(
  body: unknown,
  init: RequestInit = {},
): Promise<{ status: number } & ErrorBody["error"]> {
  const response = await post(simulator(), body, init);
  const { error } = (await response.json()) as ErrorBody;
  return { status: response.status, ...error };
}

const hello = { model: "sim-text", input: "Hello" };
const call = { type: "function_call", call_id: "call_1", name: "get_weather", arguments: "{}" };
const output = { type: "function_call_output", call_id: "call_1", output: "rain" };
const user = { role: "user", content: "Hello" };

describe("the key", () => {
  it.each([
    ["missing", {}],
    ["not a bearer", { authorization: "Basic abc" }],
    ["invalid", { authorization: "Bearer invalid" }],
  ])("that is %s gets 401 invalid_api_key", async (_, headers) => {
    expect(await refusal(hello, { headers })).toMatchObject({
      status: 401,
      type: "invalid_request_error",
      code: "invalid_api_key",
    });
  });
});

describe("the body", () => {
  it.each(["", "{", "[]", "null", '"text"'])("%j gets 400", async (body) => {
    expect(await refusal(body)).toMatchObject({
      status: 400,
      code: null,
      message: expect.stringContaining("could not parse the JSON body") as string,
    });
  });

  it.each<[string, object, string | null, string | null, string]>([
    [
      "no model",
      { input: "Hello" },
      "model",
      "missing_required_parameter",
      "Missing required parameter: 'model'.",
    ],
    [
      "no input",
      { model: "sim-text" },
      "input",
      "missing_required_parameter",
      "Missing required parameter: 'input'.",
    ],
    [
      "an unknown parameter",
      { ...hello, stop: ["x"] },
      "stop",
      "unknown_parameter",
      "Unknown parameter: 'stop'.",
    ],
    [
      "a wrong type",
      { ...hello, stream: "yes" },
      "stream",
      "invalid_type",
      "Invalid type for 'stream': expected a boolean, but got a string instead.",
    ],
    [
      "a decimal for an integer",
      { ...hello, max_output_tokens: 20.5 },
      "max_output_tokens",
      "invalid_type",
      "expected an integer, but got a decimal instead.",
    ],
    [
      "too small a limit",
      { ...hello, max_output_tokens: 1 },
      "max_output_tokens",
      "integer_below_min_value",
      "Expected a value >= 16, but got 1 instead.",
    ],
    [
      "too high a temperature",
      { ...hello, temperature: 2.5 },
      "temperature",
      "decimal_above_max_value",
      "Expected a value <= 2, but got 2.5 instead.",
    ],
    [
      "an unknown word",
      { ...hello, truncation: "some" },
      "truncation",
      "invalid_value",
      "Supported values are: 'auto' and 'disabled'.",
    ],
    [
      "an unknown include",
      { ...hello, include: ["everything"] },
      "include[0]",
      "invalid_value",
      "Invalid value: 'everything'.",
    ],
    [
      "long metadata",
      { ...hello, metadata: { a: "x".repeat(513) } },
      "metadata.a",
      "string_above_max_length",
      "maximum length 512",
    ],
    [
      "much metadata",
      { ...hello, metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, "v"])) },
      "metadata",
      "object_above_max_properties",
      "at most 16 properties",
    ],
    ["an empty input", { ...hello, input: [] }, "input", "empty_array", "empty array"],
    [
      "an unknown role",
      { ...hello, input: [{ role: "usr", content: "x" }] },
      "input[0].role",
      "invalid_value",
      "Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    ],
    [
      "a tool as role",
      { ...hello, input: [user, { role: "tool", content: "x" }] },
      "input[1].role",
      "invalid_value",
      "Invalid value: 'tool'.",
    ],
    [
      "an unknown item",
      { ...hello, input: [{ type: "thought" }] },
      "input[0].type",
      "invalid_value",
      "Invalid value: 'thought'.",
    ],
    [
      "text of the wrong direction",
      { ...hello, input: [{ role: "assistant", content: [{ type: "input_text", text: "x" }] }] },
      "input[0].content[0].type",
      "invalid_value",
      "Supported values are: 'output_text' and 'refusal'.",
    ],
    [
      "content of Chat Completions",
      { ...hello, input: [{ role: "user", content: [{ type: "text", text: "x" }] }] },
      "input[0].content[0].type",
      "invalid_value",
      "Supported values are: 'input_text', 'input_image', and 'input_file'.",
    ],
    [
      "an image object",
      { ...hello, input: [{ role: "user", content: [{ type: "input_image", image_url: { url: "x" } }] }] },
      "input[0].content[0].image_url",
      "invalid_type",
      "expected a string, but got an object instead.",
    ],
    [
      "an unknown field of an item",
      { ...hello, input: [{ ...call, parsed_arguments: {} }, output] },
      "input[0].parsed_arguments",
      "unknown_parameter",
      "Unknown parameter: 'input[0].parsed_arguments'.",
    ],
    [
      "an item id of another kind",
      { ...hello, input: [{ ...call, id: "call_1" }, output] },
      "input[0].id",
      "invalid_value",
      "Expected an ID that begins with 'fc'.",
    ],
    [
      "a missing call id",
      { ...hello, input: [{ ...call, call_id: undefined }, output] },
      "input[0].call_id",
      "missing_required_parameter",
      "Missing required parameter: 'input[0].call_id'.",
    ],
    [
      "an empty call id",
      { ...hello, input: [{ ...call, call_id: "" }, output] },
      "input[0].call_id",
      "empty_string",
      "minimum length 1",
    ],
    [
      "a long call id",
      { ...hello, input: [{ ...call, call_id: "x".repeat(65) }, output] },
      "input[0].call_id",
      "string_above_max_length",
      "maximum length 64, but got a string with length 65",
    ],
    [
      "an output without its call",
      { ...hello, input: [user, output] },
      "input",
      null,
      "No tool call found for function call output with call_id call_1.",
    ],
    [
      "an output before its call",
      { ...hello, input: [user, output, call] },
      "input",
      null,
      "No tool call found for function call output with call_id call_1.",
    ],
    [
      "a call without its output",
      { ...hello, input: [user, call, user] },
      "input",
      null,
      "No tool output found for function call call_1.",
    ],
    [
      "a duplicate call",
      { ...hello, input: [user, call, call, output] },
      "input",
      null,
      "Duplicate item found with id call_1.",
    ],
    [
      "a duplicate item",
      { ...hello, input: [{ ...call, id: "fc_1" }, { ...call, id: "fc_1", call_id: "call_2" }, output] },
      "input",
      null,
      "Duplicate item found with id fc_1.",
    ],
    [
      "a nested function",
      { ...hello, tools: [{ type: "function", function: { name: "f" } }] },
      "tools[0].name",
      "missing_required_parameter",
      "Missing required parameter: 'tools[0].name'.",
    ],
    [
      "an invalid function name",
      { ...hello, tools: [{ type: "function", name: "get weather" }] },
      "tools[0].name",
      "invalid_value",
      "string does not match pattern",
    ],
    [
      "a strict tool without additionalProperties",
      { ...hello, tools: [{ ...weatherTool, parameters: { type: "object", properties: {} } }] },
      "tools[0].parameters",
      "invalid_function_parameters",
      "In context=(), 'additionalProperties' is required to be supplied and to be false.",
    ],
    [
      "a strict tool with an optional property",
      {
        ...hello,
        tools: [{ ...weatherTool, parameters: { ...weatherTool.parameters, required: ["city"] } }],
      },
      "tools[0].parameters",
      "invalid_function_parameters",
      "Missing 'unit'.",
    ],
    [
      "a choice of an undeclared tool",
      { ...hello, tools: [weatherTool], tool_choice: { type: "function", name: "other" } },
      "tool_choice",
      null,
      "not found in 'tools' parameter",
    ],
    [
      "a tool choice of Chat Completions",
      {
        ...hello,
        tools: [weatherTool],
        tool_choice: { type: "function", function: { name: "get_weather" } },
      },
      "tool_choice.name",
      "missing_required_parameter",
      "Missing required parameter: 'tool_choice.name'.",
    ],
    [
      "required without tools",
      { ...hello, tool_choice: "required" },
      "tool_choice",
      null,
      "must be specified with 'tools'",
    ],
    [
      "a format without a name",
      { ...hello, text: { format: { type: "json_schema", schema: {} } } },
      "text.format.name",
      "missing_required_parameter",
      "Missing required parameter: 'text.format.name'.",
    ],
    [
      "a strict format without additionalProperties",
      {
        ...hello,
        text: {
          format: {
            type: "json_schema",
            name: "x",
            strict: true,
            schema: {
              type: "object",
              properties: { a: { type: "object" } },
              required: ["a"],
              additionalProperties: false,
            },
          },
        },
      },
      "text.format.schema",
      "invalid_json_schema",
      "In context=('properties', 'a'), 'additionalProperties'",
    ],
    [
      "JSON mode without the word in the prompt",
      { ...hello, text: { format: { type: "json_object" } } },
      "input",
      null,
      "must contain the word 'json'",
    ],
    [
      "an unknown previous response",
      { ...hello, previous_response_id: "resp_0" },
      "previous_response_id",
      "previous_response_not_found",
      "Previous response with id 'resp_0' not found.",
    ],
    [
      "sampling of a reasoning model",
      { ...hello, model: "sim-reasoning", temperature: 1 },
      "temperature",
      "unsupported_parameter",
      "Unsupported parameter: 'temperature' is not supported with this model.",
    ],
    [
      "reasoning without the item that follows it",
      { ...hello, input: [{ type: "reasoning", summary: [] }, user] },
      "input",
      null,
      "was provided without its required following item.",
    ],
    [
      "unreadable reasoning",
      {
        ...hello,
        input: [
          { type: "reasoning", summary: [], encrypted_content: "gAAAAABx==" },
          { role: "assistant", content: "x" },
        ],
      },
      null,
      "invalid_encrypted_content",
      "The encrypted content gAAA...Bx== could not be verified.",
    ],
    [
      "a background run",
      { ...hello, background: true },
      "background",
      "unsupported_by_simulator",
      "'background'",
    ],
    [
      "an unknown option",
      { ...hello, model: "sim-text:speed=3" },
      "model",
      "invalid_value",
      "Unknown option 'speed' in the model string.",
    ],
    [
      "an invalid option",
      { ...hello, model: "sim-text:status=200" },
      "model",
      "invalid_value",
      "Invalid value '200' of option 'status' in the model string. Expected integer from 400 to 599.",
    ],
  ])("with %s gets 400", async (_, body, param, code, message) => {
    expect(await refusal(body)).toEqual({
      status: 400,
      type: "invalid_request_error",
      param,
      code,
      message: expect.stringContaining(message) as string,
    });
  });

  it.each([
    [
      "every kind of item and content",
      {
        input: [
          { role: "developer", content: "Be kind." },
          {
            type: "message",
            role: "user",
            content: [
              { type: "input_text", text: "Look" },
              { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "low" },
              { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" },
            ],
          },
          { role: "assistant", content: [{ type: "output_text", text: "I see.", annotations: [] }] },
          {
            type: "web_search_call",
            id: "ws_1",
            status: "completed",
            action: { type: "search", query: "x" },
          },
          call,
          {
            ...output,
            output: [
              { type: "input_text", text: "rain" },
              { type: "input_image", image_url: "https://example.com/a.png" },
            ],
          },
          user,
        ],
      },
    ],
    [
      "nulls where OpenAI accepts them",
      {
        input: "Hello",
        instructions: null,
        metadata: null,
        reasoning: null,
        temperature: null,
        text: { format: null },
        tools: null,
        tool_choice: null,
        include: null,
      },
    ],
    [
      "allowed tools",
      {
        input: "Hello",
        tools: [weatherTool],
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "function", name: "get_weather" }],
        },
      },
    ],
  ])("with %s is accepted", async (_, body) => {
    expect((await ask(simulator(), { model: "sim-text", ...body })).status).toBe("completed");
  });
});

describe("reasoning that is sent back", () => {
  const request = { model: "sim-reasoning", include: ["reasoning.encrypted_content"], store: false };
  const question = { role: "user", content: "Why?" };

  async function think(
    changes: object = {},
  ): Promise<readonly [Record<string, unknown>, Record<string, unknown>]> {
    const { output: items } = await ask(simulator(), { ...request, input: [question], ...changes });
    const [reasoning, message] = items as unknown as Record<string, unknown>[];
    return [reasoning ?? {}, message ?? {}];
  }

  it("is required by the item that followed it", async () => {
    const [, message] = await think();
    expect(await refusal({ ...request, input: [question, message, user] })).toMatchObject({
      status: 400,
      message: expect.stringMatching(
        /^Item 'msg_\w+' of type 'message' was provided without its required 'reasoning' item: 'rs_\w+'\.$/,
      ) as string,
    });
  });

  it("can be sent without ids", async () => {
    const [reasoning, message] = await think();
    const input = [question, { ...reasoning, id: undefined }, { ...message, id: undefined }, user];
    expect((await ask(simulator(), { ...request, input })).status).toBe("completed");
  });

  it("must have its content", async () => {
    const [first, message] = await think();
    const [second] = await think();
    const mixed = { ...first, encrypted_content: second.encrypted_content };
    expect(await refusal({ ...request, input: [question, mixed, message, user] })).toMatchObject({
      code: "invalid_encrypted_content",
      message: expect.stringContaining("item_id did not match the target item id") as string,
    });
  });

  it("cannot be found when it was not stored", async () => {
    const [reasoning, message] = await think();
    const input = [question, { ...reasoning, encrypted_content: null }, message, user];
    expect(await refusal({ ...request, input })).toMatchObject({
      status: 404,
      message: expect.stringContaining("Items are not persisted when `store` is set to false.") as string,
    });
  });

  it("is found by its id when it was stored", async () => {
    const [reasoning, message] = await think({ store: true, include: [] });
    expect(reasoning.encrypted_content).toBeUndefined();
    const references = [reasoning, message].map((item) => ({ type: "item_reference", id: item.id }));
    for (const items of [[reasoning, message], references]) {
      expect((await ask(simulator(), { ...request, input: [question, ...items, user] })).status).toBe(
        "completed",
      );
    }
  });
});

describe("other endpoints", () => {
  it("reject other methods", async () => {
    const response = await fetch(`${simulator().openaiBaseUrl}/responses`, {
      headers: { authorization: "Bearer k" },
    });
    expect(response.status).toBe(405);
  });

  it("that do not exist are named in the answer", async () => {
    const response = await fetch(`${simulator().url}/responses`, { method: "POST", body: "{}" });
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("does not answer POST /responses. It answers POST /v1/responses");
  });
});
