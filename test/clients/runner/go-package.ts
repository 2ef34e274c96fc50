import { readdirSync } from "node:fs";
import { root, type TestClient } from "./client.ts";
import { build, probe } from "./process.ts";

const folder = `${root}clients/go`;

/** Tests that have a subtest for each check. All others together are the check `unit`. */
const suite = /^Test(Sidecar|Examples)(\/|$)/;

const sidecarChecks = [
  "complete",
  "stream",
  "generate",
  "stream_generate",
  "object",
  "stream_object",
  "no_object",
  "error_kinds",
  "invalid_request",
  "retries",
  "cut_stream",
  "deadline",
  "provider_state",
  "concurrent_loops",
  "parallel_calls",
  "stream_tools",
  "failing_tool",
  "refusal",
  "invalid_arguments",
  "repaired_call",
  "slow_tool",
  "cancelled_tool",
  "passive_tool",
  "max_tool_rounds",
  "stop_when",
  "limits",
  "failed_generation",
  "runs",
  "failed_run",
  "run_tools",
  "threads",
  "thread_messages",
  "thread_of_runs",
  "parts",
  "raw_answer",
  "catalog",
  "embeddings",
  "tls",
];

const examples = readdirSync(`${folder}/examples`, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

/** The package in clients/go, and its tests. */
export const goPackage: TestClient = {
  name: "go-package",
  checks: [
    "unit",
    ...sidecarChecks.map((check) => `sidecar/${check}`),
    ...["readme", ...examples].map((name) => `examples/${name}`),
  ],
  missing: () => (probe("go", "version") === undefined ? "go" : undefined),
  async build() {
    const unformatted = probe("gofmt", "-l", folder);
    if (unformatted !== "") {
      throw new Error(`gofmt would change ${unformatted ?? "a file, or is missing"}`);
    }
    await build({ file: "go", args: ["vet", "./..."], cwd: folder });
    // Compiles the tests, so that the time limit of a client is for running them.
    await build({ file: "go", args: [...testArguments(), "-run", "^$", "."], cwd: folder });
    return { file: "go", args: [...testArguments(), "-v", ".", "./examples"], cwd: folder };
  },
  translate(outcome) {
    const results = [...outcome.stdout.matchAll(/^ *--- (PASS|FAIL|SKIP): (Test\S+)/gm)].map(
      ([, verdict, name = ""]) => ({ name, passed: verdict === "PASS" }),
    );
    const stdout = [unitLine(results), ...results.map(toLine)].join("\n");
    return { ...outcome, stdout, stderr: `${failuresIn(outcome.stdout)}${outcome.stderr}` };
  },
};

interface Result {
  readonly name: string;
  readonly passed: boolean;
}

/** The race detector needs a C compiler. */
function testArguments(): string[] {
  const hasCompiler = probe("go", "env", "CGO_ENABLED") === "1";
  return ["test", "-count=1", ...(hasCompiler ? ["-race"] : [])];
}

/** The check of all tests outside of the suites: each must pass, and there must be some. */
function unitLine(results: readonly Result[]): string {
  const unit = results.filter(({ name }) => !suite.test(name));
  const failed = unit.filter(({ passed }) => !passed).map(({ name }) => name);
  if (unit.length === 0) return "FAIL unit: no test ran";
  return failed.length === 0 ? "ok unit" : `FAIL unit: ${failed.join(", ")}`;
}

function toLine({ name, passed }: Result): string {
  const check = name.replace(suite, (_match, suiteName: string) => `${suiteName.toLowerCase()}/`);
  return passed ? `ok ${check}` : `FAIL ${check}: see the output below`;
}

/** The output without the tests that passed. */
function failuresIn(output: string): string {
  return output.replaceAll(/^( *--- PASS|=== |PASS$|ok ).*\n/gm, "");
}
