import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { anyCaller } from "../../../src/core/caller.ts";
import { NotFoundError, ServerError } from "../../../src/core/errors.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { createMetrics } from "../../../src/server/telemetry/metrics.ts";
import { MAX_MODEL_LABELS } from "../../../src/server/telemetry/model-metrics.ts";
import { createAttempt, createCall, toOutcome } from "../support/outcome.ts";

const CALL = createCall();

const ENDED = { durationMs: 10, isRepeated: false, error: undefined, usage: undefined, response: undefined };

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

  it("says whether the configuration that was read last is in use, and when the one in use was read", () => {
    vi.useFakeTimers({ now: 1_700_000_000_500 });
    onTestFinished(() => void vi.useRealTimers());
    const metrics = createMetrics({ version: "1" });
    const read = () => {
      const text = metrics.render();
      const get = (name: string) =>
        new RegExp(`^outrigger_config_last_reload_${name} (.*)$`, "m").exec(text)?.[1];
      return [get("successful"), get("success_timestamp_seconds"), metrics.isConfigCurrent];
    };
    expect(read()).toEqual(["1", "1700000000.5", true]);
    vi.advanceTimersByTime(60_000);
    metrics.configReloaded(false);
    expect(read()).toEqual(["0", "1700000000.5", false]);
    metrics.configReloaded(true);
    expect(read()).toEqual(["1", "1700000060.5", true]);
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
    expect(lines).toContain('outrigger_tokens_total{provider="acme",model="other",direction="output"} 40');
  });

  it("gives no label to names that never answered, nor to providers that are not registered", () => {
    const isKnownProvider = (provider: string) => provider === "acme";
    const isKnownModel = (_provider: string, model: string) => model === "known";
    const metrics = createMetrics({ version: "1", isKnownProvider, isKnownModel });
    const error = new NotFoundError("no such model", { provider: "acme" });
    for (const [provider, model] of [
      ["acme", "invented"],
      ["acme", "known"],
      ["invented", "known"],
    ] as const) {
      metrics.attempt(CALL, createAttempt({ provider, model }));
      metrics.attemptEnd(CALL, createAttempt({ provider, model }), { ...ENDED, error });
      metrics.end(CALL, toOutcome({ provider, model, code: Code.NotFound, error }));
    }
    const text = metrics.render();
    expect(text).not.toContain("invented");
    for (const target of [
      'provider="acme",model="other"',
      'provider="acme",model="known"',
      'provider="other",model="other"',
    ]) {
      expect(text).toContain(
        `outrigger_failed_calls_total{${target},kind="NOT_FOUND",failed_by="caller"} 1\n`,
      );
      expect(text).toContain(`outrigger_attempts_total{${target},result="failed"} 1\n`);
    }
  });

  it("has the parts of a call's time, its cost, its cached tokens and the pace of its output", () => {
    const metrics = createMetrics({ version: "1" });
    const caller = { ...anyCaller, name: "team" };
    const usage = create(UsageSchema, {
      inputTokens: 10,
      outputTokens: 101,
      cacheReadTokens: 7,
      costNanoUsd: 1_500_000_000n,
    });
    const times = { total: 2000, ours: 2, provider: 1500, queue: 498 };
    const target = { provider: "acme", model: "m" };
    metrics.end(
      { ...CALL, caller },
      toOutcome({ ...target, usage, times, durationMs: 2000, firstOutputMs: 1000 }),
    );
    metrics.attemptEnd(CALL, createAttempt(target), { ...ENDED, isRepeated: true });
    const text = metrics.render();
    const labels = 'provider="acme",model="m"';
    for (const line of [
      `outrigger_cost_usd_total{${labels}} 1.5`,
      'outrigger_caller_cost_usd_total{caller="team"} 1.5',
      `outrigger_cached_tokens_total{${labels},operation="read"} 7`,
      `outrigger_time_per_output_token_seconds_sum{${labels}} 0.01`,
      'outrigger_overhead_seconds_sum{rpc="acme.Service/Do"} 0.002',
      'outrigger_queue_wait_seconds_sum{rpc="acme.Service/Do"} 0.498',
      `outrigger_attempts_total{${labels},result="repeated"} 1`,
      `outrigger_attempt_seconds_count{${labels}} 1`,
    ])
      expect(text).toContain(`${line}\n`);
  });

  it("shows runs, their store, and calls of MCP servers", () => {
    const metrics = createMetrics({ version: "1" });
    metrics.runs.runsMeasured(3, 2);
    metrics.runs.storeChanged("full");
    metrics.runs.mcpCalled("docs", false, 100);
    metrics.runs.mcpCalled("", true, 100);
    const text = metrics.render();
    for (const line of [
      "outrigger_runs_queued 3",
      "outrigger_runs_in_progress 2",
      "outrigger_store_full 1",
      "outrigger_store_reachable 1",
      'outrigger_mcp_calls_total{server="docs",result="ok"} 1',
      'outrigger_mcp_calls_total{server="other",result="failed"} 1',
      'outrigger_mcp_call_seconds_count{server="docs"} 1',
    ])
      expect(text).toContain(`${line}\n`);
    metrics.runs.storeChanged("unreachable");
    expect(metrics.render()).toContain("outrigger_store_reachable 0\n");
  });

  it("gives known models separate labels after invented ones have used up the others", () => {
    const isKnownModel = (_provider: string, model: string) => model === "gpt-5.2";
    const metrics = createMetrics({ version: "1", isKnownModel });
    const usage = create(UsageSchema, { inputTokens: 1 });
    const models = Array.from({ length: MAX_MODEL_LABELS + 1 }, (_, index) => `junk-${index}`);
    for (const model of [...models, "gpt-5.2", "gpt-5.2"]) {
      metrics.end(CALL, toOutcome({ provider: "acme", model, usage }));
    }
    const text = metrics.render();
    expect(text).toContain('{provider="acme",model="gpt-5.2",direction="input"} 2\n');
    expect(text).toContain('{provider="acme",model="other",direction="input"} 1\n');
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

  it("reports when certificates expire, in seconds", () => {
    const metrics = createMetrics({ version: "1" });
    metrics.certificateUsed("data", new Date("2030-01-01T00:00:00Z"));
    metrics.certificateUsed("data", new Date("2031-01-01T00:00:00Z"));
    expect(metrics.render()).toContain(
      'outrigger_certificate_expiry_timestamp_seconds{listener="data"} 1924992000\n',
    );
  });

  it("escapes names that clients choose", () => {
    const metrics = createMetrics({ version: "1" });
    const usage = create(UsageSchema, { inputTokens: 1 });
    metrics.end(CALL, toOutcome({ provider: "acme", model: 'a"b\\c\nd', usage }));
    expect(metrics.render()).toContain('model="a\\"b\\\\c\\nd",direction="input"} 1\n');
  });

  it("counts requests to providers, and sorts the times to their first outputs", () => {
    const metrics = createMetrics({ version: "1" });
    metrics.attempt(CALL, createAttempt());
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
    metrics.chosen("fast", target);
    metrics.ejected("fast", target, "latency", 30);
    metrics.hedged(target, "won");
    metrics.cache(target, "hit");
    metrics.cache({ provider: "acme", model: "x".repeat(1000) }, "miss");
    const text = metrics.render();
    const labels = 'provider="acme",model="other"';
    for (const line of [
      `outrigger_retries_total{${labels}} 1`,
      `outrigger_fallbacks_total{${labels}} 1`,
      `outrigger_circuit_breaker_state{${labels}} 1`,
      `outrigger_refused_calls_total{${labels},by="budget"} 1`,
      `outrigger_alias_choices_total{alias="fast",${labels}} 1`,
      `outrigger_alias_ejections_total{alias="fast",${labels},reason="latency"} 1`,
      `outrigger_hedges_total{${labels},result="won"} 1`,
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
