import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { runInTurn, yieldTurn } from "../../core/loop-turns.ts";
import type { EndpointSocket } from "../../endpoints/endpoint.ts";
import { errorOfRefusal } from "../endpoints/request.ts";
import { FlushedResponse, SLICE_BYTES } from "../http/flushed-response.ts";
import { PeerClosedError } from "../http/peer-closed-error.ts";
import type { UnsentResponses } from "../http/unsent-responses.ts";
import type { Limits } from "../options.ts";
import { countJsonElements, isArgumentsKey } from "../requests/json-element-counter.ts";
import type { RequestShare } from "../requests/request-memory.ts";
import { closeCodes } from "./close-codes.ts";

/** Options of a channel. */
export interface SocketChannelOptions {
  readonly socket: WebSocket;
  /** The connection below it. */
  readonly connection: Duplex;
  readonly limits: Limits;
  readonly unsent: UnsentResponses;
  /** The share of the request memory that messages use. */
  readonly share: RequestShare;
  /** Counts a further request of the caller. Throws SDKError if it is over a limit. */
  readonly admit: () => void;
  /** Called once when the caller has disconnected. */
  readonly onClose: () => void;
}

/** Maximum number of messages that wait while another one is answered. */
const MAX_WAITING = 16;

/** Bytes around the content of a small frame of a client. */
const FRAME_HEADER_BYTES = 6;

/** How long a peer whose bytes are discarded may take to close its side, in milliseconds. */
const CLOSING_MS = 1000;

/** A message that has arrived. */
interface Arrived {
  readonly content: Buffer;
  /** Bytes of the request memory that it uses. */
  readonly bytes: number;
}

interface Ending {
  readonly code: number;
  readonly reason: string;
}

/**
 * The messages of a WebSocket, one after the other. It continues to read while a message is answered, to notice when
 * the caller disconnects; the waiting messages are limited.
 */
export class SocketChannel extends FlushedResponse implements EndpointSocket {
  readonly messages: AsyncIterable<Uint8Array>;
  readonly #options: SocketChannelOptions;
  readonly #waiting: Arrived[] = [];
  #wake: (() => void) | undefined;
  /** Bytes of a message that is not complete. */
  #arriving = 0;
  #lastByteAt = performance.now();
  /** Bytes of the message that is being answered. */
  #answering = 0;
  /** Since when no message is being answered. Undefined while one is. */
  #idleSince: number | undefined = performance.now();
  #isAlive = true;
  #ending: Ending | undefined;
  /** Whether the request that was counted at the handshake is used up. */
  #hasBegun = false;

