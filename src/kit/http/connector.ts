import { Socket } from "node:net";
import { type buildConnector, errors } from "undici";

/** Cancels one attempt to connect: its socket closes at once and the attempt fails. */
type Cancel = (error: Error) => void;

/**
 * Makes the connections of one undici client. undici itself cannot cancel an attempt to connect, has one time limit for
 * all attempts, and continues to read a socket whose answer is paused: whenever its reader has taken a little, another
 * 64 KiB arrive.
 */
export class Connector {
  /** Limit of the next attempt in milliseconds; 0 for none. */
  limitMs = 0;
  /** Whether the head of an answer is expected. */
  expectsHead = false;
  readonly #connect: buildConnector.connector;
  #cancel: Cancel | undefined;
  #isPaused = false;
  #socket: Socket | undefined;
  #failure: Error | undefined;
  /** The read that the socket asked for while it was paused. */
  #pausedRead: (() => void) | undefined;

  /** @param connect Opens a connection. */
  constructor(connect: buildConnector.connector) {
    this.#connect = connect;
  }

  /** Cancels the attempt in progress, if there is one. */
  cancel(error: Error): void {
    this.#cancel?.(error);
  }

  /** Stops reading the socket until `resume`, unless a read is in progress. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Lets the socket be read. Has no effect if it is not paused. */
  resume(): void {
    const read = this.#pausedRead;
    this.#isPaused = false;
    this.#pausedRead = undefined;
    read?.();
  }

  /** Closes the connection, which no other exchange may use. */
  retire(): void {
    this.#socket?.destroy();
  }

  /** Whether a part of the request has not been sent. */
  get hasUnsent(): boolean {
    return (this.#socket?.writableLength ?? 0) > 0;
  }

  /**
   * The failure of the connection; undefined if there was none. undici reports "other side closed" instead if the other
   * side closes it after an alert of TLS, such as the one that a certificate is required.
   */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Opens a connection. For undici, which makes one attempt at a time. */
  readonly connect: buildConnector.connector = (options, callback) => {
    const canceller = new AbortController();
    let socket: unknown;
    const cancel: Cancel = (error) => {
      settle(error, null);
      canceller.abort(error);
      if (socket instanceof Socket) socket.destroy(error);
    };
    const settle: buildConnector.Callback = (...outcome) => {
      // Settled before: this is the end of an attempt that was cancelled.
      if (this.#cancel !== cancel) return void outcome[1]?.destroy();
      this.#cancel = undefined;
      clearTimeout(timer);
      if (outcome[1] instanceof Socket) this.#attach(outcome[1]);
      callback(...outcome);
    };
    const timer = this.#startTimer(cancel);
    this.#cancel = cancel;
    // A direct connector returns its socket; the one of a proxy's tunnel listens to the signal.
    const cancellable = { ...options, signal: canceller.signal };
    socket = this.#connect(cancellable, settle);
  };

  #attach(socket: Socket): void {
    this.#socket = socket;
    this.#failure = undefined;
    socket.once("error", (error) => {
      this.#failure = error;
    });
    skipTracesOfOverflow(socket);
    this.#skipContinues(socket);
    this.#readOnDemand(socket);
  }

  /**
   * Removes `100 Continue` from the bytes that are read from the socket. Replaces `read`, since a library that has
   * attached to the socket calls it itself. Written for undici 8, which reads on `readable`;
   * test/kit/http/socket-reads.test.ts checks that.
   */
  #skipContinues(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = (size?: number) => {
      for (;;) {
        const bytes: unknown = read(size);
        // Such heads begin with "HTTP/1.1 1", and all others have another digit there.
        if (!this.expectsHead || !Buffer.isBuffer(bytes) || bytes[STATUS_AT] !== ONE) return bytes;
        const rest = withoutContinue(bytes);
        if (rest.byteLength > 0) return rest;
      }
    };
  }

  /**
   * Delays each read of the socket by one step after undici has taken data, so that the response can be paused first.
   */
  #readOnDemand(socket: Socket): void {
    this.resume();
    const readUnlessPaused = () => {
      if (this.#isPaused) this.#pausedRead = read;
      else read();
    };
    const read = interceptReads(socket, SETTLED.then.bind(SETTLED, readUnlessPaused));
  }

  #startTimer(cancel: Cancel): NodeJS.Timeout | undefined {
    if (this.limitMs === 0) return undefined;
    return setTimeout(() => cancel(new errors.ConnectTimeoutError("connect time-out")), this.limitMs);
  }
}

/**
 * undici parses the rest of a read although it has refused the head or the trailers in it as too large, and creates an
 * error for each further field. A read of 64 KiB can hold 16,000, whose stack traces take 300 ms.
 */
function skipTracesOfOverflow(socket: Socket): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if (error instanceof errors.HeadersOverflowError) skipTraces();
    return destroy(error);
  };
}

/** Creates errors without stack traces until the current callback has returned. */
function skipTraces(): void {
  const { stackTraceLimit } = Error;
  // Another socket has overflowed in the same turn.
  if (stackTraceLimit === 0) return;
  Error.stackTraceLimit = 0;
  void SETTLED.then(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
}

const SETTLED = Promise.resolve();

/** Index of the first digit of the status in a head. */
const STATUS_AT = "HTTP/1.1 ".length;

const ONE = "1".charCodeAt(0);

const CONTINUE = /^HTTP\/1\.[01] 100[ \r]/;

/** Returns the bytes without leading `100 Continue` heads, which no request asks for and undici treats as an error. */
function withoutContinue(bytes: Buffer): Buffer {
  let rest = bytes;
  while (CONTINUE.test(rest.toString("latin1", 0, 16))) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return rest;
    rest = rest.subarray(end + 4);
  }
  return rest;
}

/**
 * Lets `onRead` decide when a socket is read: it is called for each read that Node asks for.
 * @returns Starts a read.
 *
 * Replaces `_read`, which Node's streams document for implementers only; Node offers no other way to hold a socket that
 * another library has attached to. Written for Node 24; test/kit/http/socket-reads.test.ts checks that.
 */
export function interceptReads(socket: Socket, onRead: () => void): () => void {
  // Node asks for this size every time.
  const read = socket._read.bind(socket, socket.readableHighWaterMark);
  socket._read = onRead;
  return read;
}
