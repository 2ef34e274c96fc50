import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildOnce } from "../../clients/runner/build-cache.ts";
import { build, probe, run } from "../../clients/runner/process.ts";
import { binaries, folder, type Suite } from "../suite.ts";
import { downloadModule } from "../tools.ts";

const cwd = `${folder}promrules`;
const deploy = fileURLToPath(new URL("../../../deploy", import.meta.url));
const TIMEOUT_MS = 60_000;

/** The tests of the alert rules by `promtool test rules`, and the queries of the dashboard by Prometheus' parser. */
export const promrulesSuite: Suite = {
  name: "promrules",
  async run() {
    await buildProgram();
    const queries = await readQueries();
    const work = await mkdtemp(join(tmpdir(), "promrules-"));
    try {
      const file = join(work, "queries.txt");
      await writeFile(file, queries.join("\n"));
      const args = [`${deploy}/prometheus/alerts.test.yaml`, file];
      const { code, stdout, stderr } = await run({ file: `${binaries}/promrules`, args, cwd }, TIMEOUT_MS);
      const isPassed = code === 0 && stdout.includes("SUCCESS");
      const lines = isPassed ? [`ok, with ${queries.length} queries of the dashboard`] : [stdout, stderr];
      return { lines, tally: { passed: Number(isPassed), failed: Number(!isPassed), skipped: 0 } };
    } finally {
      await rm(work, { recursive: true });
    }
  },
};

/** Builds the program with promtool's code for tests of rules, which belongs to its package `main`. */
function buildProgram(): Promise<void> {
  const inputs = { paths: [cwd], facts: [probe("go", "version") ?? ""] };
  return buildOnce(`${folder}build/promrules-stamp`, inputs, async () => {
    const source = await downloadModule("github.com/prometheus/prometheus", cwd);
    const overlay = `${folder}build/promrules-overlay.json`;
    await mkdir(`${folder}build`, { recursive: true });
    const replace = { [`${cwd}/unittest.go`]: `${source}/cmd/promtool/unittest.go` };
    await writeFile(overlay, JSON.stringify({ Replace: replace }));
    const args = [
      "build",
      "-buildvcs=false",
      "-overlay",
      overlay,
      "-ldflags=-s -w",
      "-o",
      `${binaries}/promrules`,
      ".",
    ];
    await build({ file: "go", args, cwd });
  });
}

/** Reads the queries of the dashboard, with values for Grafana's variables. */
async function readQueries(): Promise<string[]> {
  const dashboard: { panels: { targets?: { expr: string }[] }[] } = JSON.parse(
    await readFile(`${deploy}/grafana/outrigger.json`, "utf8"),
  );
  return dashboard.panels
    .flatMap(({ targets = [] }) => targets)
    .map(({ expr }) => expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, "any"));
}
