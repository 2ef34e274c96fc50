import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InvalidToolCallError, type ProviderError } from "../../../src/core/errors.ts";
import { userMessage } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { createHeaders } from "../../../src/kit/http/transport.ts";
import { getRequestId, toError } from "../../../src/providers/openai-chat/error.ts";
import { PROVIDER, type ProfileInit, profile, type RequestInit, respond } from "./support.ts";

interface Given {
  readonly headers?: Record<string, string>;
  readonly request?: RequestInit;
  readonly profile?: ProfileInit;
}

/** The error of a failed HTTP answer. */
function failed(status: number, body: unknown, given: Given = {}): ProviderError {
  const failure = {
    provider: PROVIDER,
    status,
    headers: createHeaders(given.headers ?? {}),
    body: typeof body === "string" ? body : JSON.stringify(body),
    request: create(RequestSchema, given.request ?? {}),
  };
  return toError(failure, profile(given.profile)) as ProviderError;
}

const openai = (message: string, more: object = {}) => ({
  error: { message, type: null, code: null, ...more },
});

describe("the kind of a failure", () => {
  it.each<[number, ErrorKind]>([
    [400, ErrorKind.INVALID_REQUEST],
    [401, ErrorKind.AUTHENTICATION],
    [402, ErrorKind.QUOTA_EXCEEDED],
    [403, ErrorKind.ACCESS_DENIED],
    [404, ErrorKind.NOT_FOUND],
    [408, ErrorKind.REQUEST_TIMEOUT],
    [409, ErrorKind.PROVIDER],
    [413, ErrorKind.CONTEXT_LENGTH],
    [422, ErrorKind.INVALID_REQUEST],
    [429, ErrorKind.RATE_LIMIT],
    [500, ErrorKind.SERVER],
    [503, ErrorKind.SERVER],
    [529, ErrorKind.SERVER],
  ])("follows the status %i if nothing is more precise", (status, kind) => {
    expect(failed(status, openai("sorry")).kind).toBe(kind);
    expect(failed(status, "").kind).toBe(kind);
  });

  it.each<[number, string, ErrorKind]>([
    [400, "context_length_exceeded", ErrorKind.CONTEXT_LENGTH],
    [400, "content_filter", ErrorKind.CONTENT_FILTER],
    [400, "data_inspection_failed", ErrorKind.CONTENT_FILTER],
    [400, "model_not_found", ErrorKind.NOT_FOUND],
    [400, "invalid_api_key", ErrorKind.AUTHENTICATION],
    [400, "Arrearage", ErrorKind.QUOTA_EXCEEDED],
    [429, "insufficient_quota", ErrorKind.QUOTA_EXCEEDED],
    [429, "rate_limit_exceeded", ErrorKind.RATE_LIMIT],
    [400, "tool_use_failed", ErrorKind.INVALID_TOOL_CALL],
    [404, "DeploymentNotFound", ErrorKind.NOT_FOUND],
  ])("follows the code before the status: %i %s", (status, code, kind) => {
    expect(failed(status, openai("sorry", { code })).kind).toBe(kind);
  });

  it.each<[number, string, ErrorKind]>([
    [429, "exceeded_current_quota_error", ErrorKind.QUOTA_EXCEEDED],
    [429, "rate_limit_reached_error", ErrorKind.RATE_LIMIT],
    [400, "exceed_context_size_error", ErrorKind.CONTEXT_LENGTH],
    [429, "engine_overloaded_error", ErrorKind.SERVER],
    [403, "invalid_request_error", ErrorKind.ACCESS_DENIED],
  ])("follows a type that is more precise than the status: %i %s", (status, type, kind) => {
    expect(failed(status, openai("sorry", { type })).kind).toBe(kind);
  });

  it.each([
    "prompt is too long: 213462 tokens > 200000 maximum",
    "Your input exceeds the context window of this model",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    "Please reduce the length of the messages or completion",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
    "the request exceeds the available context size, try increasing it",
    "tokens to keep from the initial prompt is greater than the context length",
    "invalid params, context window exceeds limit",
    "Your request exceeded model token limit: 262144 (requested: 300000)",
    "Prompt contains 9 tokens, too large for model with 8 maximum context length",
    "prompt too long; exceeded max context length by 9 tokens",
    "context_length_exceeded",
    "too many tokens",
    "token limit exceeded",
  ])("is CONTEXT_LENGTH if only the message shows it: %s", (message) => {
    expect(failed(400, openai(message)).kind).toBe(ErrorKind.CONTEXT_LENGTH);
    expect(failed(400, openai(message, { code: 400 })).kind).toBe(ErrorKind.CONTEXT_LENGTH);
  });

  it.each([
    [429, "Rate limit reached: too many tokens per minute", ErrorKind.RATE_LIMIT],
    [400, "ThrottlingException: Too many tokens, please wait", ErrorKind.INVALID_REQUEST],
    [429, "maximum context length is 4096 tokens", ErrorKind.RATE_LIMIT],
    [404, "maximum context length is 4096 tokens", ErrorKind.NOT_FOUND],
    [400, "tool call not found", ErrorKind.INVALID_REQUEST],
  ])("is not CONTEXT_LENGTH for %i %s", (status, message, kind) => {
    expect(failed(status, openai(message)).kind).toBe(kind);
  });

  it("ignores the message if there is a code", () => {
    const body = openai("reduce the length of the messages", { code: "unsupported_parameter" });
    expect(failed(400, body).kind).toBe(ErrorKind.INVALID_REQUEST);
  });

  it("ignores a message that repeats the caller's text", () => {
    const prompt = "please tell me why the maximum context length is 4096 tokens";
    const request = { messages: [userMessage(prompt)] };
    const error = failed(400, openai(`cannot parse: ${prompt}`), { request });
    expect(error.kind).toBe(ErrorKind.INVALID_REQUEST);
    expect(error.message).not.toContain("4096");
  });

  it("is CONTEXT_LENGTH for a 400 without a body if the profile has that rule", () => {
    expect(failed(400, "", { profile: "cerebras" }).kind).toBe(ErrorKind.CONTEXT_LENGTH);
    expect(failed(400, "{}", { profile: "cerebras" }).kind).toBe(ErrorKind.INVALID_REQUEST);
  });
});

