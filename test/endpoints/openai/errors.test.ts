import { create } from "@bufbuild/protobuf";
import {
  AbortError,
  AccessDeniedError,
  AuthenticationError,
  ConfigurationError,
  ContentFilterError,
  ContextLengthError,
  InternalError,
  InvalidRequestError,
  NetworkError,
  NotFoundError,
  ProviderError,
  QuotaExceededError,
  RateLimitError,
  RequestTimeoutError,
  type SDKError,
  ServerError,
  StreamError,
  UnsupportedToolChoiceError,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { failedResponse, toResponseError } from "../../../src/endpoints/openai/errors.ts";
import {
  ErrorKind,
  InferenceErrorSchema,
  ProviderFailureSchema,
} from "../../../src/gen/outrigger/v1/error_pb.ts";
import { ThreadBusyError } from "../../../src/runs/errors.ts";

function getBody(error: SDKError): { error: { type: string; code: string | null; param: string | null } } {
  return JSON.parse(Buffer.from(failedResponse(error).body).toString());
}

const invalid = "invalid_request_error";

describe("failedResponse()", () => {
  it.each<[SDKError, number, string, string | null]>([
    [new AuthenticationError("x"), 401, invalid, "invalid_api_key"],
    [new AuthenticationError("x", { provider: "one" }), 401, invalid, "provider_key_refused"],
    [new AccessDeniedError("x"), 403, "permission_error", "access_denied"],
    [new NotFoundError("x"), 404, invalid, null],
    [new NotFoundError("x", { provider: "one", errorCode: "its_own" }), 404, invalid, "model_not_found"],
    [new InvalidRequestError("x"), 400, invalid, null],
    [new InvalidRequestError("x", { provider: "one" }), 400, invalid, null],
    [new InvalidRequestError("x", { provider: "one", errorCode: "its_own" }), 400, invalid, "its_own"],
    [new ContextLengthError("x"), 400, invalid, "context_length_exceeded"],
    [new ContentFilterError("x"), 400, invalid, "content_filter"],
    [new RateLimitError("x"), 429, "rate_limit_error", "rate_limit_exceeded"],
    [new QuotaExceededError("x"), 429, "insufficient_quota", "insufficient_quota"],
    [new ServerError("x"), 503, "server_error", "server_error"],
    [new ServerError("x", { provider: "one", httpStatusCode: 500 }), 502, "server_error", "server_error"],
    [new ServerError("x", { provider: "one", httpStatusCode: 503 }), 503, "server_error", "server_error"],
    [new ServerError("x", { provider: "one", httpStatusCode: 529 }), 503, "server_error", "server_error"],
    [new NetworkError("x"), 502, "server_error", "server_error"],
    [new StreamError("x"), 502, "server_error", "server_error"],
    [new RequestTimeoutError("x"), 504, "server_error", "timeout"],
    [new AbortError("x"), 499, "server_error", "cancelled"],
    [new ConfigurationError("x"), 500, "server_error", "configuration"],
    [new InternalError("x"), 500, "server_error", "server_error"],
    [new UnsupportedToolChoiceError("x"), 400, invalid, "unsupported_value"],
    [new ProviderError("x", { provider: "one" }), 502, "server_error", "server_error"],
    [new ProviderError("x", { provider: "one", httpStatusCode: 409 }), 409, invalid, null],
    [
      new ContextLengthError("x", { provider: "one", httpStatusCode: 413 }),
      413,
      invalid,
      "context_length_exceeded",
    ],
    [new InvalidRequestError("x", { provider: "one", httpStatusCode: 413 }), 413, invalid, null],
    [new InvalidRequestError("x", { httpStatusCode: 415 }), 415, invalid, null],
    [new InvalidRequestError("x", { httpStatusCode: 413 }), 400, invalid, null],
    [new InvalidRequestError("x", { errorCode: "ours" }), 400, invalid, "ours"],
    [
      new AccessDeniedError("x", { provider: "one", errorCode: "its_own" }),
      403,
      "permission_error",
      "access_denied",
    ],
    [
      new RateLimitError("x", { provider: "one", httpStatusCode: 503 }),
      429,
      "rate_limit_error",
      "rate_limit_exceeded",
    ],
  ])("answers %o with %i, %s and %s", (error, status, type, code) => {
    expect(failedResponse(error).status).toBe(status);
    const param = code === "model_not_found" ? "model" : null;
    expect(getBody(error)).toEqual({ error: { message: "x", type, param, code } });
  });

  it("answers 409 while another response of the conversation is written", () => {
    const error = new ThreadBusyError("run_1");
    expect(failedResponse(error).status).toBe(409);
    const message = expect.stringMatching(
      /^the response resp_1 of the same conversation is still in progress; /,
    );
    expect(getBody(error).error).toMatchObject({ type: invalid, code: "conversation_locked", message });
  });

  it("names the first field that is wrong", () => {
    const violations = [
      { field: "input[0]", description: "a" },
      { field: "model", description: "b" },
    ];
    expect(getBody(new InvalidRequestError("x", { violations })).error.param).toBe("input[0]");
  });

  it.each<[SDKError, object]>([
    [new RateLimitError("x", { retryAfter: 1.2341 }), { "retry-after": "2", "retry-after-ms": "1235" }],
    [new RateLimitError("x", { retryAfter: 0 }), { "retry-after": "0", "retry-after-ms": "0" }],
    [new RateLimitError("x", { retryAfter: -1 }), {}],
    [new RateLimitError("x", { retryAfter: Infinity }), {}],
    [new RateLimitError("x"), {}],
    [new QuotaExceededError("x"), { "x-should-retry": "false" }],
    [new ServerError("x", { retryable: false }), { "x-should-retry": "false" }],
    [new InternalError("x"), { "x-should-retry": "false" }],
    [new InvalidRequestError("x"), {}],
  ])("tells SDKs for %o when to retry the request, or not to retry it", (error, headers) => {
    expect(failedResponse(error).headers).toEqual({ "content-type": "application/json", ...headers });
  });
});

describe("toResponseError()", () => {
  it.each([
    [ErrorKind.AUTHENTICATION, "invalid_api_key"],
    [ErrorKind.INVALID_REQUEST, "invalid_prompt"],
    [ErrorKind.NOT_FOUND, "invalid_prompt"],
    [ErrorKind.RATE_LIMIT, "rate_limit_exceeded"],
    [ErrorKind.PROVIDER, "server_error"],
    [ErrorKind.SERVER, "server_error"],
    [ErrorKind.INTERNAL, "server_error"],
    [ErrorKind.CONFIGURATION, "configuration"],
    [ErrorKind.REQUEST_TIMEOUT, "timeout"],
    [ErrorKind.ABORT, "cancelled"],
    [ErrorKind.ACCESS_DENIED, "access_denied"],
  ])("gives a run that failed with kind %i the code %s", (kind, code) => {
    const error = create(InferenceErrorSchema, { kind, message: "x" });
    expect(toResponseError(error)).toEqual({ code, message: "x" });
  });

  it("does not blame the caller's key if a provider refused Outrigger's", () => {
    const providerFailure = create(ProviderFailureSchema, { provider: "one" });
    const error = create(InferenceErrorSchema, {
      kind: ErrorKind.AUTHENTICATION,
      message: "x",
      providerFailure,
    });
    expect(toResponseError(error).code).toBe("provider_key_refused");
  });
});
