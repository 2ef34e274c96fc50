import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../clients/runner/process.ts";
import type { Verdict } from "../../clients/runner/report.ts";
import { HOST, startForeignServer } from "../server.ts";
import { binaries, folder, loopback, type Suite } from "../suite.ts";
import { compare } from "./compare.ts";
import { startPlainServer } from "./plain-server.ts";
import { type CaseResult, readReport } from "./report.ts";

/**
 * Runs h2spec against our listener and against Node's plain HTTP/2 server. Node's failures are
 * not ours to fix; only additional ones count.
 */
export const h2specSuite: Suite = {
  name: "h2spec",
  async run() {
    const servers = await Promise.all([startForeignServer([]), startPlainServer()]);
    const [ours, plain] = servers;
    try {
      const first = await runOn(ours.port, plain.port);
      // On a busy machine, a response may take longer than the two seconds that h2spec waits.
      return first.tally.failed === 0 ? first : await runOn(ours.port, plain.port);
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  },
};

const TIMEOUT_MS = 120_000;

async function runOn(ours: number, plain: number): Promise<Verdict> {
  return compare(...(await Promise.all([resultsOn(ours), resultsOn(plain)])));
}

/** Runs all cases, the strict ones too. */
async function resultsOn(port: number): Promise<readonly CaseResult[]> {
  const reports = await mkdtemp(join(tmpdir(), "h2spec-"));
  const report = join(reports, "junit.xml");
  try {
    const args = ["--strict", "--host", HOST, "--port", String(port), "--junit-report", report];
    await run({ file: `${binaries}/h2spec`, args, cwd: folder, env: loopback }, TIMEOUT_MS);
    return readReport(await readFile(report, "latin1"));
  } finally {
    await rm(reports, { recursive: true, force: true });
  }
}
