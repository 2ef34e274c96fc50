import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import { ask, post, say, weatherTool } from "./support.ts";

const simulator = useSimulator();

interface ErrorFacts {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

async function refusal(body: unknown, init: RequestInit = {}): Promise<{ status: number } & ErrorFacts> {
  const response = await post(simulator(), body, init);
  const { error } = (await response.json()) as { error: ErrorFacts };
  return { status: response.status, ...error };
}

const hello = say("sim-text", "Hello");
const user = { role: "user", content: "Hello" };
const call = { id: "call_1", type: "function", function: { name: "get_weather", arguments: "{}" } };
const caller = { role: "assistant", content: null, tool_calls: [call] };
const result = { role: "tool", tool_call_id: "call_1", content: "rain" };

function talk(...messages: readonly object[]): object {
  return { model: "sim-text", messages };
}

describe("the key", () => {
  it.each([
    ["missing", {}],
    ["not a bearer", { authorization: "Basic abc" }],
    ["refused", { authorization: "Bearer invalid" }],
  ])("that is %s gets 401 invalid_api_key", async (_, headers) => {
    expect(await refusal(hello, { headers })).toMatchObject({
      status: 401,
      type: "invalid_request_error",
      code: "invalid_api_key",
    });
  });
});

describe("the endpoint", () => {
  it("accepts only POST", async () => {
    const headers = { authorization: "Bearer key" };
    expect(await refusal(undefined, { method: "GET", headers, body: null })).toMatchObject({
      status: 405,
      code: "method_not_supported",
    });
  });

  it("answers 404 for an unknown model", async () => {
    expect(await refusal(say("gpt-4o", "Hello"))).toEqual({
      status: 404,
      type: "invalid_request_error",
      param: null,
      code: "model_not_found",
      message: "The model `gpt-4o` does not exist or you do not have access to it.",
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
    ["no model", { messages: [user] }, null, null, "you must provide a model parameter"],
    [
      "no messages",
      { model: "sim-text" },
      "messages",
      "missing_required_parameter",
      "Missing required parameter: 'messages'.",
    ],
    [
      "empty messages",
      talk(),
      "messages",
      "empty_array",
      "Invalid 'messages': empty array. Expected an array with minimum length 1",
    ],
    [
      "an unknown parameter",
      { ...hello, input: "x" },
      "input",
      "unknown_parameter",
      "Unknown parameter: 'input'.",
    ],
    [
      "a compatible server's parameter",
      { ...hello, top_k: 3 },
      "top_k",
      "unknown_parameter",
      "Unknown parameter: 'top_k'.",
    ],
    [
      "a wrong type",
      { ...hello, stream: "yes" },
      "stream",
      "invalid_type",
      "Invalid type for 'stream': expected a boolean, but got a string instead.",
    ],
    [
      "too small a limit",
      { ...hello, max_tokens: 0 },
      "max_tokens",
      "integer_below_min_value",
      "Expected a value >= 1, but got 0 instead.",
    ],
    [
      "two limits",
      { ...hello, max_tokens: 5, max_completion_tokens: 5 },
      "max_tokens",
      "invalid_parameter_combination",
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    ],
    [
      "stream options without a stream",
      { ...hello, stream_options: { include_usage: true } },
      "stream_options",
      null,
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    ],
    [
      "alternatives without probabilities",
      { ...hello, top_logprobs: 2 },
      "top_logprobs",
      null,
      "'top_logprobs' parameter is only allowed when 'logprobs' is enabled",
    ],
    [
      "many stop sequences",
      { ...hello, stop: ["1", "2", "3", "4", "5"] },
      "stop",
      "array_above_max_length",
      "Expected an array with maximum length 4, but got an array with length 5 instead.",
    ],
    [
      "an unknown effort",
      { ...hello, reasoning_effort: "much" },
      "reasoning_effort",
      "invalid_value",
      "Invalid value: 'much'.",
    ],
    ["old functions", { ...hello, functions: [] }, "functions", "unsupported_by_simulator", "'functions'"],
    [
      "sounds as an answer",
      { ...hello, modalities: ["text", "audio"] },
      "modalities",
      "unsupported_by_simulator",
      "'modalities'",
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
});

describe("a message", () => {
  it.each<[string, object, string | null, string | null, string]>([
    [
      "an unknown role",
      talk({ role: "usr", content: "x" }),
      "messages[0].role",
      "invalid_value",
      "Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    ],
    [
      "an old role",
      talk({ role: "function", name: "f", content: "x" }),
      "messages[0].role",
      "unsupported_by_simulator",
      "role 'function'",
    ],
    [
      "no content",
      talk({ role: "user" }),
      "messages[0].content",
      "missing_required_parameter",
      "Missing required parameter: 'messages[0].content'.",
    ],
    [
      "null as content",
      talk({ role: "user", content: null }),
      "messages.[0].content",
      null,
      "Invalid value for 'content': expected a string, got null.",
    ],
    [
      "an empty list as content",
      talk({ role: "user", content: [] }),
      "messages[0].content",
      "empty_array",
      "Invalid 'messages[0].content': empty array.",
    ],
    [
      "nothing at all of the assistant",
      talk(user, { role: "assistant" }),
      "messages.[1].content",
      null,
      "Invalid value for 'content': expected a string, got null.",
    ],
    [
      "null of the assistant",
      talk(user, { role: "assistant", content: null }),
      "messages.[1].content",
      null,
      "expected a string, got null.",
    ],
    [
      "content of the Responses API",
      talk({ role: "user", content: [{ type: "input_text", text: "x" }] }),
      "messages[0].content[0].type",
      "invalid_value",
      "Supported values are: 'text', 'image_url', 'input_audio', and 'file'.",
    ],
    [
      "an image as text",
      talk({ role: "user", content: [{ type: "image_url", image_url: "https://a" }] }),
      "messages[0].content[0].image_url",
      "invalid_type",
      "expected an object, but got a string instead.",
    ],
    [
      "an image of the system",
      talk({ role: "system", content: [{ type: "image_url", image_url: { url: "https://a" } }] }),
      "messages[0]",
      "invalid_value",
      "Image URLs are only allowed for messages with role 'user', but this message with role 'system' contains an image URL.",
    ],
    [
      "an image of a tool",
      talk(user, caller, { ...result, content: [{ type: "image_url", image_url: { url: "https://a" } }] }),
      "messages[2]",
      "invalid_value",
      "this message with role 'tool' contains an image URL.",
    ],
    [
      "a sound of an unknown format",
      talk({ role: "user", content: [{ type: "input_audio", input_audio: { data: "AA", format: "ogg" } }] }),
      "messages[0].content[0].input_audio.format",
      "invalid_value",
      "Supported values are: 'wav' and 'mp3'.",
    ],
    [
      "an odd name",
      talk({ ...user, name: "a b" }),
      "messages[0].name",
      "invalid_value",
      "string does not match pattern",
    ],
    [
      "an unknown field",
      talk({ ...user, id: "x" }),
      "messages[0].id",
      "unknown_parameter",
      "Unknown parameter: 'messages[0].id'.",
    ],
    [
      "empty calls",
      talk(user, { ...caller, tool_calls: [] }),
      "messages[1].tool_calls",
      "empty_array",
      "Invalid 'messages[1].tool_calls': empty array.",
    ],
    [
      "a call without an id",
      talk(user, { ...caller, tool_calls: [{ ...call, id: undefined }] }),
      "messages[1].tool_calls[0].id",
      "missing_required_parameter",
      "Missing required parameter: 'messages[1].tool_calls[0].id'.",
    ],
    [
      "a long call id",
      talk(user, { ...caller, tool_calls: [{ ...call, id: "x".repeat(41) }] }),
      "messages[1].tool_calls[0].id",
      "string_above_max_length",
      "maximum length 40, but got a string with length 41",
    ],
    [
      "arguments as an object",
      talk(user, { ...caller, tool_calls: [{ ...call, function: { name: "f", arguments: {} } }] }),
      "messages[1].tool_calls[0].function.arguments",
      "invalid_type",
      "expected a string, but got an object instead.",
    ],
    [
      "parsed arguments",
      talk(user, {
        ...caller,
        tool_calls: [{ ...call, function: { ...call.function, parsed_arguments: {} } }],
      }),
      "messages[1].tool_calls[0].function.parsed_arguments",
      "unknown_parameter",
      "parsed_arguments",
    ],
    [
      "another server's thinking",
      talk(user, { role: "assistant", content: "x", reasoning: "y" }),
      "messages[1].reasoning",
      "unknown_parameter",
      "Unknown parameter: 'messages[1].reasoning'.",
    ],
    [
      "a result without its call id",
      talk(user, caller, { role: "tool", content: "x" }),
      "messages.[2].tool_call_id",
      null,
      "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
    ],
    [
      "a result without a call",
      talk(user, result),
      "messages.[1].role",
      null,
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ],
    [
      "a result that comes late",
      talk(user, caller, result, user, result),
      "messages.[4].role",
      null,
      "must be a response to a preceeding message",
    ],
    [
      "a result of another call",
      talk(user, caller, { ...result, tool_call_id: "call_2" }, result),
      "messages.[2].tool_call_id",
      null,
      "'tool_call_id' of 'call_2' not found in 'tool_calls' of previous message.",
    ],
    [
      "a call without its result",
      talk(user, caller),
      "messages",
      null,
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
    ],
    [
      "a call whose result comes late",
      talk(user, caller, user, result),
      "messages.[2].role",
      null,
      "did not have response messages: call_1",
    ],
    [
      "one result of two",
      talk(user, { ...caller, tool_calls: [call, { ...call, id: "call_2" }] }, result, user),
      "messages.[3].role",
      null,
      "did not have response messages: call_2",
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
      "every kind of role and content",
      [
        { role: "developer", content: "Be kind." },
        { role: "system", content: [{ type: "text", text: "Be brief." }], name: "house" },
        {
          role: "user",
          name: "ann",
          content: [
            { type: "text", text: "Look and listen" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
            { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
            { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "I see." },
            { type: "refusal", refusal: "No." },
          ],
        },
        { ...caller, refusal: null, annotations: [], audio: null, function_call: null },
        { ...result, content: [{ type: "text", text: "rain" }] },
        user,
      ],
    ],
    ["empty texts", [{ role: "user", content: "" }, { role: "assistant", content: "" }, user]],
    ["a refusal", [user, { role: "assistant", content: null, refusal: "No." }, user]],
    // LangChain for JavaScript sends it.
    ["the name of a result's tool", [user, caller, { ...result, name: "get_weather" }, user]],
    [
      "results in another order",
      [
        user,
        { ...caller, tool_calls: [call, { ...call, id: "call_2" }] },
        { ...result, tool_call_id: "call_2" },
        result,
      ],
    ],
    [
      "thinking of the server itself",
      [user, { role: "assistant", content: "x", reasoning_content: "y" }, user],
    ],
  ])("with %s is accepted", async (_, messages) => {
    const { choices } = await ask(simulator(), talk(...messages));
    expect(choices[0]?.finish_reason).toBe("stop");
  });
});

describe("tools and formats", () => {
  const schema = { type: "object", properties: {} };

  it.each<[string, object, string, string | null, string]>([
    ["empty tools", { tools: [] }, "tools", "empty_array", "Invalid 'tools': empty array."],
    [
      "a tool of the Responses API",
      { tools: [{ type: "function", name: "f" }] },
      "tools[0].function",
      "missing_required_parameter",
      "Missing required parameter: 'tools[0].function'.",
    ],
    [
      "a hosted tool",
      { tools: [{ type: "web_search" }] },
      "tools[0].type",
      "invalid_value",
      "Supported values are: 'function' and 'custom'.",
    ],
    [
      "an odd tool name",
      { tools: [{ type: "function", function: { name: "get weather" } }] },
      "tools[0].function.name",
      "invalid_value",
      "string does not match pattern",
    ],
    [
      "a long tool name",
      { tools: [{ type: "function", function: { name: "x".repeat(65) } }] },
      "tools[0].function.name",
      "string_above_max_length",
      "maximum length 64",
    ],
    [
      "a schema that is no object's",
      { tools: [{ type: "function", function: { name: "f", parameters: { type: "string" } } }] },
      "tools[0].function.parameters",
      "invalid_function_parameters",
      "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'.",
    ],
    [
      "a strict tool that is lax",
      { tools: [{ type: "function", function: { name: "f", strict: true, parameters: schema } }] },
      "tools[0].function.parameters",
      "invalid_function_parameters",
      "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    ],
    [
      "a choice without tools",
      { tool_choice: "auto" },
      "tool_choice",
      null,
      "'tool_choice' is only allowed when 'tools' are specified.",
    ],
    [
      "parallel calls without tools",
      { parallel_tool_calls: false },
      "parallel_tool_calls",
      null,
      "'parallel_tool_calls' is only allowed when 'tools' are specified.",
    ],
    [
      "an unknown choice",
      { tools: [weatherTool], tool_choice: "any" },
      "tool_choice",
      "invalid_value",
      "Supported values are: 'none', 'auto', and 'required'.",
    ],
    [
      "a choice of the Responses API",
      { tools: [weatherTool], tool_choice: { type: "function", name: "get_weather" } },
      "tool_choice.function",
      "missing_required_parameter",
      "Missing required parameter: 'tool_choice.function'.",
    ],
    [
      "a choice that is not offered",
      { tools: [weatherTool], tool_choice: { type: "function", function: { name: "other" } } },
      "tool_choice",
      null,
      "'other' not found in 'tools' parameter.",
    ],
    [
      "a format without its schema",
      { response_format: { type: "json_schema" } },
      "response_format.json_schema",
      "missing_required_parameter",
      "Missing required parameter: 'response_format.json_schema'.",
    ],
    [
      "a strict format that is lax",
      { response_format: { type: "json_schema", json_schema: { name: "x", strict: true, schema } } },
      "response_format",
      null,
      "Invalid schema for response_format 'x': In context=(), 'additionalProperties'",
    ],
    [
      "JSON without the word",
      { response_format: { type: "json_object" } },
      "messages",
      null,
      "'messages' must contain the word 'json' in some form",
    ],
  ])("%s get 400", async (_, more, param, code, message) => {
    expect(await refusal({ ...hello, ...more })).toEqual({
      status: 400,
      type: "invalid_request_error",
      param,
      code,
      message: expect.stringContaining(message) as string,
    });
  });
});

describe("a parameter that OpenAI's reasoning models refuse", () => {
  const model = "sim-reasoning:reasoning_field=none";

  it.each([
    ["max_tokens", 10, "unsupported_parameter", "Use 'max_completion_tokens' instead."],
    ["stop", ["x"], "unsupported_parameter", "'stop' is not supported with this model."],
    ["logprobs", true, "unsupported_parameter", "'logprobs' is not supported with this model."],
    ["temperature", 0.5, "unsupported_value", "Only the default (1) value is supported."],
    ["top_p", 0.9, "unsupported_value", "'top_p' does not support 0.9 with this model."],
    ["presence_penalty", 1, "unsupported_value", "Only the default (0) value is supported."],
  ])("like %s gets 400, but not from other models that reason", async (name, value, code, message) => {
    expect(await refusal(say(model, "Why?", { [name]: value }))).toMatchObject({
      status: 400,
      param: name,
      code,
      message: expect.stringContaining(message) as string,
    });
    expect((await ask(simulator(), say("sim-reasoning", "Why?", { [name]: value }))).choices).toHaveLength(1);
  });

  it("may have its default value", async () => {
    const { choices } = await ask(simulator(), say(model, "Why?", { temperature: 1, logprobs: false }));
    expect(choices).toHaveLength(1);
  });
});