  constructor(options: SocketChannelOptions) {
    super(options.unsent);
    this.#options = options;
    this.messages = { [Symbol.asyncIterator]: () => ({ next: () => this.#next() }) };
    const { socket, connection } = options;
    // Before the listener of the library, which may already have the message when it returns.
    connection.prependListener("data", (chunk: Buffer) => this.#countBytes(chunk.byteLength));
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    socket.on("ping", (data) => this.#give(data.byteLength + FRAME_HEADER_BYTES));
    socket.on("pong", (data) => {
      this.#isAlive = true;
      this.#give(data.byteLength + FRAME_HEADER_BYTES);
    });
    // The library closes the connection itself, with the right status.
    socket.on("error", () => {});
    socket.once("close", () => runInTurn(() => this.#end()));
  }

  /** Whether the connection has ended. */
  get isClosed(): boolean {
    return this.disconnected;
  }

  admit(message: Uint8Array): void {
    const { limits, share, admit } = this.#options;
    if (this.#hasBegun) admit();
    this.#hasBegun = true;
    try {
      const elements = countJsonElements(message, limits.maxMessageElements, isArgumentsKey);
      this.#answering += share.takeElements(elements);
    } catch (thrown) {
      throw errorOfRefusal(thrown);
    }
  }

  reserve(bytes: number): void {
    try {
      this.#options.share.take(bytes);
      this.#answering += bytes;
    } catch (thrown) {
      throw errorOfRefusal(thrown);
    }
  }

  async send(text: string): Promise<void> {
    const { socket } = this.#options;
    const isSmall = text.length <= SLICE_BYTES;
    const content = isSmall ? text : Buffer.from(text);
    this.#checkOpen();
    // A large message leaves in fragments: whether the peer reads shows by those that it takes.
    const last =
      typeof content === "string"
        ? content
        : await this.writeSlices(content, (slice, onFlush) => {
            this.#checkOpen();
            socket.send(slice, { binary: false, fin: false }, onFlush);
          });
    this.#checkOpen();
    this.beginWrite(last.length);
    socket.send(last, { binary: false }, this.onFlush);
    return this.flushed();
  }

  #checkOpen(): void {
    const { socket } = this.#options;
    if (this.disconnected || socket.readyState !== socket.OPEN) throw new PeerClosedError();
  }

  close(code: number, reason: string): void {
    // Waiting messages are no longer answered.
    this.#ending ??= { code, reason };
    this.#options.socket.close(code, reason);
    this.#wake?.();
  }

  cutOff(): void {
    this.#options.socket.terminate();
  }

  /** Closes the socket when the current message has been answered, or at once if there is none. */
  finish(code: number, reason: string): void {
    this.#ending ??= { code, reason };
    this.#wake?.();
  }

  /** To be called at each interval: checks whether the peer responds, and whether it is idle or too slow. */
  check(now: number): void {
    const { socket, limits } = this.#options;
    if (!this.#isAlive) return this.cutOff();
    this.#isAlive = false;
    if (socket.readyState === socket.OPEN) socket.ping();
    if (this.#arriving > 0 && now - this.#lastByteAt > limits.stallTimeoutMs) {
      this.close(closeCodes.policyViolation, "the rest of a message did not arrive");
    }
    if (this.#idleSince !== undefined && now - this.#idleSince > limits.maxConnectionIdleMs) {
      this.finish(closeCodes.goingAway, "the connection was idle");
    }
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    this.#settle();
    if (this.#waiting.length === 0 && !this.disconnected && this.#ending === undefined) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
      // Hundreds of sockets may get a message in one turn.
      const turn = yieldTurn();
      if (turn !== undefined) await turn;
    }
    if (this.#ending !== undefined) this.close(this.#ending.code, this.#ending.reason);
    const next = this.disconnected || this.#ending !== undefined ? undefined : this.#waiting.shift();
    if (next === undefined) return { done: true, value: undefined };
    this.#idleSince = undefined;
    this.#answering = next.bytes;
    return { done: false, value: next.content };
  }

  /** Ends the accounting of the answered message. */
  #settle(): void {
    const { share } = this.#options;
    share.give(this.#answering);
    share.memory.clear();
    this.#answering = 0;
    this.#idleSince = performance.now();
  }

  #countBytes(bytes: number): void {
    this.#lastByteAt = performance.now();
    try {
      this.#options.share.take(bytes);
      this.#arriving += bytes;
    } catch {
      this.close(closeCodes.tryAgainLater, "there is no memory for the message");
      discardRest(this.#options);
    }
  }

  #give(bytes: number): void {
    const given = Math.min(bytes, this.#arriving);
    this.#arriving -= given;
    this.#options.share.give(given);
  }

  #receive(data: RawData, isBinary: boolean): void {
    const bytes = this.#arriving;
    this.#arriving = 0;
    if (isBinary) return this.#refuse(bytes, closeCodes.unsupportedData, "expected messages of text");
    if (this.#waiting.length >= MAX_WAITING) {
      return this.#refuse(bytes, closeCodes.policyViolation, `more than ${MAX_WAITING} messages wait`);
    }
    this.#waiting.push({ content: toBuffer(data), bytes });
    this.#wake?.();
  }

  #refuse(bytes: number, code: number, reason: string): void {
    this.#options.share.give(bytes);
    this.close(code, reason);
  }

  #end(): void {
    this.disconnect();
    this.#waiting.length = 0;
    this.#wake?.();
    this.#options.onClose();
  }
}

/**
 * Discards what else comes. The library would go on to buffer it until the peer has answered the closing of the
 * connection, for which a peer that reads gets a moment.
 */
export function discardRest({
  socket,
  connection,
}: Pick<SocketChannelOptions, "socket" | "connection">): void {
  connection.removeAllListeners("data");
  connection.on("data", () => {}).resume();
  setTimeout(() => socket.terminate(), CLOSING_MS).unref();
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
