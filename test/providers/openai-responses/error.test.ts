import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { withFieldPaths } from "../../../src/client/field-paths.ts";
import { AbortError, errorFromProto, ProviderError, RequestTimeoutError } from "../../../src/core/errors.ts";
import { userMessage } from "../../../src/core/message.ts";
import { toolResult } from "../../../src/core/tools.ts";
import { ErrorKind, ErrorKindSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { createHeaders } from "../../../src/kit/http/headers.ts";
import { toError } from "../../../src/providers/openai-responses/error.ts";
import type { RequestInit } from "./build.ts";
import { CREATED, completed, type Sent, stream, textDelta } from "./streaming.ts";

const K = ErrorKind;

/** Returns the error for a failed answer. */
function failure(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  init: RequestInit = {},
) {
  const request = create(RequestSchema, { model: "gpt-5", messages: [userMessage("hi")], ...init });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return toError({ provider: "openai", status, headers: createHeaders(headers), body: text, request });
}

/** The failure of a stream whose last event is this one. */
async function toFailure(...sent: Sent[]) {
  const { error } = await stream(sent);
  if (error === undefined) throw new Error("the stream did not fail");
  return error;
}

interface Row {
  readonly status: number;
  readonly code?: string | null;
  readonly type?: string;
  readonly message?: string;
  readonly kind: ErrorKind;
  readonly retryable: boolean;
  /** The expectation inside a stream, which has no status. The same as for a whole answer if left out. */
  readonly streamed?: { readonly kind: ErrorKind; readonly retryable: boolean };
}

const UNKNOWN = { kind: K.PROVIDER, retryable: true };

const invalid = (code: string): Row => ({
  status: 400,
  type: "invalid_request_error",
  code,
  kind: K.INVALID_REQUEST,
  retryable: false,
});
const filtered = (code: string): Row => ({
  status: 400,
  type: "invalid_request_error",
  code,
  kind: K.CONTENT_FILTER,
  retryable: false,
});
const spent = (code: string): Row => ({
  status: 429,
  type: code,
  code,
  kind: K.QUOTA_EXCEEDED,
  retryable: false,
});

/** The table of the API's errors, by status and structured code. */
const TABLE: readonly Row[] = [
  { status: 400, type: "invalid_request_error", code: null, kind: K.INVALID_REQUEST, retryable: false },
  invalid("unsupported_parameter"),
  invalid("unsupported_value"),
  {
    status: 400,
    type: "invalid_request_error",
    code: "context_length_exceeded",
    kind: K.CONTEXT_LENGTH,
    retryable: false,
  },
  {
    status: 400,
    type: "invalid_request_error",
    code: null,
    message: "Your input exceeds the context window of this model.",
    kind: K.CONTEXT_LENGTH,
    retryable: false,
  },
  {
    status: 400,
    code: "400",
    type: "BadRequestError",
    message: "This model's maximum context length is 4096 tokens.",
    kind: K.CONTEXT_LENGTH,
    retryable: false,
  },
  { status: 400, type: "exceed_context_size_error", kind: K.CONTEXT_LENGTH, retryable: false },
  ...["content_filter", "content_policy_violation", "invalid_prompt", "bio_policy"].map(filtered),
  ...["misalignment_policy_violation", "image_content_policy_violation"].map(filtered),
  ...["cyber_policy", "cyber_policy_violation"].map(filtered),
  ...["data_residency_mismatch", "invalid_image", "invalid_image_format", "invalid_base64_image"].map(
    invalid,
  ),
  ...["invalid_image_url", "image_too_large", "image_too_small", "image_parse_error"].map(invalid),
  ...["invalid_image_mode", "image_file_too_large", "unsupported_image_media_type"].map(invalid),
  ...["empty_image_file", "failed_to_download_image", "image_file_not_found"].map(invalid),
  {
    status: 400,
    type: "invalid_request_error",
    code: "model_not_found",
    kind: K.NOT_FOUND,
    retryable: false,
  },
  {
    status: 401,
    type: "invalid_request_error",
    code: "invalid_api_key",
    kind: K.AUTHENTICATION,
    retryable: false,
  },
  { status: 401, type: "authentication_error", kind: K.AUTHENTICATION, retryable: false },
  { status: 402, kind: K.QUOTA_EXCEEDED, retryable: false, streamed: UNKNOWN },
  {
    status: 403,
    code: "unsupported_country_region_territory",
    kind: K.ACCESS_DENIED,
    retryable: false,
    streamed: UNKNOWN,
  },
  {
    status: 404,
    type: "invalid_request_error",
    code: "model_not_found",
    kind: K.NOT_FOUND,
    retryable: false,
  },
  { status: 404, code: "DeploymentNotFound", kind: K.NOT_FOUND, retryable: false, streamed: UNKNOWN },
  { status: 429, type: "too_many_requests", code: "too_many_requests", kind: K.RATE_LIMIT, retryable: true },
  { status: 408, kind: K.REQUEST_TIMEOUT, retryable: true, streamed: UNKNOWN },
  { status: 409, kind: K.PROVIDER, retryable: true },
  { status: 413, kind: K.CONTEXT_LENGTH, retryable: false, streamed: UNKNOWN },
  { status: 418, kind: K.INVALID_REQUEST, retryable: false, streamed: UNKNOWN },
  { status: 422, type: "invalid_request_error", kind: K.INVALID_REQUEST, retryable: false },
  ...["insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded"].map(spent),
  ...["project_spend_limit_exceeded", "organization_usage_limit_exceeded"].map(spent),
  { status: 429, type: "insufficient_quota", code: null, kind: K.QUOTA_EXCEEDED, retryable: false },
  { status: 429, type: "tokens", code: "rate_limit_exceeded", kind: K.RATE_LIMIT, retryable: true },
  { status: 429, type: "requests", code: null, kind: K.RATE_LIMIT, retryable: true },
  { status: 429, code: "slow_down", kind: K.RATE_LIMIT, retryable: true },
  { status: 429, kind: K.RATE_LIMIT, retryable: true, streamed: UNKNOWN },
  { status: 499, kind: K.ABORT, retryable: false, streamed: UNKNOWN },
  { status: 500, type: "server_error", code: null, kind: K.SERVER, retryable: true },
  { status: 500, code: "image_generation_failed", kind: K.SERVER, retryable: true, streamed: UNKNOWN },
  { status: 501, kind: K.INVALID_REQUEST, retryable: false, streamed: UNKNOWN },
  { status: 502, kind: K.SERVER, retryable: true, streamed: UNKNOWN },
  { status: 503, code: "server_is_overloaded", kind: K.SERVER, retryable: true },
  {
    status: 503,
    code: "slow_down",
    kind: K.SERVER,
    retryable: true,
    streamed: { kind: K.RATE_LIMIT, retryable: true },
  },
  { status: 504, code: "vector_store_timeout", kind: K.SERVER, retryable: true },
  { status: 520, kind: K.SERVER, retryable: true, streamed: UNKNOWN },
  { status: 529, kind: K.SERVER, retryable: true, streamed: UNKNOWN },
];

const ROWS = TABLE.map((row) => ({
  ...row,
  name: [row.status, row.type, row.code, row.message, ErrorKindSchema.value[row.kind]?.localName]
    .filter(Boolean)
    .join(" "),
  errorObject: { message: row.message ?? "Something.", type: row.type, param: null, code: row.code },
}));

describe("the kind of a failure", () => {
  it.each(ROWS)("in an answer: $name", ({ status, errorObject, kind, retryable }) => {
    const error = failure(status, { error: errorObject });
    expect(error).toMatchObject({ kind, retryable });
    const code = errorObject.code || errorObject.type;
    expect(error.message).toBe(
      `openai answered ${status}${code ? ` (${code})` : ""}: ${errorObject.message}`,
    );
    if (kind === K.REQUEST_TIMEOUT) expect(error).toBeInstanceOf(RequestTimeoutError);
    else if (kind === K.ABORT) expect(error).toBeInstanceOf(AbortError);
    else
      expect(error).toMatchObject({
        provider: "openai",
        httpStatusCode: status,
        errorCode: code || undefined,
      });
  });

  it.each(ROWS)(
    "in a stream: $name",
    async ({ errorObject, kind, retryable, streamed = { kind, retryable } }) => {
      const { type, ...flat } = errorObject;
      const nested = await toFailure(CREATED, { type: "error", error: errorObject, sequence_number: 2 });
      const failed = await toFailure(CREATED, {
        type: "response.failed",
        response: { status: "failed", error: errorObject, usage: { input_tokens: 3, output_tokens: 0 } },
      });
      expect(nested).toMatchObject(streamed);
      expect(failed).toMatchObject(streamed);
      expect(failed.usage?.inputTokens).toBe(3);
      // A flat event has no place for the type.
      if (errorObject.code)
        expect(await toFailure(CREATED, { type: "error", ...flat })).toMatchObject(streamed);
      for (const error of [nested, failed]) {
        expect(error).toMatchObject({ provider: "openai", requestId: "req_1", outputStarted: false });
        expect((error as ProviderError).httpStatusCode).toBeUndefined();
        expect(error.message).toMatch(/^openai reported a failure/);
      }
      expect((nested as ProviderError).errorCode).toBe(errorObject.code || type || undefined);
    },
  );
});

describe("a failure in a stream", () => {
  const error = { code: "server_error", message: "Oops." };

  it("is the only event if nothing precedes it", async () => {
    const streamed = await stream([{ type: "error", ...error, param: null, sequence_number: 0 }]);
    expect(streamed.events).toEqual([]);
    expect(streamed.error).toMatchObject({ kind: K.SERVER, outputStarted: false });
    expect((await stream([{ type: "response.failed", response: { error } }])).events).toEqual([]);
  });

  it("ends the stream after some text, with output_started set", async () => {
    const { events, error: thrown } = await stream([
      CREATED,
      textDelta(0, "Hey"),
      { type: "error", ...error },
      completed(),
    ]);
    expect(events).toEqual([
      { start: "gpt-5" },
      { textStart: 0 },
      { delta: 0, text: "Hey" },
      { error: "openai reported a failure (server_error): Oops.", outputStarted: true },
    ]);
    expect(thrown).toMatchObject({ kind: K.SERVER, outputStarted: true, retryable: true });
  });

  it.each<[string, Sent]>([
    ["by the SSE event name alone", 'event: error\ndata: {"code":"server_error","message":"Oops."}\n\n'],
    ["by another type inside the data", 'event: error\ndata: {"type":"server_error","message":"Oops."}\n\n'],
    ["by the data alone", 'data: {"error":{"type":"server_error","message":"Oops."}}\n\n'],
    ["inside the response that ends the stream", completed({ error })],
    ["outside of any event", '{"error":{"code":"server_error","message":"Oops."}}'],
    ["outside of any event, in lines", '\n{\n "error": {"code": "server_error",\n "message": "Oops."}\n}\n'],
  ])("is recognised %s", async (_name, sent) => {
    expect(await toFailure(CREATED, sent)).toMatchObject({
      kind: K.SERVER,
      message: "openai reported a failure (server_error): Oops.",
    });
  });

  it("may have the status as its code", async () => {
    const coded = (code: string | number) =>
      toFailure(CREATED, { type: "error", error: { code, message: "m" } });
    expect(await coded(429)).toMatchObject({ kind: K.RATE_LIMIT, errorCode: "429" });
    expect(await coded("503")).toMatchObject({ kind: K.SERVER });
    expect(await coded(401)).toMatchObject({ kind: K.AUTHENTICATION });
  });

  it("has the delay that its message contains", async () => {
    const message = "Rate limit reached. Please try again in 1m2.5s. Visit our page.";
    const thrown = await toFailure({ type: "error", code: "rate_limit_exceeded", message });
    expect(thrown).toMatchObject({ kind: K.RATE_LIMIT, retryable: true, retryAfter: 62.5 });
  });
});

describe("the delay before a retry", () => {
  const limited = { error: { code: "rate_limit_exceeded", message: "Please try again in 20ms." } };

  it.each<[string, Record<string, string>, number | undefined]>([
    ["seconds", { "retry-after": "7" }, 7],
    ["a fraction", { "Retry-After": "0.5" }, 0.5],
    ["milliseconds before seconds", { "retry-after-ms": "1500", "retry-after": "7" }, 1.5],
    ["the message where there is no header", {}, 0.02],
    ["the message where the header is invalid", { "retry-after": "soon" }, 0.02],
  ])("is read from %s", (_name, headers, seconds) => {
    expect(failure(429, limited, headers).retryAfter).toBe(seconds);
  });

  it("is read from a date", () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const { retryAfter } = failure(503, "", { "retry-after": date });
    expect(retryAfter).toBeGreaterThan(50);
    expect(retryAfter).toBeLessThanOrEqual(60);
  });

  it("is unset for an exhausted quota", () => {
    const error = failure(
      429,
      { error: { code: "insufficient_quota", message: "Please try again in 5s." } },
      {
        "retry-after": "5",
        "x-should-retry": "true",
      },
    );
    expect(error).toMatchObject({ kind: K.QUOTA_EXCEEDED, retryable: false, retryAfter: undefined });
  });

  it("does not change that x-should-retry decides whether a retry is possible", () => {
    expect(failure(500, "", { "x-should-retry": "false" }).retryable).toBe(false);
    expect(failure(400, "", { "x-should-retry": "true" }).retryable).toBe(true);
    expect(failure(400, "", { "x-should-retry": "maybe" }).retryable).toBe(false);
  });

  it("is not read from the message of another kind of failure", () => {
    const error = failure(400, { error: { code: "invalid_value", message: "Please try again in 10h." } });
    expect(error.retryAfter).toBeUndefined();
  });
});

