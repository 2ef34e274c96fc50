/** MCP servers on 127.0.0.1 for tests: the official server package, and servers that misbehave. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerOptions } from "node:https";
import { text } from "node:stream/consumers";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { type McpServer as McpServerMessage, McpServerSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { createMcpTools } from "../../../src/runs/mcp/mcp-tools.ts";
import type { McpSettings } from "../../../src/runs/mcp/settings.ts";
import type { OpenedServerTools, OpenServerToolsOptions } from "../../../src/runs/server-tools.ts";
import { serveHttp, serveHttps, type TestServer } from "../../kit/http/servers.ts";

/** A request that a server received. */
export interface SeenRequest {
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  /** The JSON-RPC method. */
  readonly rpc: string;
}

/** A server with its address. */
export interface RunningServer extends TestServer {
  readonly url: string;
  readonly seen: SeenRequest[];
}

/** Which revisions of the protocol the official server speaks: the current one, or the earlier one with a handshake. */
export type Era = "modern" | "legacy";

/**
 * The official server package, serving what `register` registers.
 * @param identity Settings of TLS. Default: none.
 */
export async function serveOfficial(
  register: (server: McpServer) => void,
  era: Era = "modern",
  identity?: ServerOptions,
): Promise<RunningServer> {
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: "tests", version: "1" });
      register(server);
      return server;
    },
    { keepAliveMs: 0 },
  );
  onTestFinished(() => handler.close());
  return serveMcp(async (request, body, response) => {
    const rpc = JSON.parse(body || "{}");
    // A server of the earlier revision does not know the probe for the current one.
    if (era === "legacy" && rpc.method === "server/discover")
      return void response.writeHead(400).end("Bad Request: Server not initialized");
    const headers = new Headers(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const closed = new AbortController();
    response.on("close", () => closed.abort());
    const init = { method: request.method ?? "", headers, signal: closed.signal };
    const answer = await handler.fetch(
      new Request("http://127.0.0.1/mcp", body === "" ? init : { ...init, body }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    if (answer.body !== null) for await (const chunk of answer.body) response.write(chunk);
    response.end();
  }, identity);
}

type Respond = (request: IncomingMessage, body: string, response: ServerResponse) => void | Promise<void>;

/** A server that answers each HTTP request by a function. */
export async function serveMcp(respond: Respond, identity?: ServerOptions): Promise<RunningServer> {
  const seen: SeenRequest[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const { method = "", headers } = request;
    seen.push({ method, headers, rpc: body === "" ? "" : (JSON.parse(body).method ?? "response") });
    await respond(request, body, response);
  };
  const server = await (identity === undefined ? serveHttp(listener) : serveHttps(identity, listener));
  const scheme = identity === undefined ? "http" : "https";
  return { ...server, url: `${scheme}://127.0.0.1:${server.port}/mcp`, seen };
}

/** A JSON-RPC request. */
export interface Rpc {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly cursor?: string; readonly arguments?: unknown };
}

/** Answers of a hand-written server of the earlier revision, by JSON-RPC method. */
export type RpcAnswers = Readonly<Record<string, (rpc: Rpc, response: ServerResponse) => unknown>>;

const HANDSHAKE: RpcAnswers = {
  initialize: () => ({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "by-hand", version: "1" },
  }),
  "tools/list": () => ({ tools: [toTool("work")] }),
};

/** Serves by hand: the return value of a function is the result, or undefined if the function answers itself. */
export function serveByHand(answers: RpcAnswers): Promise<RunningServer> {
  return serveMcp((_request, body, response) => {
    if (body === "") return void response.writeHead(405).end();
    answerByHand(JSON.parse(body), response, answers);
  });
}

/** Answers one request as a hand-written server does. */
export function answerByHand(rpc: Rpc, response: ServerResponse, answers: RpcAnswers = {}): void {
  if (rpc.id === undefined) return void response.writeHead(202).end();
  if (!Object.hasOwn({ ...HANDSHAKE, ...answers }, rpc.method))
    return void response.writeHead(400).end("unknown method");
  const result = toResult(rpc, response, answers);
  if (result !== undefined) sendJson(response, { jsonrpc: "2.0", id: rpc.id, result });
}

/** Returns the answer of a hand-written server. Undefined: there is no answer, or the function answers itself. */
export function toResult(rpc: Rpc, response: ServerResponse, answers: RpcAnswers): unknown {
  return { ...HANDSHAKE, ...answers }[rpc.method]?.(rpc, response);
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/** A tool as a server lists it. */
export function toTool(name: string): { name: string; description: string; inputSchema: object } {
  return { name, description: `does ${name}`, inputSchema: { type: "object" } };
}

/** Registers a tool that takes any arguments. */
export const anyObject = fromJsonSchema<Record<string, unknown>>({ type: "object" });

/** The settings that allow servers of this machine by their addresses. */
export function allowing(server: TestServer, settings: Partial<McpSettings> = {}): McpSettings {
  const pattern = { protocol: "http:", host: "127.0.0.1", port: String(server.port) };
  return { servers: new Map(), allowedUrls: [pattern], environment: {}, ...settings };
}

/** Returns the description of a server as a caller gives it. */
export function describeServer(
  server: RunningServer,
  fields: MessageInitShape<typeof McpServerSchema> = {},
): McpServerMessage {
  return create(McpServerSchema, { serverLabel: "desk", serverUrl: server.url, ...fields });
}

/** Opens the tools of one server, closed after the test. */
export async function openTools(
  server: RunningServer,
  fields: MessageInitShape<typeof McpServerSchema> = {},
  settings: Partial<McpSettings> = {},
  options: Partial<OpenServerToolsOptions> = {},
): Promise<OpenedServerTools> {
  const tools = createMcpTools(() => allowing(server, settings));
  const signal = new AbortController().signal;
  const opened = await tools.open([describeServer(server, fields)], { signal, ...options });
  onTestFinished(() => opened.close());
  return opened;
}
