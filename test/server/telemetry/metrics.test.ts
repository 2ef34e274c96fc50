import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { ServerError } from "../../../src/core/errors.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { createMetrics, MAX_MODEL_LABELS } from "../../../src/server/telemetry/metrics.ts";
import { createCall, toOutcome } from "../support/outcome.ts";

const CALL = createCall();

describe("createMetrics()", () => {
  it("counts calls in flight", () => {
    const metrics = createMetrics({ version: "1" });
    metrics.begin(CALL);
    metrics.begin(CALL);
    metrics.end(CALL, toOutcome());
    expect(metrics.render()).toContain("outrigger_inflight 1\n");
  });

  it("sorts durations into cumulative buckets", () => {
    const metrics = createMetrics({ version: "1" });
    for (const durationMs of [1, 30, 30, 1_000_000])
      metrics.end(CALL, toOutcome({ code: Code.Unavailable, durationMs }));
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
    const metrics = createMetrics({ version: "1" });
    const usage = create(UsageSchema, { inputTokens: 1, outputTokens: 2 });
    for (let index = 0; index < MAX_MODEL_LABELS + 20; index += 1) {
      metrics.end(CALL, toOutcome({ provider: "acme", model: `m-${index}`, usage }));
    }
    const lines = metrics
      .render()
      .split("\n")
      .filter((line) => line.startsWith("outrigger_tokens_total{"));
    expect(lines).toHaveLength(2 * (MAX_MODEL_LABELS + 1));
    expect(lines).toContain('outrigger_tokens_total{provider="other",model="other",direction="output"} 40');
  });

  it("gives known models separate labels after invented ones have used up the others", () => {
    const asked: string[] = [];
    const isKnownModel = (_provider: string, model: string) => asked.push(model) > 0 && model === "gpt-5.2";
    const metrics = createMetrics({ version: "1", isKnownModel });
    const usage = create(UsageSchema, { inputTokens: 1 });
    const models = Array.from({ length: MAX_MODEL_LABELS + 1 }, (_, index) => `junk-${index}`);
    for (const model of [...models, "gpt-5.2", "gpt-5.2"]) {
      metrics.end(CALL, toOutcome({ provider: "acme", model, usage }));
    }
    const text = metrics.render();
    expect(text).toContain('{provider="acme",model="gpt-5.2",direction="input"} 2\n');
    expect(text).toContain('{provider="other",model="other",direction="input"} 1\n');
    expect(asked).toEqual([`junk-${MAX_MODEL_LABELS}`, "gpt-5.2"]);
  });

  it("never counts backwards", () => {
    const metrics = createMetrics({ version: "1" });
    for (const inputTokens of [5, -3]) {
      metrics.end(
        CALL,
        toOutcome({ provider: "a", model: "m", usage: create(UsageSchema, { inputTokens }) }),
      );
    }
    expect(metrics.render()).toContain('{provider="a",model="m",direction="input"} 5\n');
  });

  it("escapes names that clients choose", () => {
    const metrics = createMetrics({ version: "1" });
    const usage = create(UsageSchema, { inputTokens: 1 });
    metrics.end(CALL, toOutcome({ provider: "acme", model: 'a"b\\c\nd', usage }));
    expect(metrics.render()).toContain('model="a\\"b\\\\c\\nd",direction="input"} 1\n');
  });

  it("counts requests to providers, and sorts the times to their first outputs", () => {
    const metrics = createMetrics({ version: "1" });
    metrics.attempt(CALL, { inferenceId: "i", provider: "acme", model: "m" });
    metrics.firstOutput(CALL, { provider: "acme", model: "m", elapsedMs: 300 });
    const text = metrics.render();
    expect(text).toContain('outrigger_provider_calls_total{rpc="acme.Service/Do"} 1\n');
    const name = "outrigger_time_to_first_output_seconds";
    expect(text).toContain(`${name}_bucket{provider="acme",model="m",le="0.25"} 0\n`);
    expect(text).toContain(`${name}_bucket{provider="acme",model="m",le="0.5"} 1\n`);
  });

  it("counts the decisions of middleware, and shows the state of circuit breakers", () => {
    const metrics = createMetrics({ version: "1" });
    const target = { provider: "acme", model: "m" };
    const error = new ServerError("down");
    metrics.retry(target, error, 1);
    metrics.fallback(target, { provider: "other", model: "n" }, error);
    metrics.circuit(target, "open");
    metrics.circuit(target, "half_open");
    metrics.refused(target, "budget");
    metrics.cache(target, "hit");
    metrics.cache({ provider: "acme", model: "x".repeat(1000) }, "miss");
    const text = metrics.render();
    const labels = 'provider="acme",model="m"';
    for (const line of [
      `outrigger_retries_total{${labels}} 1`,
      `outrigger_fallbacks_total{${labels}} 1`,
      `outrigger_circuit_breaker_state{${labels}} 1`,
      `outrigger_refused_calls_total{${labels},by="budget"} 1`,
      `outrigger_cache_lookups_total{${labels},result="hit"} 1`,
    ]) {
      expect(text).toContain(`${line}\n`);
    }
    expect(text).not.toContain("x".repeat(129));
  });

  it("describes each metric", () => {
    const text = createMetrics({ version: "1" }).render();
    for (const line of text.trim().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|[a-z_]+(\{.*\})? [\d.e+]+)$/);
    expect(text.match(/^# TYPE/gm)).toHaveLength(text.match(/^# HELP/gm)?.length ?? 0);
  });
});
