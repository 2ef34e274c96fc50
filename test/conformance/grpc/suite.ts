import { createService } from "../../../src/server/calls/service.ts";
import { run } from "../../clients/runner/process.ts";
import { sum, type Verdict } from "../../clients/runner/report.ts";
import { TestService } from "../gen/grpc/testing/test_pb.ts";
import { HOST, startForeignServer } from "../server.ts";
import { binaries, folder, loopback, type Suite } from "../suite.ts";
import { createTestService } from "./test-service.ts";

/**
 * The cases of grpc-go's interop client that a server without TLS can pass. The cases for credentials, load balancing
 * (pick_first_unary) and load reports (orca_*) are left out: they need services of Google or xDS.
 */
const CASES: readonly string[] = [
  "empty_unary",
  "large_unary",
  "client_streaming",
  "server_streaming",
  "ping_pong",
  "empty_stream",
  "timeout_on_sleeping_server",
  "cancel_after_begin",
  "cancel_after_first_response",
  "status_code_and_message",
  "special_status_message",
  "custom_metadata",
  "unimplemented_method",
  "unimplemented_service",
  "rpc_soak",
  "channel_soak",
];

/** The interop client of grpc-go. */
export const grpcSuite: Suite = {
  name: "grpc-interop",
  async run() {
    const server = await startForeignServer([createService(TestService, createTestService())]);
    try {
      const verdicts: Verdict[] = [];
      for (const name of CASES) verdicts.push(await runCase(name, server.port));
      return {
        tally: sum(verdicts.map(({ tally }) => tally)),
        lines: verdicts.flatMap(({ lines }) => lines),
      };
    } finally {
      await server.close();
    }
  },
};

const CASE_TIMEOUT_MS = 30_000;

async function runCase(name: string, port: number): Promise<Verdict> {
  const args = [`--server_host=${HOST}`, `--server_port=${port}`, `--test_case=${name}`];
  const command = { file: `${binaries}/client`, args, cwd: folder, env: loopback };
  const { code, stderr } = await run(command, CASE_TIMEOUT_MS);
  const passed = code === 0;
  return {
    tally: { passed: Number(passed), failed: Number(!passed), skipped: 0 },
    lines: passed ? [`ok ${name}`] : [`FAIL ${name}: ${stderr.trim() || `ended with ${code ?? "a signal"}`}`],
  };
}
