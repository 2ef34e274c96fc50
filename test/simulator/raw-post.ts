import { connect } from "node:net";
import type { Simulator } from "../../simulator/index.ts";

/** The bytes that were received over a socket. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: string;
  /** The writes of the body: the chunks of HTTP/1.1's chunked coding. */
  readonly chunks: readonly Buffer[];
  readonly body: string;
  readonly bodyBytes: number;
  /** Whether the body ended cleanly, with the empty chunk. */
  readonly complete: boolean;
  /** Whether the simulator closed the socket. */
  readonly closed: boolean;
}

/** How to read. */
export interface RawOptions {
  /** Milliseconds without a byte, once there was one, after which the reader closes. Defaults to 5000. */
  readonly quietMs?: number;
  /** The reader closes when this holds for the text that has arrived. */
  readonly isEnough?: (text: string) => boolean;
  /** Path and query. Defaults to `/v1/responses`. */
  readonly path?: string;
  /** Additional headers, by name. */
  readonly headers?: Readonly<Record<string, string>>;
}

const MAX_QUIET_MS = 5000;

/** Posts a body over a new socket and reads until the socket is closed. */
export async function rawPost(
  simulator: Simulator,
  body: object,
  options: RawOptions = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(simulator.url);
  const { path = "/v1/responses", headers = {}, quietMs = MAX_QUIET_MS, isEnough = () => false } = options;
  const text = JSON.stringify(body);
  const further = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(Number(port), hostname);
  const received: Buffer[] = [];
  let closed = true;
  const leave = () => {
    closed = false;
    socket.destroy();
  };
  let timer = setTimeout(leave, MAX_QUIET_MS);
  socket.on("data", (bytes) => {
    received.push(bytes);
    clearTimeout(timer);
    timer = setTimeout(leave, quietMs);
    if (isEnough(Buffer.concat(received).toString("utf8"))) leave();
  });
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer k\r\nconnection: close\r\n${further.join("")}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  await new Promise<void>((resolve) => socket.on("close", () => resolve()).on("error", () => {}));
  clearTimeout(timer);
  return { ...takeApart(Buffer.concat(received)), closed };
}

function takeApart(bytes: Buffer): Omit<RawAnswer, "closed"> {
  const end = bytes.indexOf("\r\n\r\n");
  const headers = bytes.subarray(0, Math.max(end, 0)).toString("latin1");
  const chunks: Buffer[] = [];
  let at = end + 4;
  let complete = false;
  while (end >= 0 && !complete && at < bytes.length) {
    const line = bytes.indexOf("\r\n", at);
    if (line === -1) break;
    const size = Number.parseInt(bytes.subarray(at, line).toString("latin1"), 16);
    complete = size === 0;
    if (!complete) chunks.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  const body = Buffer.concat(chunks);
  const status = Number(headers.split(" ")[1] ?? 0);
  return { status, headers, chunks, body: body.toString("utf8"), bodyBytes: body.length, complete };
}
