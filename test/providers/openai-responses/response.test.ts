import { create, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ProviderError } from "../../../src/core/errors.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import {
  RateLimitInfoSchema,
  FinishReason_Reason as Reason,
  ResponseSchema,
  WarningSchema,
} from "../../../src/gen/outrigger/v1/response_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import type { CallFacts } from "../../../src/kit/call/call-facts.ts";
import { toResponse } from "../../../src/providers/openai-responses/response.ts";
import { factsFor } from "../../support/decode.ts";
import { type Item, outputText, PNG_BASE64 } from "./conversation.ts";
import { describePart } from "./describe-event.ts";

const FACTS = factsFor("openai", { model: "gpt-5" });

function respond(body: unknown, facts: CallFacts = FACTS) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return toResponse(text, { ...facts, warnings: [...facts.warnings] });
}

function getParts(...output: Item[]) {
  const { message } = respond({ model: "gpt-5", status: "completed", output });
  return message?.content.map(describePart);
}

describe("a whole answer", () => {
  it("becomes a Response with the facts of the call and the body", () => {
    const facts: CallFacts = {
      ...FACTS,
      warnings: [
        create(WarningSchema, { code: "unsupported_setting", field: "stop_sequences", message: "m" }),
      ],
      rateLimit: create(RateLimitInfoSchema, { requestsLimit: 5 }),
      providerRequestId: "req_1",
    };
    const body = {
      id: "resp_1",
      object: "response",
      model: "gpt-5-2025-08-07",
      status: "completed",
      error: null,
      incomplete_details: null,
      output: [
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          content: [outputText("Hi.")],
        },
      ],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      input_transformations: [
        { type: "reasoning_withheld", reason: "prefix_mismatch" },
        { type: "reasoning_withheld" },
      ],
    };
    const state = {
      item: { type: "message", id: "msg_1", role: "assistant", status: "completed" },
      part: { type: "output_text" },
      model: "gpt-5",
    };
    expect(toJson(ResponseSchema, respond(body, facts))).toEqual({
      id: "resp_1",
      model: "gpt-5-2025-08-07",
      provider: "openai",
      message: {
        role: "ROLE_ASSISTANT",
        content: [
          {
            text: "Hi.",
            providerState: { provider: "openai", model: "gpt-5-2025-08-07", dataJson: JSON.stringify(state) },
          },
        ],
      },
      finishReason: { reason: "REASON_STOP", raw: "completed" },
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
      warnings: [
        { code: "unsupported_setting", field: "stop_sequences", message: "m" },
        {
          code: "input_transformed",
          field: "messages",
          message: "the provider changed the input: prefix_mismatch",
        },
        {
          code: "input_transformed",
          field: "messages",
          message: "the provider changed the input: reasoning_withheld",
        },
      ],
      rateLimit: { requestsLimit: 5 },
      inferenceId: "inf_test",
      createdAt: "1970-01-01T00:00:00Z",
      providerRequestId: "req_1",
    });
  });

  it("holds the unchanged body under include_raw", () => {
    const body =
      '{ "output": [], "status":"completed","n":1.0,"usage":{"input_tokens":1,"output_tokens":0} }';
    const response = respond(body, factsFor("openai", { model: "gpt-5", includeRaw: true }));
    expect(response.rawJson).toBe(body);
    expect(response.usage?.rawJson).toBe('{"input_tokens":1,"output_tokens":0}');
    expect(respond(body).rawJson).toBe("");
  });

  it("names the requested model if the body names none", () => {
    expect(respond({ output: [] })).toMatchObject({
      id: "",
      model: "gpt-5",
      finishReason: { reason: Reason.STOP, raw: "" },
    });
  });
});

