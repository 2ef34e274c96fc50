import { type Outcome, run } from "../../clients/runner/process.ts";
import type { Verdict } from "../../clients/runner/report.ts";
import { binaries, folder, loopback, type Suite } from "../suite.ts";

/** The conformance suite of Connect, gRPC and gRPC-Web, with Connect's client and with gRPC's client. */
export const connectSuite: Suite = {
  name: "connectconformance",
  async run() {
    const server = [process.execPath, `${folder}connect/server-under-test.ts`];
    const config = `${folder}connect/config.yaml`;
    const options = ["--mode", "server", "--conf", config, "--max-servers", "2"];
    const command = {
      file: `${binaries}/connectconformance`,
      args: [...options, "--", ...server],
      cwd: folder,
      // The suite gives up on a server that starts slowly; the compile cache halves the start-up time.
      env: { ...loopback, NODE_COMPILE_CACHE: `${folder}build/compile-cache` },
    };
    return readSummary(await run(command, TIMEOUT_MS));
  },
};

/** Normally it takes ten seconds. */
const TIMEOUT_MS = 170_000;
const MAX_LINES = 200;

/** Reads the summary at the end of its output: how many cases passed, failed, and could not be run. */
function readSummary({ code, stdout, stderr }: Outcome): Verdict {
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(stdout) ?? [];
  const [, notRun = "0"] = /^Another (\d+) could not be run/m.exec(stdout) ?? [];
  const problems = [...reasonsIn(stdout), ...(stderr === "" ? [] : ["on stderr:", ...stderr.split("\n")])];
  if (passed === undefined || failed === undefined) {
    return {
      tally: { passed: 0, failed: 1, skipped: 0 },
      lines: [`FAIL it ended with ${code ?? "a signal"} and without a summary`, ...problems],
    };
  }
  // Errors that the server logs are failures, even if all responses were correct.
  const bugs = stderr === "" ? 0 : 1;
  const tally = { passed: Number(passed), failed: Number(failed) + Number(notRun) + bugs, skipped: 0 };
  return { tally, lines: [`${passed} of ${Number(passed) + tally.failed} cases passed`, ...problems] };
}

function reasonsIn(stdout: string): string[] {
  const end = stdout.lastIndexOf("Total cases:");
  const lines = stdout.slice(0, Math.max(end, 0)).trim().split("\n");
  return lines.filter((line) => line !== "").slice(0, MAX_LINES);
}
