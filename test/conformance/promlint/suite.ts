import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { anyCaller } from "../../../src/core/caller.ts";
import { ServerError } from "../../../src/core/errors.ts";
import { RunSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { createMetrics, type Metrics } from "../../../src/server/telemetry/metrics.ts";
import { buildOnce } from "../../clients/runner/build-cache.ts";
import { build, probe, run } from "../../clients/runner/process.ts";
import { createAttempt, createCall, toOutcome } from "../../server/support/outcome.ts";
import { binaries, folder, type Suite } from "../suite.ts";

const cwd = `${folder}promlint`;
const TIMEOUT_MS = 30_000;

/** Checks our metrics, with samples of each, by the linter of `promtool check metrics`. */
export const promlintSuite: Suite = {
  name: "promlint",
  async run() {
    await buildProgram();
    const metrics = createMetrics({ version: "0.0.0-conformance", readDroppedLogLines: () => 1 });
    use(metrics);
    const text = metrics.render();
    const { code, stdout, stderr } = await lint(text);
    const names = text.match(/^# TYPE /gm)?.length ?? 0;
    const problems = stdout.split("\n").filter((line) => line.startsWith("problem: "));
    if (code !== 0) problems.push(stderr.trim());
    if (!stdout.includes(`metrics: ${names}\n`)) problems.push(`of ${names} metrics some have no samples`);
    const failed = Math.min(names, problems.length);
    return { lines: problems, tally: { passed: names - failed, failed, skipped: 0 } };
  },
};

function buildProgram(): Promise<void> {
  const inputs = { paths: [cwd], facts: [probe("go", "version") ?? ""] };
  const args = ["build", "-buildvcs=false", "-o", `${binaries}/promlint`, "."];
  return buildOnce(`${folder}build/promlint-stamp`, inputs, () => build({ file: "go", args, cwd }));
}

async function lint(text: string) {
  const reports = await mkdtemp(join(tmpdir(), "promlint-"));
  try {
    const file = join(reports, "metrics.txt");
    await writeFile(file, text);
    return await run({ file: `${binaries}/promlint`, args: [file], cwd }, TIMEOUT_MS);
  } finally {
    await rm(reports, { recursive: true, force: true });
  }
}

/** Gives each metric a sample: the linter does not see the others. */
function use(metrics: Metrics): void {
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
  metrics.runs.runEnded(create(RunSchema));
  metrics.runs.mcpCalled("docs", false, 1);
  metrics.connectionRefused("data");
}
