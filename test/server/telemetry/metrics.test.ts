import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { type Call, createCall } from "../../../src/server/telemetry/call.ts";
import { createMetrics, MAX_MODEL_LABELS } from "../../../src/server/telemetry/metrics.ts";

function callOf(fields: Partial<Call>): Call {
  return { ...createCall({ rpc: "acme.Service/Do", requestId: "r", httpVersion: "2.0" }), ...fields };
}

describe("createMetrics()", () => {
  it("counts what is in flight", () => {
    const metrics = createMetrics("1");
    metrics.begin();
    metrics.begin();
    metrics.end(callOf({}), 1);
    expect(metrics.render()).toContain("outrigger_inflight 1\n");
  });

  it("sorts durations into cumulative buckets", () => {
    const metrics = createMetrics("1");
    for (const milliseconds of [1, 30, 30, 1_000_000])
      metrics.end(callOf({ code: Code.Unavailable }), milliseconds);
    const text = metrics.render();
    const bucket = (le: string) => `outrigger_request_seconds_bucket{rpc="acme.Service/Do",le="${le}"}`;
    expect(text).toContain(`${bucket("0.005")} 1\n`);
    expect(text).toContain(`${bucket("0.025")} 1\n`);
    expect(text).toContain(`${bucket("0.1")} 3\n`);
    expect(text).toContain(`${bucket("600")} 3\n`);
    expect(text).toContain(`${bucket("+Inf")} 4\n`);
    expect(text).toContain('outrigger_requests_total{rpc="acme.Service/Do",code="UNAVAILABLE"} 4\n');
  });

  it("keeps the number of models finite", () => {
    const metrics = createMetrics("1");
    const usage = create(UsageSchema, { inputTokens: 1, outputTokens: 2 });
    for (let index = 0; index < MAX_MODEL_LABELS + 20; index += 1) {
      metrics.end(callOf({ provider: "acme", model: `m-${index}`, usage }), 1);
    }
    const lines = metrics
      .render()
      .split("\n")
      .filter((line) => line.startsWith("outrigger_tokens_total{"));
    expect(lines).toHaveLength(2 * (MAX_MODEL_LABELS + 1));
    expect(lines).toContain('outrigger_tokens_total{provider="other",model="other",direction="output"} 40');
  });

  it("escapes what callers name", () => {
    const metrics = createMetrics("1");
    const usage = create(UsageSchema, { inputTokens: 1 });
    metrics.end(callOf({ provider: "acme", model: 'a"b\\c\nd', usage }), 1);
    expect(metrics.render()).toContain('model="a\\"b\\\\c\\nd",direction="input"} 1\n');
  });

  it("says what each metric is", () => {
    const text = createMetrics("1").render();
    for (const line of text.trim().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|[a-z_]+(\{.*\})? [\d.e+]+)$/);
    expect(text.match(/^# TYPE/gm)).toHaveLength(text.match(/^# HELP/gm)?.length ?? 0);
  });
});
