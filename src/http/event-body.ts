/**
 * The body of a streamed answer: the events of one model call in the form of an API, as server-sent events, with
 * comments during long silences.
 */

import type { AnswerRelay } from "../core/answer-relay.ts";
import type { SDKError } from "../core/errors.ts";
import { yieldTurn } from "../core/loop-turns.ts";
import type { SourceForm } from "../core/source-form.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response, Warning } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import type { EndpointRequest, EndpointResponse } from "./endpoint.ts";
import { toRequestFailure } from "./request-failure.ts";

/** Longest silence of a stream, in milliseconds. Proxies close connections that are silent for a minute. */
export const KEEP_ALIVE_MS = 15_000;

/** A comment, which readers of event streams skip. */
const COMMENT = ": keep-alive\n\n";

/** The headers of a response with server-sent events. */
export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  // Without this header, nginx would buffer the events.
  "x-accel-buffering": "no",
};

/** Writes the events of one call in the form of an API. Synchronous. */
export interface EventWriter {
  /** Media type of the body. Default: server-sent events. */
  readonly contentType?: string;
  /** Text during long silences, which readers skip. Default: a comment. */
  readonly keepAlive?: string;
  /**
   * Returns the text for a batch of events; empty if the API has none for them. May throw SDKError, which ends the
   * stream.
   */
  write(batch: readonly StreamEvent[]): string;
  /**
   * Returns the text that ends a failed stream. It must not look like the end of a complete stream. If `write` threw,
   * the events before the failure come first.
   */
  fail(error: SDKError): string;
}

/** Options of a streamed answer. */
export interface StreamOptions {
  readonly writer: EventWriter;
  /**
   * Returns further headers.
   * @param warnings The warnings that are known when the provider has accepted the request.
   */
  readonly getHeaders: (warnings: readonly Warning[]) => Readonly<Record<string, string>>;
  /** Receives the answer when it is complete. */
  readonly onAnswer?: (response: Response) => void;
  /** Longest silence in milliseconds. Default 15 seconds. */
  readonly keepAliveMs?: number | undefined;
  /**
   * The source form of the request. If it is sent to the provider, the provider's events are relayed instead of written
   * by the writer.
   */
  readonly source?: SourceForm | undefined;
}

/**
 * Calls the model of a request and returns its events as a response, once the provider has accepted the request.
 * Earlier failures are thrown, so that the response has the HTTP status of the error: clients decide by it whether to
 * retry.
 */
export async function streamEvents(
  request: Request,
  { client, signal, noteFailure }: EndpointRequest,
  { writer, getHeaders, onAnswer, keepAliveMs = KEEP_ALIVE_MS, source: form }: StreamOptions,
): Promise<EndpointResponse> {
  const events = client.stream(request, { signal, source: form }).batches()[Symbol.asyncIterator]();
  const { done, value } = await events.next();
  const first = done === true ? [] : value;
  const start = first[0]?.event;
  const warnings = start?.case === "streamStart" ? start.value.warnings : [];
  const relay = form?.relay.head === undefined ? undefined : form.relay;
  const source = new ChunkSource({ first, events, writer, relay, onAnswer, signal, noteFailure });
  const { contentType, keepAlive = COMMENT } = writer;
  const type = contentType === undefined ? {} : { "content-type": contentType };
  return {
    status: 200,
    headers: { ...EVENT_STREAM_HEADERS, ...type, ...getHeaders(warnings) },
    body: new EventBody(source, keepAliveMs, Buffer.from(keepAlive)),
  };
}

type Result = IteratorResult<Uint8Array>;

/** The events of a call that its provider has accepted. */
interface ChunkSourceOptions extends Pick<EndpointRequest, "signal" | "noteFailure"> {
  /** The first batch, which has been read already. */
  readonly first: readonly StreamEvent[];
  readonly events: AsyncIterator<readonly StreamEvent[]>;
  readonly writer: EventWriter;
  /** The provider's events as they arrived, if they have the form of the API. */
  readonly relay: AnswerRelay | undefined;
  readonly onAnswer?: StreamOptions["onAnswer"] | undefined;
}

