import { describe, expect, it } from "vitest";
import type { ProviderError } from "../../../src/core/errors.ts";
import { userMessage } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { createHeaders } from "../../../src/kit/http/transport.ts";
import { toError } from "../../../src/providers/gemini/error.ts";
import { factsFor } from "../../support/decode.ts";

interface Failure {
  readonly status?: string;
  readonly message?: string;
  readonly details?: readonly object[];
}

function getError(
  code: number,
  { status, message = "no", details = [] }: Failure = {},
  headers = {},
  includeRaw = false,
) {
  const { request } = factsFor("gemini", {
    model: "gemini-3.5-flash",
    messages: [userMessage("The secret plan is to paint the moon green.")],
    includeRaw,
  });
  const body = JSON.stringify({ error: { code, message, status, details } });
  return toError({
    provider: "gemini",
    status: code,
    headers: createHeaders(headers),
    body,
    request,
  }) as ProviderError;
}

const detail = (name: string, value: object) => ({
  "@type": `type.googleapis.com/google.rpc.${name}`,
  ...value,
});

describe("error kinds", () => {
  it.each([
    [400, "INVALID_ARGUMENT", ErrorKind.INVALID_REQUEST, false],
    [400, "FAILED_PRECONDITION", ErrorKind.ACCESS_DENIED, false],
    [400, "OUT_OF_RANGE", ErrorKind.INVALID_REQUEST, false],
    [401, "UNAUTHENTICATED", ErrorKind.AUTHENTICATION, false],
    [403, "PERMISSION_DENIED", ErrorKind.ACCESS_DENIED, false],
    [404, "NOT_FOUND", ErrorKind.NOT_FOUND, false],
    [409, "ABORTED", ErrorKind.PROVIDER, true],
    [409, "ALREADY_EXISTS", ErrorKind.INVALID_REQUEST, false],
    [429, "RESOURCE_EXHAUSTED", ErrorKind.RATE_LIMIT, true],
    [499, "CANCELLED", ErrorKind.ABORT, false],
    [500, "INTERNAL", ErrorKind.SERVER, true],
    [500, "UNKNOWN", ErrorKind.SERVER, true],
    [500, "DATA_LOSS", ErrorKind.SERVER, true],
    [501, "UNIMPLEMENTED", ErrorKind.INVALID_REQUEST, false],
    [503, "UNAVAILABLE", ErrorKind.SERVER, true],
    [504, "DEADLINE_EXCEEDED", ErrorKind.REQUEST_TIMEOUT, true],
    [502, undefined, ErrorKind.SERVER, true],
    [413, undefined, ErrorKind.CONTEXT_LENGTH, false],
  ])("maps status %i and code %s", (code, status, kind, retryable) => {
    const error = getError(code, status === undefined ? {} : { status });
    expect(error).toMatchObject({ kind, retryable });
  });

  it("maps a wrong key to AUTHENTICATION although its status is 400", () => {
    const details = [detail("ErrorInfo", { reason: "API_KEY_INVALID" })];
    expect(getError(400, { status: "INVALID_ARGUMENT", details })).toMatchObject({
      kind: ErrorKind.AUTHENTICATION,
      errorCode: "API_KEY_INVALID",
    });
    const message = "API key not valid. Please pass a valid API key.";
    expect(getError(400, { status: "INVALID_ARGUMENT", message }).kind).toBe(ErrorKind.AUTHENTICATION);
  });

  it("maps a conversation that is too long to CONTEXT_LENGTH", () => {
    const message = "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).";
    expect(getError(400, { status: "INVALID_ARGUMENT", message }).kind).toBe(ErrorKind.CONTEXT_LENGTH);
  });

  it("takes the kind from the status if the body is not JSON", () => {
    const { request } = factsFor("gemini", { model: "m" });
    const failure = { provider: "gemini", headers: createHeaders({}), request };
    expect(toError({ ...failure, status: 502, body: "<html>" }).kind).toBe(ErrorKind.SERVER);
    expect(toError({ ...failure, status: 403, body: "" }).kind).toBe(ErrorKind.ACCESS_DENIED);
  });
});