describe("the items of an answer", () => {
  it("become one part for each content part of a message, with citations and state", () => {
    const annotations = [
      { type: "url_citation", url: "https://x.test/ä", title: "X", start_index: 0, end_index: 5 },
      { type: "file_citation", file_id: "file-1", filename: "a.pdf", index: 7 },
      {
        type: "container_file_citation",
        container_id: "c",
        file_id: "file-2",
        filename: "b.csv",
        start_index: 1,
        end_index: 2,
      },
      { type: "file_path", file_id: "file-3", index: 9 },
    ];
    const logprobs = [{ token: "He", logprob: -0.5 }];
    const item = {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      phase: "commentary",
    };
    const content = [
      { type: "output_text", text: "Hello", annotations, logprobs },
      { type: "output_text", text: "", annotations: [], logprobs: [] },
      { type: "refusal", refusal: "No." },
      { type: "output_hologram", layers: [] },
    ];
    const cited = { title: "", url: "", citedText: "", sourceId: "" };
    expect(getParts({ ...item, content })).toEqual([
      {
        text: "Hello",
        citations: [
          {
            ...cited,
            type: "url_citation",
            title: "X",
            url: "https://x.test/ä",
            startIndex: 0,
            endIndex: 5,
            raw: annotations[0],
          },
          { ...cited, type: "file_citation", title: "a.pdf", sourceId: "file-1", raw: annotations[1] },
          {
            ...cited,
            type: "container_file_citation",
            title: "b.csv",
            sourceId: "file-2",
            startIndex: 1,
            endIndex: 2,
            raw: annotations[2],
          },
          { ...cited, type: "file_path", sourceId: "file-3", raw: annotations[3] },
        ],
        state: { item, part: { type: "output_text", logprobs } },
      },
      { text: "", state: { item, part: { type: "output_text" } } },
      { text: "No.", state: { item, part: { type: "refusal" } } },
      {
        native: { type: "output_hologram", layers: [] },
        kind: "output_hologram",
        provider: "openai",
        state: { item },
      },
    ]);
  });

  it("become an empty text for a message without content, so that it can be sent back", () => {
    const item = { type: "message", id: "msg_1", role: "assistant", status: "incomplete" };
    expect(getParts({ ...item, content: [] })).toEqual([{ text: "", state: { item, empty: true } }]);
  });

  it.each<[string, Item, { reasoning: string; redacted: boolean }]>([
    [
      "a summary of several parts",
      { summary: [{ text: "First." }, { text: "" }, { text: "Then." }], encrypted_content: "gAAA" },
      { reasoning: "First.\n\nThen.", redacted: false },
    ],
    [
      "a summary and the reasoning itself",
      { summary: [{ text: "Short." }], content: [{ type: "reasoning_text", text: "Long." }] },
      { reasoning: "Short.\n\nLong.", redacted: false },
    ],
    ["only encrypted content", { summary: [], encrypted_content: "gAAA" }, { reasoning: "", redacted: true }],
    ["nothing at all", { summary: [], encrypted_content: null }, { reasoning: "", redacted: false }],
  ])("become reasoning: %s", (_name, rest, expected) => {
    const item = { type: "reasoning", id: "rs_1", ...rest };
    expect(getParts(item)).toEqual([{ ...expected, state: { item } }]);
  });

  it("become a tool call with the id of the call; the item's id is kept in its state", () => {
    const rest = { id: "fc_1", status: "completed", namespace: "n", caller: { type: "direct" }, async: true };
    const call = { type: "function_call", ...rest, call_id: "call_1", name: "look", arguments: '{"a": 1}' };
    const custom = {
      type: "custom_tool_call",
      id: "ctc_1",
      call_id: "call_2",
      name: "sql",
      input: "SELECT '{'",
    };
    expect(getParts(call, custom)).toEqual([
      {
        call: "look",
        id: "call_1",
        type: "function",
        input: '{"a": 1}',
        invalid: false,
        state: { item: { type: "function_call", ...rest } },
      },
      {
        call: "sql",
        id: "call_2",
        type: "custom",
        input: "SELECT '{'",
        invalid: false,
        state: { item: { type: "custom_tool_call", id: "ctc_1" } },
      },
    ]);
  });

  it("get unique ids for tool calls, and a mark if arguments do not parse", () => {
    const call = (call_id: string, text: string) => ({
      type: "function_call",
      call_id,
      name: "look",
      arguments: text,
    });
    const calls = getParts(call("c", "{}"), call("c", ""), call("", '{"a":'), {
      ...call("", "{}"),
      call_id: null,
    });
    expect(calls?.map(({ id, input, invalid }) => ({ id, input, invalid }))).toEqual([
      { id: "c", input: "{}", invalid: false },
      { id: "c_2", input: "{}", invalid: false },
      { id: "call_test", input: '{"a":', invalid: true },
      { id: "call_test_2", input: "{}", invalid: false },
    ]);
  });

  it("become an image with its media type; invalid base64 stays a native part", () => {
    const item = { type: "image_generation_call", id: "ig_1", status: "completed", revised_prompt: "a cat" };
    const short = { ...item, result: `${PNG_BASE64.slice(0, 5)}...` };
    const none = { ...item, result: null };
    expect(
      getParts(
        { ...item, result: PNG_BASE64 },
        { ...item, output_format: "webp", result: PNG_BASE64 },
        short,
        none,
      ),
    ).toEqual([
      { image: PNG_BASE64, mediaType: "image/png", state: { item } },
      { image: PNG_BASE64, mediaType: "image/webp", state: { item: { ...item, output_format: "webp" } } },
      { native: short, kind: "image_generation_call", provider: "openai" },
      { native: none, kind: "image_generation_call", provider: "openai" },
    ]);
  });

  it.each([
    "file_search_call",
    "web_search_call",
    "computer_call",
    "computer_call_output",
    "code_interpreter_call",
    "local_shell_call",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "tool_search_call",
    "tool_search_output",
    "program",
    "program_output",
    "compaction",
    "an_item_of_tomorrow",
  ])("become a native part for %s", (type) => {
    const item = { id: "x_1", type, deep: { list: [1, null, { "2": "b", "1": "a" }] }, text: "ä" };
    expect(getParts(item)).toEqual([{ native: item, kind: type, provider: "openai" }]);
  });

  it("keep long numbers, and replace lone surrogates", () => {
    const body = `{"status":"completed","output":[
      {"type":"mcp_call","n":12345678901234567890},
      {"type":"message","content":[{"type":"output_text","text":"a\\ud83d","annotations":[{"type":"x","title":"\\ude00"}]}]},
      {"type":"reasoning","summary":[{"text":"\\ud83d"}]},
      {"type":"function_call","call_id":"c","name":"look","arguments":"\\"\\ud83d\\""}]}`;
    const content = respond(body).message?.content ?? [];
    expect(content.map(({ part }) => part.case)).toEqual(["native", "text", "reasoning", "toolCall"]);
    expect(content[0]?.part.value).toMatchObject({
      dataJson: '{"type":"mcp_call","n":12345678901234567890}',
    });
    expect(content[1]?.part.value).toBe("a\ufffd");
    expect(content[1]?.citations[0]?.title).toBe("\ufffd");
    expect(content[2]?.part.value).toMatchObject({ text: "\ufffd" });
    expect(content[3]?.part.value).toMatchObject({ input: { value: '"\ufffd"' } });
  });
});

