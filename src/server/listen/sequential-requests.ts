import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { getParserState, interceptReading } from "../internals/node-http.ts";
import { TurnReader } from "./turn-reader.ts";

/**
 * Serves the requests of an HTTP/1.1 connection one after the other. Requests that a client sends before its previous
 * response (pipelining) wait unparsed in the socket, which reads no more than its buffer holds. Node alone would parse
 * and serve all requests of a read at once: thousands of the smallest fit into its 64 KiB.
 * @param socket A connection of an HTTP/1.1 server of Node.
 */
export function serveSequentially(socket: Socket): void {
  new SequentialRequests(socket);
}

/** The request in progress. */
interface Progress {
  readonly request: IncomingMessage;
  readonly body: BodyLength;
  isAnswered: boolean;
}

class SequentialRequests {
  readonly #socket: Socket;
  readonly #interception: ReturnType<typeof interceptReading>;
  readonly #reader: TurnReader;
  readonly #headers = new HeadersEnd();
  #progress: Progress | undefined;
  #isHolding = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#reader = new TurnReader(socket, this.#read);
    this.#interception = interceptReading(socket, this.#reader.read.bind(this.#reader));
  }

  /** Parses bytes up to the end of the next request. Keeps the bytes after it. */
  readonly #read = (bytes: Buffer): void => {
    let rest = bytes;
    while (rest.length > 0) {
      const { isPaused } = getParserState(this.#socket);
      if (isPaused || this.#progress?.request.complete) return this.#hold(rest);
      const length = (this.#progress?.body ?? this.#headers).take(rest);
      this.#interception.parse(rest.subarray(0, length));
      rest = rest.subarray(length);
      if (this.#socket.destroyed) return;
      if (!getParserState(this.#socket).isParsing) return this.#leave(rest);
      this.#noteProgress();
    }
  };

  #noteProgress(): void {
    const { response } = getParserState(this.#socket);
    if (this.#progress === undefined && response !== undefined) {
      const { req: request } = response;
      this.#progress = { request, body: createBodyLength(request.headers), isAnswered: false };
      // Emitted also after a response that Node itself writes, and when its last bytes have left.
      response.once("finish", this.#noteAnswer);
    }
    this.#endProgress();
  }

  readonly #noteAnswer = (): void => {
    if (this.#progress !== undefined) this.#progress.isAnswered = true;
    this.#endProgress();
    if (this.#isHolding && this.#progress === undefined) setImmediate(() => this.#readOn());
  };

  /** Ends a request when its body has been read and its response written, in either order. */
  #endProgress(): void {
    if (this.#progress?.isAnswered && this.#progress.request.complete) this.#progress = undefined;
  }

  #hold(rest: Buffer): void {
    this.#isHolding = true;
    this.#socket.pause();
    this.#socket.unshift(rest);
  }

  /** Continues in another turn of the event loop, so that a client with many requests does not delay the others. */
  #readOn(): void {
    this.#isHolding = false;
    this.#socket.resume();
  }

  /** Ends the interception after an upgrade: the bytes after the request belong to the new protocol. */
  #leave(rest: Buffer): void {
    this.#interception.end();
    this.#reader.stop();
    if (rest.length > 0) this.#socket.unshift(rest);
  }
}

const END_OF_HEADERS = "\n\r\n";

/** Finds the end of a request's headers in the bytes of its connection. Node's parser accepts no other line breaks. */
class HeadersEnd {
  /** The last bytes so far, which may begin the end of the headers. */
  #tail: Buffer = Buffer.alloc(0);

  take(bytes: Buffer): number {
    const tail = this.#tail;
    const joined = tail.length === 0 ? bytes : Buffer.concat([tail, bytes]);
    const found = joined.indexOf(END_OF_HEADERS);
    const end = found === -1 ? joined.length : found + END_OF_HEADERS.length;
    this.#tail = found === -1 ? Buffer.from(joined.subarray(1 - END_OF_HEADERS.length)) : Buffer.alloc(0);
    return end - tail.length;
  }
}

/** Finds the end of a request's body in the bytes of its connection. */
interface BodyLength {
  /** Returns how many of the next bytes belong to the body, at most their number. */
  take(bytes: Uint8Array): number;
}

/** Finds the end of the body that the headers of an HTTP/1.1 request announce. Node's parser checks the framing. */
function createBodyLength(headers: IncomingHttpHeaders): BodyLength {
  if (headers["transfer-encoding"] !== undefined) return new ChunkedBody();
  return new CountedBody(Number(headers["content-length"] ?? 0));
}

class CountedBody implements BodyLength {
  #left: number;

  constructor(length: number) {
    this.#left = length;
  }

  take({ length }: Uint8Array): number {
    const taken = Math.min(length, this.#left);
    this.#left -= taken;
    return taken;
  }
}

const LF = 0x0a;
const CR = 0x0d;

/** RFC 9112 §7.1: chunks with their sizes, a chunk of size 0, and trailer lines up to an empty one. */
class ChunkedBody implements BodyLength {
  /** Bytes of the current chunk that are still to come, its line break included. */
  #left = 0;
  #size = 0;
  #isSize = true;
  /** Whether the line has no other bytes than CR so far. */
  #isEmpty = true;
  #isTrailer = false;
  #isOver = false;

  take(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && !this.#isOver) {
      const skipped = Math.min(this.#left, bytes.length - at);
      this.#left -= skipped;
      at += skipped;
      if (at < bytes.length) at = this.#readLine(bytes, at);
    }
    return at;
  }

  /** Reads a line as far as it has come, from an index on. Returns the index after it. */
  #readLine(bytes: Uint8Array, start: number): number {
    const found = bytes.indexOf(LF, start);
    const end = found === -1 ? bytes.length : found;
    let at = start;
    for (; this.#isSize && at < end; at += 1) this.#readDigit(bytes[at] ?? CR);
    // The rest of the line may be long: a chunk extension, or a trailer.
    if (at < end && (end - at > 1 || bytes[at] !== CR)) this.#isEmpty = false;
    if (found === -1) return end;
    this.#endLine();
    return found + 1;
  }

  #readDigit(byte: number): void {
    if (byte === CR) return;
    this.#isEmpty = false;
    const digit = toDigit(byte);
    if (digit === undefined) this.#isSize = false;
    else this.#size = this.#size * 16 + digit;
  }

  #endLine(): void {
    if (this.#isTrailer) this.#isOver = this.#isEmpty;
    else if (this.#size === 0) this.#isTrailer = true;
    else this.#left = this.#size + 2;
    this.#size = 0;
    this.#isSize = !this.#isTrailer;
    this.#isEmpty = true;
  }
}

/** Returns the value of a hexadecimal digit; undefined for another byte. */
function toDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}
