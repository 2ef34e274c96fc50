/**
 * A provider with a fault. It takes each answer from the simulator and writes it to the socket byte by byte as the
 * fault requires, so that it can send what no HTTP library would.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { startSimulator } from "../../simulator/index.ts";

/** How far an answer goes before its fault. */
export type Phase = "before the headers" | "after the headers" | "in the middle" | "before the end marker";

/** An answer of the simulator, in pieces between which a fault can be placed. */
export interface PlannedAnswer {
  /** Status line after the version. */
  readonly status: string;
  readonly isStream: boolean;
  readonly contentType: string;
  /** The events of a stream; the two halves of a whole answer. */
  readonly pieces: readonly string[];
  /** How many of the last pieces complete the answer. */
  readonly endPieces: number;
}

/** Writes an answer with its fault to the provider's socket. */
export type FaultWriter = (socket: Socket, answer: PlannedAnswer) => void;

/** A running provider with faults. */
export interface FaultServer {
  readonly url: string;
  /** Sets how later answers are written. */
  begin(write: FaultWriter): void;
  /** Open connections on which an answer was written since `begin`. */
  openConnections(): number;
  close(): Promise<void>;
}

/** Starts a provider with faults in front of a simulator. */
export async function startFaultServer(): Promise<FaultServer> {
  const simulator = await startSimulator();
  const sockets = new Set<Socket>();
  let used = new Set<Socket>();
  let write: FaultWriter = writeWhole;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    receive(socket, async (request) => {
      const answer = await readPlan(await forward(simulator.url, request));
      used.add(socket);
      if (!socket.destroyed) write(socket, answer);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begin(next) {
      write = next;
      used = new Set();
    },
    openConnections: () => [...used].filter((socket) => sockets.has(socket)).length,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await simulator.close();
    },
  };
}

interface RawRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Reads requests with a content length, one after the other. */
function receive(socket: Socket, onRequest: (request: RawRequest) => Promise<void>): void {
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text;
    for (let end = received.indexOf("\r\n\r\n"); end >= 0; end = received.indexOf("\r\n\r\n")) {
      const [line = "", ...lines] = received.slice(0, end).split("\r\n");
      const headers = Object.fromEntries(lines.map((each) => each.toLowerCase().split(/: ?(.*)/s)));
      const bodyEnd = end + 4 + Number(headers["content-length"] ?? 0);
      if (received.length < bodyEnd) return;
      const body = Buffer.from(received.slice(end + 4, bodyEnd), "latin1").toString();
      received = received.slice(bodyEnd);
      void onRequest({ path: line.split(" ")[1] ?? "/", headers, body });
    }
  });
}

async function forward(url: string, { path, headers, body }: RawRequest): Promise<Response> {
  const { authorization, "x-api-key": key, "x-goog-api-key": googleKey, ...others } = headers;
  const kept = { authorization, "x-api-key": key, "x-goog-api-key": googleKey };
  const set = Object.entries(kept).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const version = others["anthropic-version"];
  return fetch(url + path, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      ...Object.fromEntries(set),
      ...(version === undefined ? {} : { "anthropic-version": version }),
    },
  });
}

async function readPlan(response: Response): Promise<PlannedAnswer> {
  const contentType = response.headers.get("content-type") ?? "";
  const text = await response.text();
  const status = `${response.status} X`;
  if (contentType.includes("json")) {
    const half = Math.floor(text.length / 2);
    return {
      status,
      isStream: false,
      contentType,
      pieces: [text.slice(0, half), text.slice(half)],
      endPieces: 1,
    };
  }
  const pieces = text.split(/(?<=\n\n|\r\n\r\n)/);
  // Chat Completions end with the chunk that has the finish reason; later chunks may be missing.
  const finish = pieces.findIndex((piece) => /"finish_reason":"/.test(piece));
  return { status, isStream: true, contentType, pieces, endPieces: finish < 0 ? 1 : pieces.length - finish };
}

/** The pieces before a phase. */
export function piecesBefore(phase: Phase, { pieces, endPieces, isStream }: PlannedAnswer): string[] {
  if (phase === "before the headers" || phase === "after the headers") return [];
  const middle = isStream ? Math.ceil(pieces.length * 0.6) : 1;
  return pieces.slice(
    0,
    phase === "in the middle" ? Math.min(middle, pieces.length - endPieces) : -endPieces,
  );
}

/** Writes the head of an answer whose body is chunked. */
export function writeHead(socket: Socket, { contentType, status }: PlannedAnswer, headers = ""): void {
  const head = `HTTP/1.1 ${status}\r\ncontent-type: ${contentType}\r\n${headers}`;
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
}

/** Writes a piece of a chunked body. */
export function writePiece(socket: Socket, piece: string | Buffer): void {
  const bytes = Buffer.from(piece);
  if (bytes.byteLength === 0) return;
  socket.write(`${bytes.byteLength.toString(16)}\r\n`);
  socket.write(bytes);
  socket.write("\r\n");
}

/** Ends a chunked body. */
export function writeEnd(socket: Socket): void {
  socket.write("0\r\n\r\n");
}

/** Writes an answer without any fault, except further headers or an encoded body. */
export function writeWhole(
  socket: Socket,
  answer: PlannedAnswer,
  headers = "",
  encode: (text: string) => string | Buffer = (text) => text,
): void {
  writeHead(socket, answer, headers);
  writePiece(socket, encode(answer.pieces.join("")));
  writeEnd(socket);
}

/** Writes an answer that failed, with its length. */
export function writeFailure(socket: Socket, status: string, headers: string, body: string | Buffer): void {
  const bytes = Buffer.from(body);
  socket.write(`HTTP/1.1 ${status}\r\n${headers}content-length: ${bytes.byteLength}\r\n\r\n`);
  socket.write(bytes);
}

/** The gzip of a text. */
export function gzip(text: string): Buffer {
  return gzipSync(text);
}
