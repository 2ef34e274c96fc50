import { type Dispatcher, errors } from "undici";
import type { CallTiming } from "../../core/call-timing.ts";
import { AbortError, InternalError, NetworkError, type SDKError, StreamError } from "../../core/errors.ts";
import { toAbortError } from "./abort.ts";
import type { Connector } from "./connector.ts";
import { decodeBody } from "./content-encoding.ts";
import { type ExchangePhase, toHttpError, toRequestTimeout, toSilenceTimeout } from "./error.ts";
import { type HeaderRecord, type HttpHeaders, ReceivedHeaders } from "./headers.ts";
import type { HttpTimeouts } from "./timeouts.ts";

/** Memory for the bytes of a body. */
export interface BodyMemory {
  /** Takes memory for the bytes so far, before they are held. The body waits for a promise. */
  grow(bytes: number): Promise<void> | undefined;
}

/** The answer to one request, once its head has arrived. Read its body, or destroy it. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: HttpHeaders;
  /**
   * The bytes of the body. Read it once, by one reader; leaving the loop closes the provider's socket. Throws
   * NetworkError if the connection is lost, RequestTimeoutError if a limit runs out, AbortError if the call is
   * cancelled.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * Reads the whole body as UTF-8. Throws the errors of reading the body, and StreamError if it is larger than
   * `maxBytes`; such a body is never held.
   * @param memory The memory of the answer. Default: it is not counted.
   */
  text(maxBytes: number, memory?: BodyMemory): Promise<string>;
  /** Ends the exchange: the provider's socket closes at once. Has no effect after the end. */
  destroy(): void;
  /**
   * Discards the rest of the body, which the reader does not need, so that the connection can be reused. The connection
   * is closed if the provider does not end the answer soon.
   */
  release(): void;
}

const NO_HEADERS: HttpHeaders = new ReceivedHeaders({});

const NO_BODY: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: async function* () {} };

/** Number of unread bytes at which the provider's socket is paused. */
const HIGH_WATER_BYTES = 16 * 1024;

const DONE: IteratorResult<Uint8Array> = { done: true, value: undefined };

const SETTLED = Promise.resolve();

/** How long a released answer may take to end, in milliseconds: a round trip and a margin. */
const LINGER_MS = 500;

/**
 * Size of requests that fit into the buffers of any server, in bytes. If a server answers a larger one with a failure,
 * it may not have read it.
 */
const BUFFERED_BY_SERVERS = 64 * 1024;

/** Answers with a status of 1xx that may come before the answer. A proxy may send one every few seconds. */
const MAX_INTERIM_ANSWERS = 1000;

/** Options of an exchange other than its request. */
export interface ExchangeOptions {
  /** Host and port, for errors. */
  readonly peer: string;
  readonly timeouts: HttpTimeouts;
  readonly signal?: AbortSignal | undefined;
  /** Measures the time until the end of the exchange. */
  readonly timing?: CallTiming | undefined;
}

/**
 * One request and its answer: the handler that undici calls. It ends exactly once (by the last byte, a failure, a time
 * limit, the caller's signal or a reader that stops) and then holds no timer, no listener and no socket.
 *
 * It is also the body of its answer: the socket pushes bytes, the reader pulls them. Everything that has arrived since
 * the last read is one chunk: a provider that sends each event as a separate chunk costs one step of the reader per
 * read of the socket, not per event. At most `HIGH_WATER_BYTES` and one read of the socket are held.
 */
