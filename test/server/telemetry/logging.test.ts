import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { InternalError } from "../../../src/core/errors.ts";
import { type Call, createCall } from "../../../src/server/telemetry/call.ts";
import { createLogger, describeFault, logCall } from "../../../src/server/telemetry/logging.ts";
import { type LogLine, recordingLogger } from "../support/test-server.ts";

function callOf(fields: Partial<Call>): Call {
  return { ...createCall({ rpc: "acme.Service/Do", requestId: "r-1", httpVersion: "2.0" }), ...fields };
}

describe("createLogger()", () => {
  it("hides what stands under the name of a secret", () => {
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

describe("logCall()", () => {
  const levels: readonly [string, Partial<Call>, number][] = [
    ["a call", {}, 30],
    ["a failure of a provider", { code: Code.Unavailable }, 30],
    ["a probe", { rpc: "grpc.health.v1.Health/Check" }, 20],
    ["a caller who left", { code: Code.Canceled, abandoned: true }, 20],
    ["a bug of ours", { code: Code.Internal, fault: new TypeError("x") }, 50],
    [
      "a bug of ours in a probe",
      { rpc: "grpc.health.v1.Health/Check", code: Code.Internal, fault: new TypeError("x") },
      50,
    ],
    ["a caller who breaks the protocol", { code: Code.Internal }, 30],
  ];
  it.each(levels)("gives %s its level", (_what, fields, level) => {
    const { logger, lines } = recordingLogger();
    logCall(logger, callOf(fields), 12.3456);
    expect(lines).toMatchObject([{ level, request_id: "r-1", duration_ms: 12.3 }] satisfies LogLine[]);
  });

  it("names the cause of a bug that a service reported", () => {
    const { logger, lines } = recordingLogger();
    const error = new InternalError("internal error", { cause: new RangeError("secret") });
    logCall(logger, callOf({ code: Code.Internal, error }), 1);
    expect(lines[0]).toMatchObject({ error_kind: "INTERNAL", fault: { type: "RangeError" } });
    expect(JSON.stringify(lines)).not.toContain("secret");
  });
});

describe("describeFault()", () => {
  it("tells where an error came from and not what it says", () => {
    const error = Object.assign(new SyntaxError("Unexpected token in secret\n    at secret line"), {
      code: "ERR_X",
    });
    const described = describeFault(error);
    expect(described).toMatchObject({ type: "SyntaxError", code: "ERR_X" });
    expect(described.stack).toEqual(expect.arrayContaining([expect.stringContaining("logging.test.ts")]));
    expect(JSON.stringify(described)).not.toContain("secret");
  });

  it("follows causes, and takes whatever is thrown", () => {
    expect(describeFault(new Error("x", { cause: new TypeError("y") }))).toMatchObject({
      cause: { type: "TypeError" },
    });
    expect(describeFault("thrown text")).toEqual({ type: "string" });
  });
});