describe("the finish reason", () => {
  const message = { type: "message", content: [outputText("x")] };
  const refusal = { type: "message", content: [{ type: "refusal", refusal: "No." }] };
  const call = { type: "function_call", call_id: "c", name: "look", arguments: "{}" };
  const incomplete = (reason: unknown) => ({
    status: "incomplete",
    incomplete_details: { reason },
    output: [call],
  });

  it.each<[string, object, Reason, string]>([
    ["a text", { status: "completed", output: [message] }, Reason.STOP, "completed"],
    ["nothing", { status: "completed", output: [] }, Reason.STOP, "completed"],
    ["no status", { output: [message] }, Reason.STOP, ""],
    ["a function call", { status: "completed", output: [message, call] }, Reason.TOOL_CALLS, "completed"],
    ["a function call without a status", { output: [call] }, Reason.TOOL_CALLS, ""],
    ...[
      "custom_tool_call",
      "computer_call",
      "local_shell_call",
      "apply_patch_call",
      "mcp_approval_request",
    ].map((type): [string, object, Reason, string] => [
      type,
      { status: "completed", output: [{ type }] },
      Reason.TOOL_CALLS,
      "completed",
    ]),
    [
      "a call of a tool that xAI has run",
      { status: "completed", output: [{ type: "custom_tool_call", call_id: "xs_call_1" }, message] },
      Reason.STOP,
      "completed",
    ],
    [
      "a local shell",
      { status: "completed", output: [{ type: "shell_call", environment: { type: "local" } }] },
      Reason.TOOL_CALLS,
      "completed",
    ],
    [
      "a hosted shell",
      { status: "completed", output: [{ type: "shell_call", environment: { type: "container_reference" } }] },
      Reason.STOP,
      "completed",
    ],
    [
      "a hosted tool",
      { status: "completed", output: [{ type: "web_search_call" }] },
      Reason.STOP,
      "completed",
    ],
    ["a refusal", { status: "completed", output: [refusal] }, Reason.CONTENT_FILTER, "refusal"],
    [
      "a refusal beside an empty text",
      { status: "completed", output: [{ type: "message", content: [outputText("")] }, refusal] },
      Reason.CONTENT_FILTER,
      "refusal",
    ],
    [
      "a refusal beside a text",
      { status: "completed", output: [message, refusal] },
      Reason.STOP,
      "completed",
    ],
    ["a limit", incomplete("max_output_tokens"), Reason.LENGTH, "max_output_tokens"],
    ["a limit of messages", incomplete("max_messages"), Reason.LENGTH, "max_messages"],
    ["a filter", incomplete("content_filter"), Reason.CONTENT_FILTER, "content_filter"],
    ["steering", incomplete("steered"), Reason.OTHER, "steered"],
    ["no reason", incomplete(undefined), Reason.OTHER, "incomplete"],
    [
      "no details",
      { status: "incomplete", incomplete_details: null, output: [] },
      Reason.OTHER,
      "incomplete",
    ],
    ["a cancelled answer", { status: "cancelled", output: [] }, Reason.ERROR, "cancelled"],
    ...["queued", "in_progress"].map((status): [string, object, Reason, string] => [
      status,
      { status, output: [] },
      Reason.OTHER,
      status,
    ]),
  ])("is read from %s", (_name, body, reason, raw) => {
    expect(respond(body).finishReason).toMatchObject({ reason, raw });
  });
});

