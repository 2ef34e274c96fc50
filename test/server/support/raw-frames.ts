/** HTTP/2 frame by frame (RFC 9113 §4.1), for sequences that Node's client does not send. */
import net from "node:net";

/** A received frame. */
export interface Http2Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** Types of frames. */
export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7 } as const;

/** The flag of a frame that is its side's last. */
export const END_STREAM = 0x1;

/** The flag of a HEADERS frame that holds the whole block. */
export const END_HEADERS = 0x4;
const ACK = 0x1;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** Writes bytes. Resolves when the socket takes more, or is closed. */
export function writeAll(socket: net.Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      socket.off("close", done);
      resolve();
    };
    socket.once("close", done);
    socket.write(bytes, done);
  });
}

/** A connection that has sent only the preface and empty settings. */
export class FrameConnection {
  readonly frames: Http2Frame[] = [];
  readonly closed: Promise<void>;
  readonly #socket: net.Socket;
  #unread = Buffer.alloc(0);

  /** @param url Of the server, like `http://127.0.0.1:6190`. */
  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#socket = net.connect(Number(port), hostname).on("error", () => {});
    this.closed = new Promise((resolve) => this.#socket.once("close", () => resolve()));
    this.#socket.on("data", (chunk) => this.#read(chunk));
    this.#socket.write(PREFACE);
    this.send(FRAME.settings, 0, 0, Buffer.alloc(0));
  }

  /** Sends a frame; its length may be wrong. */
  send(type: number, flags: number, streamId: number, payload: Buffer, length = payload.byteLength): void {
    const header = Buffer.alloc(9);
    header.writeUIntBE(length, 0, 3);
    header.writeUInt8(type, 3);
    header.writeUInt8(flags, 4);
    header.writeUInt32BE(streamId, 5);
    this.#socket.write(Buffer.concat([header, payload]));
  }

  /** Sends whole frames. Resolves when the socket takes more, or is closed. */
  sendRaw(frames: Buffer): Promise<void> {
    return writeAll(this.#socket, frames);
  }

  /** Begins a call. */
  call(streamId: number, path: string, headers: Readonly<Record<string, string>> = {}): void {
    const fields = {
      ":method": "POST",
      ":scheme": "http",
      ":path": path,
      ":authority": "localhost",
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    };
    this.send(FRAME.headers, END_HEADERS, streamId, Buffer.concat(Object.entries(fields).map(literalField)));
  }

  /** The frames of a stream that have arrived so far. */
  of(streamId: number): Http2Frame[] {
    return this.frames.filter((frame) => frame.streamId === streamId);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    while (this.#unread.byteLength >= 9) {
      const end = 9 + this.#unread.readUIntBE(0, 3);
      if (this.#unread.byteLength < end) return;
      this.#take(this.#unread.subarray(0, end));
      this.#unread = this.#unread.subarray(end);
    }
  }

  #take(bytes: Buffer): void {
    const frame = {
      type: bytes.readUInt8(3),
      flags: bytes.readUInt8(4),
      streamId: bytes.readUInt32BE(5),
      payload: bytes.subarray(9),
    };
    this.frames.push(frame);
    const asks = frame.type === FRAME.settings || frame.type === FRAME.ping;
    if (asks && (frame.flags & ACK) === 0) {
      this.send(frame.type, ACK, 0, frame.type === FRAME.ping ? frame.payload : Buffer.alloc(0));
    }
  }
}

/** A header that is not indexed, without Huffman (RFC 7541 §6.2.2). */
export function literalField([name, value]: [string, string]): Buffer {
  return Buffer.concat([Buffer.from([0]), literalString(name), literalString(value)]);
}

function literalString(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([prefixedInteger(bytes.byteLength), bytes]);
}

/** A length of 7 bits, and more bytes if it does not fit (RFC 7541 §5.1). */
function prefixedInteger(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
