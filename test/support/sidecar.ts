/** A sidecar in a separate process, with runs that are kept. */
import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { RunService } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { ThreadService } from "../../src/gen/outrigger/v1/thread_service_pb.ts";
import { type Outrigger, spawnOutrigger } from "../cli/support/spawn-outrigger.ts";

/** A sidecar that serves. */
export interface Sidecar {
  /** Calls its RunService. */
  readonly runs: Client<typeof RunService>;
  /** Calls its ThreadService. */
  readonly threads: Client<typeof ThreadService>;
  /** Kills it. */
  kill(): Promise<void>;
  /** Ends it as an orchestrator does. Returns its exit code. */
  stop(): Promise<number | NodeJS.Signals | null>;
  /** Returns the log so far. */
  log(): string;
}

/**
 * Starts a sidecar.
 * @param config Path of its configuration file.
 * @param environment Its variables.
 */
export async function startSidecarProcess(
  config: string,
  environment: Record<string, string>,
): Promise<Sidecar> {
  const listen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const outrigger = spawnOutrigger(["serve", "--config", config, ...listen], environment);
  await outrigger.printed(/"msg":"serving"/);
  const [line] = await outrigger.printed(/\{[^\n]*"msg":"listening"\}/);
  const address: string = JSON.parse(line).addresses[0];
  const transport = createGrpcTransport({ baseUrl: `http://${address}` });
  return {
    runs: createClient(RunService, transport),
    threads: createClient(ThreadService, transport),
    kill: () => end(outrigger, "SIGKILL").then(() => undefined),
    stop: () => end(outrigger, "SIGTERM"),
    log: () => outrigger.stdout(),
  };
}

function end(outrigger: Outrigger, signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
  outrigger.child.kill(signal);
  return outrigger.ended;
}