/** The chunks of a body. The events of one batch are one write. */
class ChunkSource {
  readonly #options: ChunkSourceOptions;
  /** Undefined once it is taken. */
  #first: readonly StreamEvent[] | undefined;
  #isOver = false;

  constructor(options: ChunkSourceOptions) {
    this.#options = options;
    this.#first = options.first;
  }

  /** Returns the next chunk, or the end. Must not be called again before the promise has settled. */
  async next(): Promise<Result> {
    const { writer, relay } = this.#options;
    try {
      for (;;) {
        const batch = await this.#read();
        const bytes = relay?.take() ?? Buffer.from(writer.write(batch));
        if (bytes.byteLength > 0) return { done: false, value: bytes };
        if (this.#isOver) return { done: true, value: undefined };
        const turn = yieldTurn();
        if (turn !== undefined) await turn;
      }
    } catch (thrown) {
      const end = await this.#fail(thrown);
      return end.byteLength === 0 ? { done: true, value: undefined } : { done: false, value: end };
    }
  }

  async close(): Promise<void> {
    await this.#options.events.return?.();
  }

  /** Returns the next batch; an empty one at the end. */
  async #read(): Promise<readonly StreamEvent[]> {
    let batch = this.#first;
    this.#first = undefined;
    if (batch === undefined) {
      if (this.#isOver) return [];
      const { done, value } = await this.#options.events.next();
      this.#isOver = done === true;
      if (done === true) return [];
      batch = value;
    }
    const last = batch.at(-1)?.event;
    if (last?.case === "finish" && last.value.response !== undefined)
      this.#options.onAnswer?.(last.value.response);
    return batch;
  }

  async #fail(thrown: unknown): Promise<Uint8Array> {
    const { signal, noteFailure, writer, relay } = this.#options;
    const error = toRequestFailure(thrown, signal);
    if (error === undefined) throw thrown;
    this.#isOver = true;
    noteFailure(error);
    await this.close();
    const rest = relay?.take() ?? new Uint8Array();
    return relay?.isFailed === true ? rest : Buffer.concat([rest, Buffer.from(writer.fail(error))]);
  }
}

/** Yields the chunks of a source, and keep-alive text while it is silent. Uses one timer for the whole stream. */
class EventBody implements AsyncIterableIterator<Uint8Array> {
  readonly #source: ChunkSource;
  readonly #keepAliveMs: number;
  readonly #comment: Uint8Array;
  #timer: NodeJS.Timeout | undefined;
  #isSilent = false;
  #hasEnded = false;
  /** Whether a read of the source is in progress. It outlasts the comments that are written meanwhile. */
  #isReading = false;
  #reader: PromiseWithResolvers<Result> | undefined;

  constructor(source: ChunkSource, keepAliveMs: number, comment: Uint8Array) {
    this.#source = source;
    this.#keepAliveMs = keepAliveMs;
    this.#comment = comment;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    if (this.#hasEnded) return Promise.resolve({ done: true, value: undefined });
    this.#timer ??= setInterval(this.#onSilence, this.#keepAliveMs).unref();
    const reader = Promise.withResolvers<Result>();
    this.#reader = reader;
    if (!this.#isReading) {
      this.#isReading = true;
      this.#source.next().then(this.#onRead, this.#onFailure);
    }
    return reader.promise;
  }

  async return(): Promise<Result> {
    const isLeft = !this.#hasEnded;
    this.#end();
    if (isLeft) await this.#source.close();
    return { done: true, value: undefined };
  }

  readonly #onRead = (result: Result): void => {
    this.#isReading = false;
    this.#isSilent = false;
    if (result.done === true) this.#end();
    this.#reader?.resolve(result);
    this.#reader = undefined;
  };

  readonly #onFailure = (thrown: unknown): void => {
    this.#end();
    this.#reader?.reject(thrown);
  };

  readonly #onSilence = (): void => {
    if (this.#isSilent) {
      this.#reader?.resolve({ done: false, value: this.#comment });
      this.#reader = undefined;
    }
    this.#isSilent = true;
  };

  #end(): void {
    this.#hasEnded = true;
    clearInterval(this.#timer);
  }
}
