/** An MCP server with one tool that has a side effect: it counts how often each job was worked on. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** How long the tool takes, in milliseconds: long enough to be interrupted. */
const WORK_MS = 100;

/** A running server. */
export interface WorkServer {
  /** Origin, for the list of allowed addresses. */
  readonly origin: string;
  /** Address of the server for a job. */
  getUrl(job: string): string;
  countExecutions(job: string): number;
  close(): void;
}

interface Rpc {
  readonly id?: number | string;
  readonly method: string;
}

const TOOL = {
  name: "work",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
};

/** Starts a server. The path of a request is the job. */
export async function startWorkServer(): Promise<WorkServer> {
  const executions = new Map<string, number>();
  const answer = async (job: string, { method }: Rpc): Promise<unknown> => {
    switch (method) {
      case "initialize":
        return {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "work", version: "1" },
        };
      case "tools/list":
        return { tools: [TOOL] };
      case "tools/call":
        executions.set(job, (executions.get(job) ?? 0) + 1);
        await sleep(WORK_MS);
        return { content: [{ type: "text", text: "done" }] };
      default:
        return undefined;
    }
  };
  const server = createServer(async (request, response) => {
    response.on("error", () => {});
    const body = await text(request).catch(() => "");
    if (request.method !== "POST" || body === "") return void response.writeHead(405).end();
    const rpc: Rpc = JSON.parse(body);
    if (rpc.id === undefined) return void response.writeHead(202).end();
    const result = await answer((request.url ?? "").slice(1), rpc);
    if (result === undefined) return void response.writeHead(400).end("unknown method");
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    getUrl: (job) => `${origin}/${job}`,
    countExecutions: (job) => executions.get(job) ?? 0,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