export class Exchange implements Dispatcher.DispatchHandler, HttpAnswer, AsyncIterableIterator<Uint8Array> {
  status = 0;
  headers = NO_HEADERS;
  readonly #options: ExchangeOptions;
  readonly #head = Promise.withResolvers<HttpAnswer>();
  body: AsyncIterable<Uint8Array> = this;
  /** The bytes that have arrived and were not read. */
  #chunks: Uint8Array[] = [];
  #unreadBytes = 0;
  #waiter: PromiseWithResolvers<IteratorResult<Uint8Array>> | undefined;
  /** Whether the reader that waits will get the chunks of this read of the socket. */
  #isWaking = false;
  /** Whether the socket is not read until the reader has caught up. */
  #isPaused = false;
  /** Whether the body has been read from. */
  #hasReader = false;
  /** Thrown after the bytes that have arrived. */
  #error: SDKError | undefined;
  #phase: ExchangePhase = "connecting";
  #ended = false;
  #released = false;
  #controller: Dispatcher.DispatchController | undefined;
  #connector: Connector | undefined;
  #requestTimer: NodeJS.Timeout | undefined;
  #silenceTimer: NodeJS.Timeout | undefined;
  #request: Dispatcher.DispatchOptions | undefined;
  /** Approximate length of the request's body, in bytes. */
  #bodyLength = 0;
  /** Whether the server may have answered without reading the request. */
  #isRefused = false;
  #timing: CallTiming | undefined;
  #interimCount = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Sends the request and resolves when the head of the answer has arrived. To be called once. */
  run(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions): Promise<HttpAnswer> {
    const { signal, timeouts, timing } = this.#options;
    if (signal?.aborted) return Promise.reject(toAbortError(signal));
    this.#timing = timing;
    timing?.beginWait("provider");
    signal?.addEventListener("abort", this.#onAbort);
    if (timeouts.requestMs > 0) this.#requestTimer = setTimeout(this.#onTimeout, timeouts.requestMs);
    this.#request = request;
    const { body } = request;
    this.#bodyLength = typeof body === "string" || body instanceof Uint8Array ? body.length : 0;
    dispatcher.dispatch(request, this);
    return this.#head.promise;
  }

  /**
   * Takes the connector whose connection carries the exchange. Returns false if the exchange ended while it waited for
   * a connection.
   */
  connectWith(connector: Connector): boolean {
    connector.limitMs = this.#options.timeouts.connectMs;
    this.#connector = connector;
    return !this.#ended;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#request = undefined;
    this.#controller = controller;
    this.#phase = "waiting";
    if (this.#connector !== undefined) this.#connector.expectsHead = true;
    if (this.#ended) controller.abort(new AbortError("the call has ended"));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, fields: HeaderRecord): void {
    if (status < 200) return this.#countInterim();
    if (this.#connector !== undefined) this.#connector.expectsHead = false;
    if (this.#ended) return;
    this.#isRefused = status >= 300 && this.#bodyLength > BUFFERED_BY_SERVERS;
    // These are views on the first read, and would keep its 64 KiB for as long as the answer lasts.
    controller.rawHeaders = null;
    this.status = status;
    this.headers = new ReceivedHeaders(fields);
    const encoding = this.headers.get("content-encoding");
    if (encoding !== undefined) {
      const decoded = decodeBody(this, encoding);
      // The status of a failed answer says enough, even if its body cannot be read.
      if (decoded === undefined && status < 300) return this.#cancel(this.#encodedError(encoding));
      this.body = decoded ?? NO_BODY;
    }
    this.#phase = "reading";
    const { betweenBytesMs } = this.#options.timeouts;
    if (betweenBytesMs > 0) this.#silenceTimer = setTimeout(this.#onSilence, betweenBytesMs);
    this.#head.resolve(this);
  }

  /**
   * Limits interim answers: a server could send them until the call's time is over, and each takes as much time as an
   * answer.
   */
  #countInterim(): void {
    this.#interimCount += 1;
    if (this.#ended || this.#interimCount <= MAX_INTERIM_ANSWERS) return;
    const { peer } = this.#options;
    this.#cancel(new NetworkError(`${peer} sent more than ${MAX_INTERIM_ANSWERS} interim answers (1xx)`));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    // Once for all chunks of a read: a provider may send hundreds together.
    if (!this.#isWaking) this.#silenceTimer?.refresh();
    if (this.#released) return;
    this.#chunks.push(chunk);
    this.#unreadBytes += chunk.byteLength;
    // A reader that waits takes all chunks of this read at once.
    if (this.#waiter !== undefined) this.#wake();
    else if (this.#unreadBytes > HIGH_WATER_BYTES) this.#pause(controller);
  }

  /**
   * Reads no more until the reader has caught up. The rest of the read that began with the head is taken nevertheless:
   * a reader follows at once, and a second step for a short answer would cost more than its bytes.
   */
  #pause(controller: Dispatcher.DispatchController): void {
    this.#isPaused = true;
    this.#connector?.pause();
    if (this.#hasReader) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#ended) return;
    // A server that answered before it had read the request may never read it, and the next request would wait behind
    // it.
    if (this.#isRefused || this.#connector?.hasUnsent === true) this.#connector?.retire();
    this.#end();
    if (this.#waiter !== undefined) this.#wake();
  }

  /** Returns the next bytes. One reader at a time. */
  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#waiter !== undefined)
      return Promise.reject(new InternalError("a body was read twice at the same time"));
    const waiter = Promise.withResolvers<IteratorResult<Uint8Array>>();
    this.#waiter = waiter;
    this.#hasReader = true;
    if (!this.#isWaking) this.#deliver();
    return waiter.promise;
  }

  /** Stops reading: the exchange ends and its socket closes. */
  return(): Promise<IteratorResult<Uint8Array>> {
    if (!this.#released && !this.#ended)
      this.#cancel(new AbortError("the reader stopped before the end of the answer"));
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Wakes the waiting reader after all chunks of one socket read have been pushed: they arrive in one synchronous run,
   * and a microtask sees them all.
   */
  #wake(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    // `queueMicrotask` would create an async resource and a closure each time.
    void SETTLED.then(this.#deliver);
  }

  readonly #deliver = (): void => {
    this.#isWaking = false;
    const waiter = this.#waiter;
    const chunks = this.#chunks;
    const [first] = chunks;
    if (waiter === undefined || (first === undefined && !this.#ended)) return;
    this.#waiter = undefined;
    if (first === undefined) return this.#error ? waiter.reject(this.#error) : waiter.resolve(DONE);
    this.#dropUnread();
    waiter.resolve({ done: false, value: chunks.length === 1 ? first : Buffer.concat(chunks) });
    if (this.#isPaused) this.#resume();
  };

  /** Reads on, since the reader has caught up. */
  #resume(): void {
    this.#isPaused = false;
    this.#silenceTimer?.refresh();
    if (this.#controller?.paused) this.#controller.resume();
    // The bytes that undici held came first, and may have paused the answer again. If the socket were read all the
    // same, they would be joined with its bytes.
    if (!this.#isPaused) this.#connector?.resume();
  }

  #dropUnread(): void {
    this.#chunks = [];
    this.#unreadBytes = 0;
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#ended) return;
    const failure = error instanceof errors.SocketError ? (this.#connector?.failure ?? error) : error;
    this.#fail(toHttpError(failure, { ...this.#options, phase: this.#phase }));
  }

  readonly #onAbort = (): void => {
    const { signal } = this.#options;
    if (signal !== undefined) this.#cancel(toAbortError(signal));
  };

  readonly #onTimeout = (): void => this.#fail(toRequestTimeout(this.#options));

  readonly #onSilence = (): void => {
    // While the answer is held, the reader is the slow one; the timer restarts when it resumes.
    if (!this.#isPaused) this.#fail(toSilenceTimeout(this.#options));
  };

  destroy(): void {
    this.#cancel(new AbortError("the answer was destroyed"));
  }

  release(): void {
    if (this.#ended) return;
    this.#released = true;
    this.#stopWatching();
    this.#requestTimer = setTimeout(this.#onTimeout, LINGER_MS).unref();
    this.#dropUnread();
    this.#connector?.resume();
    if (this.#controller?.paused) this.#controller.resume();
  }

  /** Ends the exchange. The reader sees no more of the answer. */
  #cancel(error: SDKError): void {
    if (this.#ended) return;
    this.#dropUnread();
    this.#fail(error);
  }

  #fail(error: SDKError): void {
    const controller = this.#controller;
    this.#end();
    this.#error = error;
    if (this.#waiter !== undefined) this.#wake();
    this.#head.reject(error);
    if (controller !== undefined) controller.abort(error);
    else this.#connector?.cancel(error);
  }

  #end(): void {
    this.#ended = true;
    // If the exchange still waits for a free connection, undici keeps the request until its turn.
    if (this.#request !== undefined) this.#request.body = null;
    this.#request = undefined;
    // The connection may serve another exchange.
    this.#connector?.resume();
    // The controller refers to the body of the request, which a kept answer must not keep alive.
    this.#controller = undefined;
    this.#stopWatching();
  }

  #stopWatching(): void {
    this.#timing?.endWait("provider");
    this.#timing = undefined;
    clearTimeout(this.#requestTimer);
    clearTimeout(this.#silenceTimer);
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  /** Removes a byte order mark. Invalid bytes become U+FFFD. */
  async text(maxBytes: number, memory?: BodyMemory): Promise<string> {
    if (this.body === this && this.#ended && this.#error === undefined) {
      const chunks = this.#chunks;
      this.#chunks = [];
      const [first] = chunks;
      const whole = first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
      if (whole.byteLength > maxBytes) throw this.#tooLarge(maxBytes);
      const waiting = memory?.grow(whole.byteLength);
      if (waiting !== undefined) await waiting;
      return WHOLE_TEXT.decode(whole);
    }
    // The length of an encoded body says nothing about its text.
    const announced = this.body === this ? Number(this.headers.get("content-length") ?? 0) : 0;
    let utf8: InstanceType<typeof TextDecoder> | undefined;
    let text = "";
    let bytes = 0;
    for await (const chunk of this.body) {
      bytes += chunk.byteLength;
      if (Math.max(bytes, announced) > maxBytes) throw this.#tooLarge(maxBytes);
      const waiting = memory?.grow(Math.max(bytes, announced));
      if (waiting !== undefined) await waiting;
      // Decoded piece by piece, so that the bytes and their text are never both whole in memory.
      if (bytes === announced && utf8 === undefined) text = WHOLE_TEXT.decode(chunk);
      else {
        utf8 ??= new TextDecoder();
        text += utf8.decode(chunk, { stream: true });
      }
    }
    return utf8 === undefined ? text : text + utf8.decode();
  }

  #tooLarge(maxBytes: number): StreamError {
    const { peer } = this.#options;
    const message = `the answer of ${peer} is larger than ${maxBytes} bytes, the limit max_answer_bytes`;
    return new StreamError(message, { retryable: false });
  }

  #encodedError(encoding: string): NetworkError {
    const name = encoding.trim().toLowerCase();
    const found = /^[\w.-]{1,20}$/.test(name) ? name : "unknown";
    return new NetworkError(
      `${this.#options.peer} answered in the content encoding ${found}, which was not requested`,
      { retryable: false },
    );
  }
}

/** Decodes whole texts, so it keeps no state between them. */
const WHOLE_TEXT = new TextDecoder();
