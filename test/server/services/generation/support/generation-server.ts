/** A server whose models follow scripts, behind a real Client. */
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Client } from "../../../../../src/client/client.ts";
import { BadRequestSchema } from "../../../../../src/gen/google/rpc/error_details_pb.ts";
import { ScriptedModel, type Turn } from "../../../../generation/support/scripted-model.ts";
import type { TestServer, TestServerOptions, useTestServers } from "../../../support/test-server.ts";

/** A running server, its model, and a way to call it. */
export interface GenerationServer extends TestServer {
  readonly model: ScriptedModel;
  readonly transport: Transport;
}

/** Starts a server whose model follows turns. */
export async function startGenerationServer(
  servers: ReturnType<typeof useTestServers>,
  turns: readonly Turn[],
  options: TestServerOptions = {},
): Promise<GenerationServer> {
  const model = new ScriptedModel(turns);
  const inference = new Client({ providers: { scripted: model }, fieldPaths: "contract" });
  const server = await servers.start({}, { ...options, inference });
  return { ...server, model, transport: createGrpcTransport({ baseUrl: server.url }) };
}

/** The last line of a call in the log. */
export function lastLine({ log }: TestServer): Record<string, unknown> | undefined {
  return log.findLast((line) => "rpc" in line);
}

/** The fields that a status names as invalid. */
export function getViolations(thrown: unknown): string[] {
  const [bad] = ConnectError.from(thrown).findDetails(BadRequestSchema);
  return (bad?.fieldViolations ?? []).map(({ field }) => field);
}