describe("the body of a failed answer", () => {
  it.each<
    [string, number, unknown, Partial<{ kind: ErrorKind; errorCode: string | undefined; message: string }>]
  >([
    [
      "OpenAI",
      400,
      openai("bad temperature", { type: "invalid_request_error", code: "decimal_above_max_value" }),
      {
        kind: ErrorKind.INVALID_REQUEST,
        errorCode: "decimal_above_max_value",
        message: "compatible answered 400 (decimal_above_max_value): bad temperature",
      },
    ],
    [
      "Mistral, at the top",
      429,
      { object: "error", message: "Requests rate limit exceeded", type: "rate_limited", code: "1300" },
      { kind: ErrorKind.RATE_LIMIT, errorCode: "rate_limited" },
    ],
    [
      "Mistral with a list in the message",
      422,
      {
        object: "error",
        message: {
          detail: [{ loc: ["body", "messages", 0, "content"], msg: "Field required", input: "secret" }],
        },
        type: "invalid_request_error",
      },
      { message: "compatible answered 422 (invalid_request_error): body.messages.0.content: Field required" },
    ],
    [
      "FastAPI",
      422,
      {
        detail: [
          { loc: ["body", "model"], msg: "field required", type: "missing", input: { secret: 1 } },
          { loc: [], msg: "bad" },
        ],
      },
      {
        kind: ErrorKind.INVALID_REQUEST,
        message: "compatible answered 422: body.model: field required; bad",
      },
    ],
    [
      "FastAPI with a text",
      401,
      { detail: "Unauthorized" },
      { message: "compatible answered 401: Unauthorized" },
    ],
    [
      "vLLM",
      404,
      {
        object: "error",
        message: "The model `x` does not exist.",
        type: "NotFoundError",
        param: null,
        code: 404,
      },
      { kind: ErrorKind.NOT_FOUND, errorCode: "NotFoundError" },
    ],
    [
      "xAI with a wrong key",
      400,
      { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***xx." },
      { kind: ErrorKind.AUTHENTICATION, errorCode: undefined },
    ],
    [
      "xAI without credit",
      403,
      { code: "The caller does not have permission", error: "Your team doesn't have any credits yet." },
      { kind: ErrorKind.QUOTA_EXCEEDED },
    ],
    [
      "DeepSeek without credit",
      402,
      openai("Insufficient Balance", { type: "unknown_error", code: "invalid_request_error" }),
      { kind: ErrorKind.QUOTA_EXCEEDED },
    ],
    [
      "Z.ai with a separate code",
      429,
      { error: { code: "1113", message: "Insufficient balance or no resource package. Please recharge." } },
      { kind: ErrorKind.QUOTA_EXCEEDED, errorCode: "1113" },
    ],
    [
      "Z.ai with a prompt that is too long",
      400,
      { error: { code: "1261", message: "Prompt exceeds max length" } },
      { kind: ErrorKind.CONTEXT_LENGTH, errorCode: "1261" },
    ],
    [
      "Z.ai with a filter",
      400,
      { error: { code: "1301", message: "unsafe" } },
      { kind: ErrorKind.CONTENT_FILTER, errorCode: "1301" },
    ],
    [
      "a server with numbers of its own",
      400,
      { code: 20012, message: "Model does not exist.", data: null },
      { kind: ErrorKind.INVALID_REQUEST, errorCode: "20012" },
    ],
    [
      "TGI",
      422,
      { error: "Input validation error: `inputs` must have less", error_type: "validation" },
      { kind: ErrorKind.INVALID_REQUEST, errorCode: "validation" },
    ],
    [
      "Databricks",
      429,
      { error_code: "REQUEST_LIMIT_EXCEEDED", message: "Exceeded workspace rate limit" },
      { kind: ErrorKind.RATE_LIMIT, errorCode: "REQUEST_LIMIT_EXCEEDED" },
    ],
    [
      "NVIDIA",
      404,
      { type: "about:blank", status: 404, title: "Not Found", detail: "Function not found" },
      { kind: ErrorKind.NOT_FOUND, message: "compatible answered 404 (about:blank): Function not found" },
    ],
    [
      "RFC 9457 with a title alone",
      503,
      { status: 503, title: "Service Unavailable" },
      { kind: ErrorKind.SERVER, message: "compatible answered 503: Service Unavailable" },
    ],
    [
      "DeepInfra",
      404,
      { detail: { error: "Model is not available" } },
      { kind: ErrorKind.NOT_FOUND, message: "compatible answered 404: Model is not available" },
    ],
    [
      "OpenRouter with the error of the server behind it",
      400,
      {
        error: {
          code: 400,
          message: "Provider returned error",
          metadata: { raw: JSON.stringify(openai("maximum context length is 8 tokens")), provider_name: "X" },
        },
      },
      {
        kind: ErrorKind.CONTEXT_LENGTH,
        message: "compatible answered 400: Provider returned error: maximum context length is 8 tokens",
      },
    ],
    [
      "OpenRouter with the text of the server behind it",
      502,
      { error: { code: 502, message: "Provider returned error", metadata: { raw: "upstream died" } } },
      { kind: ErrorKind.SERVER, message: "compatible answered 502: Provider returned error: upstream died" },
    ],
    [
      "OpenRouter's moderation",
      403,
      { error: { code: 403, message: "flagged", metadata: { reasons: ["violence"], flagged_input: "…" } } },
      { kind: ErrorKind.CONTENT_FILTER },
    ],
    [
      "Azure's filter",
      400,
      {
        error: {
          code: "content_filter",
          message: "filtered",
          innererror: { code: "ResponsibleAIPolicyViolation" },
        },
      },
      { kind: ErrorKind.CONTENT_FILTER, errorCode: "content_filter" },
    ],
    [
      "Azure's gateway",
      401,
      { statusCode: 401, message: "Access denied" },
      { kind: ErrorKind.AUTHENTICATION },
    ],
    [
      "Gemini in a list",
      400,
      [{ error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT" } }],
      { kind: ErrorKind.AUTHENTICATION },
    ],
    [
      "Cloudflare",
      403,
      { errors: [{ code: 10000, message: "Authentication error" }] },
      { kind: ErrorKind.ACCESS_DENIED, message: "compatible answered 403 (10000): Authentication error" },
    ],
    [
      "Apigee",
      401,
      { fault: { faultstring: "Invalid ApiKey" } },
      { message: "compatible answered 401: Invalid ApiKey" },
    ],
    [
      "a bare text under `error`",
      500,
      { error: "out of memory" },
      { message: "compatible answered 500: out of memory" },
    ],
    [
      "plain text",
      500,
      "Internal Server Error",
      { message: "compatible answered 500: Internal Server Error" },
    ],
    ["an empty body", 500, "", { message: "compatible answered 500" }],
    [
      "a page of a proxy",
      502,
      "<html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>",
      { kind: ErrorKind.SERVER, message: "compatible answered 502: an HTML page: 502 Bad Gateway" },
    ],
    [
      "a page without a title",
      504,
      "<!DOCTYPE html><body>x</body>",
      { message: "compatible answered 504: an HTML page" },
    ],
    ["JSON without an error", 500, "null", { message: "compatible answered 500: null" }],
  ])("is read in the shape of %s", (_, status, body, expected) => {
    expect(failed(status, body)).toMatchObject({ ...expected, httpStatusCode: status, provider: PROVIDER });
  });

  it("keeps the text that the model wrote instead of a call, even without include_raw", () => {
    const body = openai("Failed to call a function. See 'failed_generation' for more details.", {
      type: "invalid_request_error",
      code: "tool_use_failed",
      failed_generation: '<function=get_weather{"city":"Oslo"',
    });
    const error = failed(400, body);
    expect(error).toBeInstanceOf(InvalidToolCallError);
    expect(error).toMatchObject({
      kind: ErrorKind.INVALID_TOOL_CALL,
      retryable: false,
      errorCode: "tool_use_failed",
      httpStatusCode: 400,
    });
    expect(JSON.parse(error.toProto().providerFailure?.rawJson ?? "")).toEqual(body);
  });

  it("never shows a key, and is cut if it is long", () => {
    const error = failed(
      401,
      openai(`Incorrect API key provided: sk-proj-abcdefgh12345678. ${"x".repeat(9000)}`),
      {
        request: { includeRaw: true },
      },
    );
    expect(error.message).not.toContain("abcdefgh");
    expect(error.message.length).toBeLessThan(700);
    expect(error.rawJson?.length).toBe(2048);
    expect(failed(401, openai("x")).rawJson).toBeUndefined();
  });
});

describe("the retry advice of a failure", () => {
  it("is read from headers and from the message", () => {
    const busy = openai("slow down");
    expect(failed(429, busy, { headers: { "retry-after": "7" } }).retryAfter).toBe(7);
    expect(failed(429, busy, { headers: { "retry-after-ms": "1500", "retry-after": "7" } }).retryAfter).toBe(
      1.5,
    );
    expect(failed(429, openai("Please try again in 7.66s. Visit")).retryAfter).toBeCloseTo(7.66);
    expect(failed(429, busy)).toMatchObject({ retryable: true, retryAfter: undefined });
  });

  it("follows the server's header if there is one", () => {
    expect(failed(500, openai("x"), { headers: { "x-should-retry": "false" } }).retryable).toBe(false);
    expect(failed(400, openai("x"), { headers: { "x-should-retry": "true" } }).retryable).toBe(true);
  });

  it("is not to retry for an account without credit, whatever the headers are", () => {
    const headers = { "retry-after": "7", "x-should-retry": "true" };
    const error = failed(429, openai("x", { code: "insufficient_quota" }), { headers });
    expect(error).toMatchObject({ retryable: false, retryAfter: undefined });
  });
});

describe("the id of an exchange", () => {
  it("is found in every header that servers use", () => {
    for (const name of [
      "x-request-id",
      "request-id",
      "apim-request-id",
      "mistral-correlation-id",
      "cf-ray",
    ]) {
      expect(getRequestId(createHeaders({ [name]: "r1", other: "x" }))).toBe("r1");
    }
    expect(getRequestId(createHeaders({ "cf-ray": "ray", "x-request-id": "r1" }))).toBe("r1");
    expect(getRequestId(createHeaders({}))).toBe("");
    expect(failed(500, "", { headers: { "x-request-id": "r1" } }).requestId).toBe("r1");
  });

  it("is read from the body if no header has it", () => {
    const body = { choices: [{ message: { content: "a" } }] };
    expect(respond({ ...body, x_groq: { id: "req_1" } }).providerRequestId).toBe("req_1");
    expect(respond({ ...body, request_id: "req_2" }).providerRequestId).toBe("req_2");
  });
});

describe("the field that the server refuses", () => {
  it.each([
    ...["model", "messages", "max_tokens", "reasoning_effort", "response_format"].map((same) => [same, same]),
    ...["tools", "tool_choice", "temperature", "top_p", "metadata"].map((same) => [same, same]),
    ["stop", "stop_sequences"],
    ["parallel_tool_calls", "tool_choice.parallel"],
    ["response_format.json_schema", "response_format.schema_json"],
  ])("has the name of the contract: %s", (param, field) => {
    expect(failed(400, openai("wrong", { param })).violations.map((each) => each.field)).toEqual([field]);
  });

  it.each([
    [openai("wrong", { param: "max_completion_tokens" }), "max_tokens"],
    [openai("wrong", { param: "messages.[0].content" }), "messages"],
    [openai("wrong", { param: "messages[0].content" }), "messages"],
    [openai("wrong", { param: null }), undefined],
    [{ detail: [{ loc: ["body", "stop", 0], msg: "wrong" }] }, "stop_sequences"],
    [{ detail: [{ loc: ["query", "stop"], msg: "wrong" }] }, undefined],
  ])("is read from %j", (body, field) => {
    expect(failed(400, body).violations.map((each) => each.field)).toEqual(
      field === undefined ? [] : [field],
    );
  });
});
