import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { InternalError } from "../../../src/core/errors.ts";
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
  log.begin(call);
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
    ["a failure of a provider", { code: Code.Unavailable }, undefined, 30],
    ["a probe", {}, PROBE, 20],
    ["a client that disconnected", { code: Code.Canceled, disconnected: true }, undefined, 20],
    ["a bug of ours", bug, undefined, 50],
    ["a bug of ours in a probe", bug, PROBE, 50],
    ["a client that breaks the protocol", { code: Code.Internal }, undefined, 30],
  ];
  it.each(levels)("logs %s at its level", (_what, outcome, rpc, level) => {
    const lines = toLines({ ...outcome, durationMs: 12.3456 }, rpc);
    expect(lines).toMatchObject([{ level, request_id: "r-1", duration_ms: 12.3 }] satisfies LogLine[]);
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
