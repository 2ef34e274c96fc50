import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  AuthenticationError,
  ConfigurationError,
  InternalError,
  InvalidRequestError,
  NetworkError,
  NoObjectGeneratedError,
  NotFoundError,
  QuotaExceededError,
  RateLimitError,
  RequestTimeoutError,
  type SDKError,
  ServerError,
  StreamError,
} from "../../../src/core/errors.ts";
import { refusal } from "../../../src/middleware/refusals.ts";
import { getCode } from "../../../src/server/status/status-code.ts";
import type { Outcome } from "../../../src/server/telemetry/call-observer.ts";
import { createCallLog, createLogger, describeFault } from "../../../src/server/telemetry/logging.ts";
import { createCall, toOutcome } from "../support/outcome.ts";
import { type LogLine, recordingLogger } from "../support/test-server.ts";

const PROBE = "grpc.health.v1.Health/Check";

/** The lines that are logged for a call. */
function toLines(outcome: Partial<Outcome>, rpc = "acme.Service/Do"): LogLine[] {
  const { logger, lines } = recordingLogger();
  const log = createCallLog(logger);
  const call = createCall({ rpc, requestId: "r-1" });
  log.end(call, toOutcome(outcome));
  return lines;
}

describe("createLogger()", () => {
  it("redacts the values of secret names", () => {
    const lines: string[] = [];
    const logger = createLogger({ destination: { write: (line) => void lines.push(line) } });
    logger.info({
      authorization: "hush",
      headers: { "x-api-key": "hush", host: "h" },
      provider: { options: { apiKey: "hush" } },
    });
    expect(lines.join("")).not.toContain("hush");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ authorization: "[redacted]", headers: { host: "h" } });
  });

  it("writes levels and times as numbers, or in words", () => {
    const [numbers, words] = (["numbers", "words"] as const).map((format) => {
      const lines: string[] = [];
      createLogger({ format, destination: { write: (line) => void lines.push(line) } }).warn("x");
      return JSON.parse(lines[0] ?? "");
    });
    expect(numbers).toMatchObject({ level: 40, time: expect.any(Number), msg: "x" });
    expect(words).toMatchObject({ level: "warn", msg: "x" });
    expect(words.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  it("keeps its level", () => {
    const lines: string[] = [];
    const logger = createLogger({ level: "warn", destination: { write: (line) => void lines.push(line) } });
    logger.info("no");
    logger.warn("yes");
    expect(lines).toHaveLength(1);
  });
});

describe("createCallLog()", () => {
  const bug = { code: Code.Internal, fault: new TypeError("x") };
  const levels: readonly [string, Partial<Outcome>, string | undefined, number][] = [
    ["a call", {}, undefined, 30],
    ["a probe", {}, PROBE, 20],
    ["a client that disconnected", { code: Code.Canceled, disconnected: true }, undefined, 20],
    ["a bug of ours", bug, undefined, 50],
    ["a bug of ours in a probe", bug, PROBE, 50],
    ["a client that breaks the protocol", { code: Code.Internal }, undefined, 40],
    ["an unknown path", { code: Code.Unimplemented }, undefined, 40],
  ];
  it.each(levels)("logs %s at its level", (_what, outcome, rpc, level) => {
    const lines = toLines({ ...outcome, durationMs: 12.3456 }, rpc);
    expect(lines).toMatchObject([{ level, request_id: "r-1", duration_ms: 12.3 }] satisfies LogLine[]);
  });

  const provider = { provider: "acme" };
  const blamed: readonly [SDKError, string, number][] = [
    [new InvalidRequestError("x"), "caller", 40],
    [new InvalidRequestError("x", provider), "caller", 40],
    [new NotFoundError("x", provider), "caller", 40],
    [new AuthenticationError("x"), "caller", 40],
    [new AuthenticationError("x", provider), "sidecar", 50],
    [new RateLimitError("x"), "caller", 40],
    [new RateLimitError("x", provider), "provider", 40],
    [new QuotaExceededError("x", provider), "provider", 40],
    [new ServerError("x", provider), "provider", 40],
    [new ServerError("x"), "sidecar", 50],
    [refusal(new ServerError("the breaker is open")), "provider", 40],
    [new NetworkError("x"), "network", 40],
    [new StreamError("x"), "network", 40],
    [new RequestTimeoutError("x"), "caller", 40],
    [new RequestTimeoutError("x", provider), "provider", 40],
    [new NoObjectGeneratedError("x"), "provider", 40],
    [new ConfigurationError("x"), "sidecar", 50],
  ];
  it.each(blamed)("says whose fault %s is: %s", (error, failedBy, level) => {
    const lines = toLines({ code: getCode(error.kind), error });
    expect(lines).toMatchObject([
      { level, failed_by: failedBy, msg: "call failed", error_kind: error.kindName },
    ]);
  });

  it("says why a call failed", () => {
    const error = new ServerError("do not quote me", {
      provider: "acme",
      httpStatusCode: 503,
      errorCode: "overloaded",
      requestId: "req_1",
      violations: [{ field: "messages[0].content", description: "hush" }],
    });
    const times = { total: 5, ours: 1, provider: 3.04, queue: 1 };
    const reason = "the model is overloaded";
    const line = toLines({ code: Code.Unavailable, error, reason, attempts: 3, times })[0];
    expect(line).toMatchObject({
      reason,
      attempts: 3,
      provider_ms: 3,
      queue_ms: 1,
      http_status: 503,
      provider_code: "overloaded",
      provider_request_id: "req_1",
      fields: ["messages[0].content"],
    });
    expect(JSON.stringify(line)).not.toMatch(/quote|hush/);
  });

  it("logs no message that may quote the caller, and no key that a caller chose", () => {
    const violations = [
      { field: 'metadata["my secret"]', description: "is secret" },
      { field: "tools[1].\n secret", description: "is secret" },
    ];
    const provided = { provider: "acme", errorCode: "a secret code" };
    for (const error of [
      new InvalidRequestError("secret", { violations }),
      new ServerError("secret", provided),
    ]) {
      const lines = toLines({ code: getCode(error.kind), error });
      expect(JSON.stringify(lines)).not.toContain("secret");
    }
    const refused = toLines({
      code: Code.FailedPrecondition,
      error: new ConfigurationError("no provider x"),
    });
    expect(refused).toMatchObject([{ reason: "no provider x" }]);
  });

  it("logs the time to the first output of a stream", () => {
    expect(toLines({ firstOutputMs: 5.678 })).toMatchObject([{ first_output_ms: 5.7 }]);
    expect(toLines({})[0]).not.toHaveProperty("first_output_ms");
  });

  it("names the cause of a bug that a service reported", () => {
    const error = new InternalError("internal error", { cause: new RangeError("secret") });
    const lines = toLines({ code: Code.Internal, error });
    expect(lines[0]).toMatchObject({ error_kind: "INTERNAL", fault: { type: "RangeError" } });
    expect(JSON.stringify(lines)).not.toContain("secret");
  });
});

describe("describeFault()", () => {
  it("shows where an error came from and not its message", () => {
    const error = Object.assign(new SyntaxError("Unexpected token in secret\n    at secret line"), {
      code: "ERR_X",
    });
    const described = describeFault(error);
    expect(described).toMatchObject({ type: "SyntaxError", code: "ERR_X" });
    expect(described.stack).toEqual(expect.arrayContaining([expect.stringContaining("logging.test.ts")]));
    expect(JSON.stringify(described)).not.toContain("secret");
  });

  it("follows causes, and takes any thrown value", () => {
    expect(describeFault(new Error("x", { cause: new TypeError("y") }))).toMatchObject({
      cause: { type: "TypeError" },
    });
    expect(describeFault("thrown text")).toEqual({ type: "string" });
  });
});