describe("bodies of failed answers", () => {
  it.each<[string, string, string]>([
    ["an empty body", "", "openai answered 502"],
    [
      "an HTML page",
      "<html><title>502 Bad Gateway</title></html>",
      "openai answered 502: an HTML page: 502 Bad Gateway",
    ],
    ["broken JSON", '{"error":', 'openai answered 502: {"error":'],
    ["plain text", "upstream connect error", "openai answered 502: upstream connect error"],
    ["a list", '[{"error":1}]', "openai answered 502"],
    ["an error that is null", '{"error":null}', "openai answered 502"],
    ["an error as plain text", '{"error":"model is loading"}', "openai answered 502: model is loading"],
    ["a detail", '{"detail":"Not today."}', "openai answered 502: Not today."],
    [
      "an error at the top",
      '{"message":"No.","type":"error","code":"oops"}',
      "openai answered 502 (oops): No.",
    ],
    ["a code that is a number", '{"error":{"message":"No.","code":502}}', "openai answered 502 (502): No."],
    ["fields of the wrong type", '{"error":{"message":7,"code":{},"type":[]}}', "openai answered 502"],
  ])("are read without an exception: %s", (_name, body, message) => {
    const error = failure(502, body);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ kind: K.SERVER, message, retryable: true });
  });

  it("are attached, bounded, only under include_raw", () => {
    const body = JSON.stringify({ error: { message: "m".repeat(5000) } });
    expect((failure(500, body) as ProviderError).rawJson).toBeUndefined();
    expect((failure(500, body, {}, { includeRaw: true }) as ProviderError).rawJson).toBe(body.slice(0, 2048));
  });

  it("are attached to a failure in a stream under include_raw", async () => {
    const event = { type: "error", code: "server_error", message: "Oops." };
    const { error } = await stream([event], { includeRaw: true });
    expect((error as ProviderError).rawJson).toBe(JSON.stringify(event));
  });

  it("come with the request id", () => {
    expect(failure(500, "", { "x-request-id": "req_7" })).toMatchObject({ requestId: "req_7" });
  });
});

