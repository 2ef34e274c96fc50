/** Servers on 127.0.0.1 for the tests of the kit: real sockets, closed after each test. */
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createHttpsServer, type ServerOptions } from "node:https";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { Worker } from "node:worker_threads";
import { onTestFinished } from "vitest";
import {
  createHttpTransport,
  type HttpTransport,
  type HttpTransportOptions,
} from "../../../src/kit/http/transport.ts";

/** A server and what it saw. */
export interface TestServer {
  readonly port: number;
  /** All connections that were ever accepted, in order. */
  readonly sockets: Socket[];
}

/** Takes a CONNECT of a client. */
type TunnelListener = (request: IncomingMessage, socket: Socket) => void;

/** Serves HTTP/1.1. */
export function serveHttp(listener: RequestListener, onConnect?: TunnelListener): Promise<TestServer> {
  const server = createHttpServer(listener);
  if (onConnect !== undefined) server.on("connect", onConnect);
  return listen(server);
}

/** Serves HTTP/1.1 over TLS. */
export function serveHttps(identity: ServerOptions, listener: RequestListener): Promise<TestServer> {
  return listen(createHttpsServer(identity, listener));
}

/** Serves whatever the callback writes into each connection. */
export function serveTcp(onSocket: (socket: Socket) => void): Promise<TestServer> {
  return listen(createTcpServer(onSocket));
}

async function listen(server: Server): Promise<TestServer> {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** A port of 127.0.0.1 on which connecting hangs: its backlog is full and nothing accepts. */
export async function hangingPort(): Promise<number> {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `const { parentPort, workerData } = require("node:worker_threads");
     const server = require("node:net").createServer();
     server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       setImmediate(() => Atomics.wait(workerData, 0, 0));
     });`,
    { eval: true, workerData: gate },
  );
  const port = await new Promise<number>((resolve) => worker.once("message", resolve));
  const fillers = Array.from({ length: 4 }, () => connect(port, "127.0.0.1").on("error", () => undefined));
  await new Promise((resolve) => setTimeout(resolve, 100));
  onTestFinished(async () => {
    for (const filler of fillers) filler.destroy();
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    await worker.terminate();
  });
  return port;
}

/** A transport that is closed after the test. The environment of the tests names no proxy. */
export function openTransport(options: Partial<HttpTransportOptions> & { port?: number }): HttpTransport {
  const { port, ...rest } = options;
  const transport = createHttpTransport({ baseUrl: `http://127.0.0.1:${port}`, environment: {}, ...rest });
  onTestFinished(() => transport.close());
  return transport;
}

/** Resolves when the condition holds. Throws after ten seconds. */
export async function waitUntil(condition: () => boolean): Promise<void> {
  const end = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`still not so after ten seconds: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Waits, at least for some turns of the event loop, in which sockets are read and closed. */
export async function pause(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The error that a promise rejects with. */
export async function getError(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("expected an error");
}
