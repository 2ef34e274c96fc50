import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { runInTurn, yieldTurn } from "../../core/loop-turns.ts";
import type { EndpointSocket, SocketMessage } from "../../http/endpoint.ts";
import type { Limits } from "../base/limits.ts";
import {
  FlushedResponse,
  PeerClosedError,
  SLICE_BYTES,
  type UnsentResponses,
} from "../http/flushed-response.ts";
import type { CallMemory } from "../requests/request-memory.ts";
import { ReceivedMessage, type ReceivedMessageOptions } from "./received-message.ts";

/** Status codes with which WebSockets are closed (RFC 6455 §7.4.1 and IANA's registry). */
export const closeCodes = {
  /** The server stops, or the connection is too old or was idle for too long. */
  goingAway: 1001,
  /** A message is not text. */
  unsupportedData: 1003,
  /** The caller sends more than the server accepts, or too slowly. */
  policyViolation: 1008,
  /** The server failed. */
  internalError: 1011,
  /** The drain timeout expired while a message was being answered. */
  serviceRestart: 1012,
  /** A limit on memory or calls is reached at the moment. */
  tryAgainLater: 1013,
} as const;

/** Options of a channel. */
export interface SocketChannelOptions
  extends Pick<ReceivedMessageOptions, "share" | "signal" | "createClient"> {
  readonly socket: WebSocket;
  /** The connection below the socket. */
  readonly connection: Duplex;
  readonly limits: Limits;
  readonly unsent: UnsentResponses;
  /** Opens the memory account of one message's responses and of the data that is read to answer it. */
  readonly openMemory: () => CallMemory;
  /** Counts a further request of the caller, like `CheckedRequest.admitAgain`. */
  readonly admit: () => Promise<void> | undefined;
  /** Called when the socket is closing, so that nobody is left to read an answer. May be called several times. */
  readonly onClosing: () => void;
  /** Called once when the caller has disconnected. */
  readonly onClose: () => void;
}

/** Maximum number of messages without a complete response, whether they are in progress or waiting. */
const MAX_MESSAGES = 32;

/** Size of the header of a client's small frame. */
const FRAME_HEADER_BYTES = 6;

/** How long a peer whose bytes are discarded may take to close its side, in milliseconds. */
const CLOSING_MS = 1000;

interface Ending {
  readonly code: number;
  readonly reason: string;
}

/**
 * The messages of a WebSocket. It continues to read while messages are answered, in order to notice when the caller
 * disconnects; the number of messages without a complete answer is limited.
 */
export class SocketChannel extends FlushedResponse implements EndpointSocket {
  readonly messages: AsyncIterable<SocketMessage>;
  readonly #options: SocketChannelOptions;
  readonly #waiting: ReceivedMessage[] = [];
  /** Number of messages that are being answered and are not released yet. */
  #inProgress = 0;
  #wake: (() => void) | undefined;
  /** Bytes that have arrived of a message that is not complete. */
  #arriving = 0;
  #lastByteAt = performance.now();
  /** Time since which no message is being answered. Undefined while one is. */
  #idleSince: number | undefined = performance.now();
  #isAlive = true;
  #ending: Ending | undefined;
  #lastSend: Promise<void> = Promise.resolve();
  /** Whether the first message, which the handshake's request counts for, has been admitted. */
  #hasBegun = false;

