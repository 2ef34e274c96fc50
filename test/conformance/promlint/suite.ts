import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMetrics } from "../../../src/server/telemetry/metrics.ts";
import { buildOnce } from "../../clients/runner/build-cache.ts";
import { build, probe, run } from "../../clients/runner/process.ts";
import { addSamples } from "../../server/support/metric-samples.ts";
import { binaries, folder, type Suite } from "../suite.ts";

const cwd = `${folder}promlint`;
const TIMEOUT_MS = 30_000;

/** Checks our metrics, with samples of each, by the linter of `promtool check metrics`. */
export const promlintSuite: Suite = {
  name: "promlint",
  async run() {
    await buildProgram();
    const metrics = createMetrics({
      version: "0.0.0-conformance",
      readDroppedLogLines: () => 1,
      listIssuers: () => [{ issuer: "https://login.example.com", problem: "" }],
    });
    addSamples(metrics);
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
