import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { ProviderError } from "../../../src/core/errors.ts";
import { userMessage } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { createHeaders } from "../../../src/kit/http/transport.ts";
import { toError } from "../../../src/providers/anthropic-messages/error.ts";

function fail(status: number, body: unknown, headers: Record<string, string> = {}, prompt = "hi") {
  return toError({
    provider: "anthropic",
    status,
    headers: createHeaders(headers),
    body: typeof body === "string" ? body : JSON.stringify(body),
    request: create(RequestSchema, { model: "claude-opus-5", messages: [userMessage(prompt)] }),
  }) as ProviderError;
}

function failureBody(type: string, message = "", errorCode?: string) {
  const details = errorCode === undefined ? null : { error_code: errorCode };
  return { type: "error", error: { type, message, details }, request_id: "req_body" };
}

describe("toError()", () => {
  const table = [
    [400, "invalid_request_error", ErrorKind.INVALID_REQUEST, false],
    [401, "authentication_error", ErrorKind.AUTHENTICATION, false],
    [402, "billing_error", ErrorKind.QUOTA_EXCEEDED, false],
    [403, "permission_error", ErrorKind.ACCESS_DENIED, false],
    [404, "not_found_error", ErrorKind.NOT_FOUND, false],
    [408, "timeout_error", ErrorKind.REQUEST_TIMEOUT, true],
    [409, "conflict_error", ErrorKind.PROVIDER, true],
    [413, "request_too_large", ErrorKind.CONTEXT_LENGTH, false],
    [429, "rate_limit_error", ErrorKind.RATE_LIMIT, true],
    [500, "api_error", ErrorKind.SERVER, true],
    [503, "overloaded_error", ErrorKind.SERVER, true],
    [504, "timeout_error", ErrorKind.REQUEST_TIMEOUT, true],
    [529, "overloaded_error", ErrorKind.SERVER, true],
  ] as const;
  it.each(table)("classifies status %i with type %s", (status, type, kind, retryable) => {
    expect(fail(status, failureBody(type, "message"))).toMatchObject({ kind, retryable });
    expect(fail(status, "<html>").kind).toBe(status === 504 ? ErrorKind.SERVER : kind);
  });

  const codes = [
    ["enforced_spend_limit_reached", ErrorKind.QUOTA_EXCEEDED],
    ["contract_spend_limit_reached", ErrorKind.QUOTA_EXCEEDED],
    ["ramp_limit_exceeded", ErrorKind.RATE_LIMIT],
    ["a_code_of_tomorrow", ErrorKind.RATE_LIMIT],
  ] as const;
  it.each(codes)("classifies status 429 with code %s", (code, kind) => {
    const error = fail(429, failureBody("rate_limit_error", "x", code), { "retry-after": "30" });
    expect(error).toMatchObject({ kind, errorCode: code, retryable: kind === ErrorKind.RATE_LIMIT });
    expect(error.retryAfter).toBe(kind === ErrorKind.RATE_LIMIT ? 30 : undefined);
  });

  const messages = [
    ["prompt is too long: 210000 tokens > 200000 maximum", ErrorKind.CONTEXT_LENGTH],
    ["input length and `max_tokens` exceed context limit: 1 + 2 > 2", ErrorKind.CONTEXT_LENGTH],
    ["Your credit balance is too low to access the API", ErrorKind.QUOTA_EXCEEDED],
    ["You have reached your specified API usage limits", ErrorKind.QUOTA_EXCEEDED],
    ["messages.0: tool not found", ErrorKind.INVALID_REQUEST],
    ["Output blocked by content filtering policy", ErrorKind.CONTENT_FILTER],
    ["Request blocked by our content filtering policy.", ErrorKind.CONTENT_FILTER],
    ["tools.0: the name content_filter is blocked", ErrorKind.INVALID_REQUEST],
  ] as const;
  it.each(messages)(
    "classifies an invalid request by its message if there is no code: %s",
    (message, kind) => {
      expect(fail(400, failureBody("invalid_request_error", message))).toMatchObject({
        kind,
        retryable: false,
      });
      const coded = failureBody("invalid_request_error", message, "image_dimensions_too_large");
      expect(fail(400, coded).kind).toBe(ErrorKind.INVALID_REQUEST);
    },
  );

  it("has the provider's message, code and request id", () => {
    const error = fail(404, failureBody("not_found_error", "model: claude-x"), { "request-id": "req_head" });
    expect(error).toMatchObject({ httpStatusCode: 404, errorCode: "not_found_error", requestId: "req_head" });
    expect(error.message).toBe("anthropic answered 404 (not_found_error): model: claude-x");
    expect(fail(404, failureBody("not_found_error")).requestId).toBe("req_body");
    expect(fail(413, failureBody("request_too_large")).message).toContain("bytes");
  });

  it("follows the provider's x-should-retry header", () => {
    expect(fail(529, failureBody("overloaded_error"), { "x-should-retry": "false" }).retryable).toBe(false);
    expect(fail(400, failureBody("invalid_request_error"), { "x-should-retry": "true" }).retryable).toBe(
      true,
    );
  });

  it("repeats no prompt, and reads the errors of proxies", () => {
    const secret = "the secret plan of the prompt";
    expect(
      fail(400, failureBody("invalid_request_error", `bad: ${secret}`), {}, secret).message,
    ).not.toContain(secret);
    expect(fail(502, { detail: "upstream gone" }).message).toBe("anthropic answered 502: upstream gone");
    expect(fail(400, { error: "no such field" }).message).toBe("anthropic answered 400: no such field");
    expect(fail(418, "")).toMatchObject({ kind: ErrorKind.INVALID_REQUEST, errorCode: undefined });
  });
});

describe("the field that the API refuses", () => {
  it.each([
    ["max_tokens: 9 > 8, which is the maximum", "max_tokens"],
    ...["model", "tool_choice", "temperature", "top_p", "stop_sequences", "metadata"].map((same) => [
      `${same}: wrong`,
      same,
    ]),
    ["system: wrong", "messages"],
    ["thinking.budget_tokens: wrong", "reasoning_effort"],
    ["output_config.format.type: wrong", "response_format"],
    ["output_config.format.schema: wrong", "response_format.schema_json"],
    ["messages.1.content.0: Input should be an object", "messages"],
    ["tools.0.custom.input_schema: JSON schema is invalid", "tools"],
    ["output_config.effort: Input should be 'low'", "reasoning_effort"],
    ["`temperature` may only be set to 1 when thinking is enabled.", "temperature"],
    ["service_tier: Input should be 'auto'", 'provider_options_json["anthropic"].service_tier'],
  ])("is named by its message: %s", (message, field) => {
    const { violations } = fail(400, failureBody("invalid_request_error", message));
    expect(violations).toEqual([{ field, description: message }]);
  });

  it.each(["prompt is too long: 9 tokens", "note: try again", "the model is unknown"])(
    "is not read from other messages: %s",
    (message) => {
      expect(fail(400, failureBody("invalid_request_error", message)).violations).toEqual([]);
    },
  );
});