  constructor(options: SocketChannelOptions) {
    super(options.unsent);
    this.#options = options;
    this.messages = { [Symbol.asyncIterator]: () => ({ next: () => this.#next() }) };
    const { socket, connection } = options;
    // Must run before the library's own listener, which may emit the message.
    connection.prependListener("data", (chunk: Buffer) => this.#countBytes(chunk.byteLength));
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    socket.on("ping", (data) => this.#give(data.byteLength + FRAME_HEADER_BYTES));
    socket.on("pong", (data) => {
      this.#isAlive = true;
      this.#give(data.byteLength + FRAME_HEADER_BYTES);
    });
    // The library itself closes the connection, with the right status.
    socket.on("error", () => {});
    socket.once("close", () => runInTurn(() => this.#end()));
  }

  /** Whether the connection has ended. */
  get isClosed(): boolean {
    return this.disconnected;
  }

  get isEnding(): boolean {
    return this.#ending !== undefined || this.disconnected;
  }

  send(text: string): Promise<void> {
    // Messages must not be mixed: one that is sent in fragments ends before the next one begins.
    const sent = this.#lastSend.then(() => this.#send(text));
    this.#lastSend = sent.catch(() => undefined);
    return sent;
  }

  async #send(text: string): Promise<void> {
    const { socket } = this.#options;
    const isSmall = text.length <= SLICE_BYTES;
    const content = isSmall ? text : Buffer.from(text);
    this.#checkOpen();
    // A large message is sent in fragments, so that a peer that reads slowly is seen to make progress.
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
    const { socket, onClosing } = this.#options;
    if (!this.disconnected && socket.readyState === socket.OPEN) return;
    onClosing();
    throw new PeerClosedError();
  }

  close(code: number, reason: string): void {
    // Waiting messages are no longer answered.
    this.#ending ??= { code, reason };
    this.#options.socket.close(code, reason);
    this.#wake?.();
  }

  destroy(): void {
    this.#options.socket.terminate();
  }

  /**
   * Closes the socket when the messages in progress have been answered, or at once if there are none. If called again,
   * the last status counts.
   */
  finish(code: number, reason: string): void {
    this.#ending = { code, reason };
    if (this.#inProgress === 0) this.close(code, reason);
    this.#wake?.();
  }

  /** Checks whether the peer responds, and whether it is idle or too slow. Must be called at regular intervals. */
  check(now: number): void {
    const { socket, limits } = this.#options;
    if (!this.#isAlive) return this.destroy();
    this.#isAlive = false;
    if (socket.readyState === socket.OPEN) socket.ping();
    if (this.#arriving > 0 && now - this.#lastByteAt > limits.stallTimeoutMs) {
      this.close(closeCodes.policyViolation, "the rest of a message did not arrive");
    }
    if (this.#idleSince !== undefined && now - this.#idleSince > limits.maxConnectionIdleMs) {
      this.finish(closeCodes.goingAway, "the connection was idle");
    }
  }

  async #next(): Promise<IteratorResult<SocketMessage>> {
    if (this.#waiting.length === 0 && !this.isEnding) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
      // Hundreds of sockets may receive a message in the same turn of the event loop.
      const turn = yieldTurn();
      if (turn !== undefined) await turn;
    }
    const next = this.isEnding ? undefined : this.#waiting.shift();
    if (next === undefined) return { done: true, value: undefined };
    this.#idleSince = undefined;
    this.#inProgress += 1;
    return { done: false, value: next };
  }

  #onRelease(): void {
    this.#inProgress -= 1;
    if (this.#inProgress > 0) return;
    this.#idleSince = performance.now();
    if (this.#ending !== undefined) this.close(this.#ending.code, this.#ending.reason);
  }

  #countBytes(bytes: number): void {
    this.#lastByteAt = performance.now();
    try {
      this.#options.share.take(bytes);
      this.#arriving += bytes;
    } catch {
      this.close(closeCodes.tryAgainLater, "not enough memory for the message");
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
    if (isBinary)
      return this.#refuse(bytes, closeCodes.unsupportedData, "expected a text message, found binary");
    if (this.#waiting.length + this.#inProgress >= MAX_MESSAGES) {
      return this.#refuse(bytes, closeCodes.policyViolation, `more than ${MAX_MESSAGES} unanswered messages`);
    }
    this.#waiting.push(this.#createMessage(toBuffer(data), bytes));
    this.#wake?.();
  }

  #createMessage(content: Buffer, bytes: number): ReceivedMessage {
    const { limits, admit, openMemory } = this.#options;
    return new ReceivedMessage({
      ...this.#options,
      content,
      bytes,
      memory: openMemory(),
      maxElements: limits.maxMessageElements,
      admit: () => {
        const isFirst = !this.#hasBegun;
        this.#hasBegun = true;
        return isFirst ? undefined : admit();
      },
      onRelease: () => this.#onRelease(),
    });
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
 * Discards all further bytes, which the library would buffer until the peer has answered the close frame. The peer gets
 * a moment to do that before the connection ends.
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