describe("reasoning alongside the items", () => {
  const message = { type: "message", content: [{ type: "output_text", text: "Yes." }] };

  it("is a part before them, and no second one if an item holds it", () => {
    const item = { type: "reasoning", summary: [{ text: "Hm" }] };
    const getParts = (output: object[]) =>
      respond({ status: "completed", output, reasoning: "Hm" }).message?.content.map(({ part }) => part);
    const expected = [{ case: "reasoning", value: { text: "Hm" } }, { value: "Yes." }];
    expect(getParts([message])).toMatchObject(expected);
    expect(getParts([item, message])).toMatchObject(expected);
  });
});

describe("usage", () => {
  it.each<[string, unknown, object | undefined]>([
    ["nothing", undefined, undefined],
    ["null", null, undefined],
    ["an empty object", {}, undefined],
    ["counts of the wrong type", { input_tokens: null, output_tokens: "7" }, undefined],
    [
      "all of it",
      {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        output_tokens: 50,
        output_tokens_details: { reasoning_tokens: 40 },
        total_tokens: 150,
      },
      {
        inputTokens: 100,
        outputTokens: 50,
        totalTokens: 150,
        cacheReadTokens: 60,
        cacheWriteTokens: 30,
        reasoningTokens: 40,
      },
    ],
    [
      "zeros",
      {
        input_tokens: 0,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 0,
        output_tokens_details: { reasoning_tokens: 0 },
      },
      { inputTokens: 0, outputTokens: 0, totalTokens: 0, cacheReadTokens: 0, reasoningTokens: 0 },
    ],
    [
      "details that are null or missing",
      {
        input_tokens: 7,
        input_tokens_details: null,
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: null },
      },
      { inputTokens: 7, outputTokens: 3, totalTokens: 10 },
    ],
    [
      "the cost that xAI reports",
      { input_tokens: 7, output_tokens: 3, cost_in_usd_ticks: 7643500 },
      { inputTokens: 7, outputTokens: 3, totalTokens: 10, costNanoUsd: 764350n },
    ],
    ["input alone", { input_tokens: 7 }, { inputTokens: 7, outputTokens: 0, totalTokens: 7 }],
    ["no total", { input_tokens: 7, output_tokens: 1 }, { inputTokens: 7, outputTokens: 1, totalTokens: 8 }],
    [
      "the names of Chat Completions",
      {
        prompt_tokens: 9,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens: 5,
        completion_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 14,
      },
      { inputTokens: 9, outputTokens: 5, totalTokens: 14, cacheReadTokens: 4, reasoningTokens: 2 },
    ],
  ])("is read from %s", (_name, usage, expected) => {
    const { usage: reported } = respond({ status: "completed", output: [], usage });
    expect(reported).toEqual(expected === undefined ? undefined : create(UsageSchema, expected));
  });
});

describe("a successful status without an answer", () => {
  it.each<[string, string, ErrorKind, string]>([
    ["a page", "<html>ok</html>", ErrorKind.SERVER, "an HTML page"],
    ["no JSON", "OK", ErrorKind.SERVER, "a body that is not JSON"],
    ["nothing", " ", ErrorKind.SERVER, "an empty body"],
    ["a list", "[]", ErrorKind.SERVER, "JSON that is not an answer"],
    ["another object", '{"choices":[]}', ErrorKind.SERVER, "without an answer"],
    [
      "an error",
      '{"error":{"code":"rate_limit_exceeded","message":"Slow down."}}',
      ErrorKind.RATE_LIMIT,
      "rate_limit_exceeded): Slow down.",
    ],
    [
      "an error as plain text",
      '{"error":"model is loading"}',
      ErrorKind.PROVIDER,
      "openai reported a failure: model is loading",
    ],
    [
      "a failed response",
      '{"status":"failed","error":{"code":"server_error","message":"Oops."},"output":[]}',
      ErrorKind.SERVER,
      "openai reported a failure (server_error): Oops.",
    ],
    [
      "a failed response without an error",
      '{"status":"failed","error":null}',
      ErrorKind.PROVIDER,
      "openai reported a failure",
    ],
  ])("is an error: %s", (_name, body, kind, message) => {
    const facts = { ...FACTS, providerRequestId: "req_9" };
    const error = thrownBy(() => respond(body, facts));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ kind, provider: "openai", requestId: "req_9" });
    expect((error as Error).message).toContain(message);
  });
});

function thrownBy(step: () => unknown): unknown {
  try {
    step();
  } catch (error) {
    return error;
  }
  throw new Error("expected an error");
}
