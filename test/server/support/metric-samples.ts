import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { anyCaller } from "../../../src/core/caller.ts";
import { ServerError } from "../../../src/core/errors.ts";
import { RunSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import type { Metrics } from "../../../src/server/telemetry/metrics.ts";
import { createAttempt, createCall, toOutcome } from "./outcome.ts";

/** Gives each metric a sample with all of its labels: without one, only its name and help are rendered. */
export function addSamples(metrics: Metrics): void {
  const call = createCall({ caller: { ...anyCaller, name: "team" } });
  const target = { provider: "acme", model: "m" };
  const attempt = createAttempt(target);
  const error = new ServerError("down", { provider: "acme" });
  const usage = create(UsageSchema, {
    inputTokens: 3,
    outputTokens: 5,
    cacheReadTokens: 1,
    costNanoUsd: 1n,
  });
  const times = { total: 10, ours: 1, provider: 9, queue: 0 };
  metrics.begin(call);
  metrics.attempt(call, attempt);
  metrics.attemptEnd(call, attempt, {
    durationMs: 9,
    isRepeated: false,
    error: undefined,
    usage,
    response: undefined,
  });
  metrics.firstOutput(call, { ...target, elapsedMs: 5 });
  metrics.end(call, toOutcome({ ...target, usage, times, durationMs: 10, firstOutputMs: 5 }));
  metrics.end(call, toOutcome({ ...target, code: Code.Unavailable, error }));
  metrics.retry(target, error, 1);
  metrics.fallback(target, target, error);
  metrics.circuit(target, "open");
  metrics.refused(target, "budget");
  metrics.cache(target, "hit");
  metrics.chosen("fast", target);
  metrics.ejected("fast", target, "latency", 30);
  metrics.hedged(target, "won");
  metrics.sharedServer("valkey", false);
  metrics.sharedFailure("valkey", "timeout");
  metrics.certificateUsed("data", new Date());
  metrics.runs.runEnded(create(RunSchema));
  metrics.runs.mcpCalled("docs", false, 1);
  metrics.connectionRefused("data");
}