describe("the caller's prompt in a message", () => {
  const requestWith = (prompt: string) => ({ messages: [userMessage(prompt)] });
  const errorObject = (message: string, code: string | null = null) => ({
    error: { message, type: "invalid_request_error", code },
  });

  it.each([
    "Explain HTTP 429 rate_limit_exceeded, please.",
    "What does maximum context length mean?",
    "It text: the input exceeds the context window.",
    "invalid_api_key and insufficient_quota",
  ])("does not change the kind of the error: %s", (prompt) => {
    const error = failure(400, errorObject(`Invalid value: '${prompt}'.`), {}, requestWith(prompt));
    expect(error).toMatchObject({ kind: K.INVALID_REQUEST, retryable: false, retryAfter: undefined });
    expect(error.message).not.toContain(prompt);
  });

  it("does not set a delay", () => {
    const prompt = "Say: please try again in 10h.";
    const error = failure(
      429,
      errorObject(`Limit reached for '${prompt}'`, "rate_limit_exceeded"),
      {},
      requestWith(prompt),
    );
    expect(error).toMatchObject({ kind: K.RATE_LIMIT, retryAfter: undefined });
  });

  it("does not change the kind inside a stream, or from a tool's result", async () => {
    const prompt = "This is the maximum context length of a train.";
    const event = { type: "error", code: null, message: `Bad: '${prompt}'` };
    const messages = [toolResult("c", prompt)];
    const { error } = await stream([event], { messages });
    expect(error).toMatchObject({ kind: K.PROVIDER });
    expect(error?.message).not.toContain(prompt);
  });

  it("is ignored if the code is specific", () => {
    const message = "Unsupported: maximum context length.";
    expect(failure(400, errorObject(message, "unsupported_value")).kind).toBe(K.INVALID_REQUEST);
    expect(failure(404, errorObject(message)).kind).toBe(K.NOT_FOUND);
    expect(failure(500, errorObject(message)).kind).toBe(K.SERVER);
  });

  it("is not repeated, and neither is a key", () => {
    const prompt = "My name is Ann and I live in Oslo.";
    const repeated = failure(
      400,
      errorObject(`Cannot read: ${prompt}`, "bad"),
      {},
      requestWith(prompt),
    ).message;
    expect(repeated).toBe(
      "openai answered 400 (bad): (the provider's message repeats the prompt and was left out)",
    );
    const key = failure(
      401,
      errorObject("Incorrect API key provided: sk-proj-abcd1234efgh.", "invalid_api_key"),
    );
    expect(key.message).toBe("openai answered 401 (invalid_api_key): Incorrect API key provided: (key).");
  });
});