describe("exceeded quotas", () => {
  const status = "RESOURCE_EXHAUSTED";
  const quota = (quotaId: string) => detail("QuotaFailure", { violations: [{ quotaId }] });
  const retry = detail("RetryInfo", { retryDelay: "46s" });

  it.each([
    [
      "a quota per minute, as a rate limit",
      { details: [quota("GenerateRequestsPerMinutePerProject"), retry] },
      ErrorKind.RATE_LIMIT,
    ],
    [
      "a quota per day, as used up",
      { details: [quota("GenerateRequestsPerDayPerProject"), retry] },
      ErrorKind.QUOTA_EXCEEDED,
    ],
    [
      "a quota of zero, as used up",
      { message: "Quota exceeded for metric: x, limit: 0" },
      ErrorKind.QUOTA_EXCEEDED,
    ],
    [
      "an account without credit, as used up",
      { message: "Your prepayment credits are depleted. Manage billing." },
      ErrorKind.QUOTA_EXCEEDED,
    ],
    [
      "a message about billing with a quota per minute, as a rate limit",
      { message: "check your plan and billing details", details: [quota("InputTokensPerMinute")] },
      ErrorKind.RATE_LIMIT,
    ],
  ])("are classified: %s", (_, failure, kind) => {
    expect(getError(429, { status, ...failure }).kind).toBe(kind);
  });

  it("have no retry delay if the quota is used up", () => {
    const error = getError(429, { status, details: [quota("PerDay"), retry] });
    expect(error).toMatchObject({ retryable: false, retryAfter: undefined });
  });
});

describe("retry delays", () => {
  const status = "RESOURCE_EXHAUSTED";
  const info = detail("RetryInfo", { retryDelay: "3.5s" });

  it("come from the header, else from the details, else from the message", () => {
    const message = "Please retry in 10h17m5.7s.";
    expect(getError(429, { status, message, details: [info] }, { "retry-after": "7" }).retryAfter).toBe(7);
    expect(getError(429, { status, message, details: [info] }).retryAfter).toBe(3.5);
    expect(getError(429, { status, message }).retryAfter).toBeCloseTo(37_025.7);
    expect(getError(429, { status }).retryAfter).toBeUndefined();
  });
});

describe("error messages", () => {
  it("repeat the provider's message but not the prompt", () => {
    expect(getError(400, { status: "INVALID_ARGUMENT", message: "Unknown field." }).message).toBe(
      "gemini answered 400 (INVALID_ARGUMENT): Unknown field.",
    );
    const echo = 'Invalid value at "The secret plan is to paint the moon green."';
    expect(getError(400, { message: echo }).message).not.toContain("secret");
  });

  it("have the bounded body as raw_json only under include_raw", () => {
    expect(getError(400, { message: "x" }).rawJson).toBeUndefined();
    const long = getError(400, { message: "x".repeat(5000) }, {}, true);
    expect(long.rawJson).toHaveLength(2048);
  });
});

describe("the field that the API refuses", () => {
  it.each([
    ["model", "model"],
    ["system_instruction", "messages"],
    ["generation_config.max_output_tokens", "max_tokens"],
    ["generation_config.temperature", "temperature"],
    ["generation_config.stop_sequences", "stop_sequences"],
    ["generation_config.thinking_config.thinking_level", "reasoning_effort"],
    ["generation_config.response_json_schema", "response_format.schema_json"],
    ["generation_config.response_schema", "response_format.schema_json"],
    ["generation_config.response_mime_type", "response_format"],
    ["tool_config", "tool_choice"],
    ["generationConfig.topP", "top_p"],
    ["contents[0].parts[1]", "messages"],
    ["tools[0].function_declarations[2].parameters", "tools"],
    ["safety_settings[0]", 'provider_options_json["gemini"].safety_settings[0]'],
  ])("is %s of the details: %s", (path, field) => {
    const details = [detail("BadRequest", { fieldViolations: [{ field: path, description: "wrong" }] })];
    const { violations } = getError(400, { status: "INVALID_ARGUMENT", details });
    expect(violations).toEqual([{ field, description: "no" }]);
  });
});
