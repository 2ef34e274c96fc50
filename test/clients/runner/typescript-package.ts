import { buildOnce } from "./build-cache.ts";
import { root, type TestClient } from "./client.ts";
import { build } from "./process.ts";

const folder = `${root}clients/typescript`;

/** The package in clients/typescript, compiled as it is published, with its examples and checks. */
export const typescriptPackage: TestClient = {
  name: "typescript-package",
  checks: [
    ...[
      "first_call",
      "stream",
      "chat",
      "tools",
      "stream_tools",
      "object",
      "stream_object",
      "runs",
      "threads",
      "errors",
    ].map((example) => `example_${example}`),
    "error_class",
    "field_violations",
    "no_sidecar",
    "late_sidecar",
    "sidecar_that_returns",
    "lost_connection",
    "resumed_events",
    "long_outage",
    "busy_sidecar",
    "events_without_a_sidecar",
    "left_events",
    "failed_run",
    "failed_run_of_the_sidecar",
    "cancelled_run",
    "run_with_tools",
    "listed_runs",
    "raw_answer",
    "catalog",
    "embeddings",
    "call_info",
    "interceptors",
    "threads",
    "thread_messages",
    "thread_of_runs",
    "thread_violations",
    "wrong_address",
    "closed_client",
    "access_key",
    "tls",
    "cut_stream",
    "leaving_a_stream",
    "many_calls_at_once",
    "failing_tool",
    "slow_tool",
    "rounds",
    "loop_on_the_sidecar",
    "loop_in_the_program",
    "repaired_call",
    "cancelled_tool",
    "closing_a_silent_stream",
    "closing_while_a_tool_runs",
    "loop_violations",
    "retries",
    "failed_generation",
    "failed_loop",
    "aborted_loop",
    "no_object",
  ],
  missing: () => undefined,
  async build() {
    const inputs = {
      paths: [`${folder}/src`, `${folder}/tsconfig.json`, `${root}src`],
      facts: [process.version],
    };
    await buildOnce(`${folder}/dist/stamp`, inputs, () =>
      build({ file: `${root}node_modules/.bin/tsc`, args: ["-p", "tsconfig.json"], cwd: folder }),
    );
    return { file: process.execPath, args: ["test/main.ts"], cwd: folder };
  },
};