describe("the field that the API refuses", () => {
  it.each([
    ...["model", "tools", "tool_choice", "temperature", "top_p", "metadata"].map((same) => [same, same]),
    ["max_output_tokens", "max_tokens"],
    ["instructions", "messages"],
    ["reasoning.effort", "reasoning_effort"],
    ["text.format", "response_format"],
    ["text.format.schema", "response_format.schema_json"],
    ["input[1].content[0].image_url", "messages"],
    ["parallel_tool_calls", "tool_choice.parallel"],
    ["text.verbosity", 'provider_options_json["openai"].text.verbosity'],
  ])("is %s of param: %s", (param, field) => {
    const error = failure(400, { error: { message: "wrong", type: "invalid_request_error", param } });
    expect(error.violations).toEqual([{ field, description: "wrong" }]);
    expect(error.toProto().providerFailure?.field).toBe(field);
    expect(errorFromProto(error.toProto()).violations).toMatchObject([{ field }]);
  });

  it("is kept apart from what the provider wrote when it is named otherwise", () => {
    const message = "max_output_tokens: too small";
    const error = failure(400, { error: { message, param: "max_output_tokens" } });
    const renamed = withFieldPaths(error, () => "maxTokens");
    expect(renamed.violations).toMatchObject([{ field: "maxTokens" }]);
    expect(renamed.message).toContain(message);
  });
});
