/**
 * The body of a streamed response: the events of a run as they arrive, with keep-alive comments during long silences.
 */
import type { SDKError } from "../../core/errors.ts";
import { yieldTurn } from "../../core/loop-turns.ts";
import type { RunEvent } from "../../gen/outrigger/v1/run_pb.ts";
import { toRequestFailure } from "../../http/request-failure.ts";
import type { SseSink } from "./event-output.ts";
import type { RunCheckpoints } from "./replay-checkpoints.ts";
import type { ResponseEvents } from "./write-events.ts";

/** Ends a complete stream, as in Chat Completions. Official SDKs stop reading at this line. */
export const DONE_LINE = "data: [DONE]";

/** A comment, which readers of event streams skip. Proxies close silent connections. */
const COMMENT = Buffer.from(": keep-alive\n\n");

/** Options of a body. */
export interface StreamBodyOptions {
  readonly events: AsyncIterator<readonly RunEvent[]>;
  readonly writer: ResponseEvents;
  /** Takes checkpoints of the run, if it is stored. */
  readonly checkpoints: RunCheckpoints | undefined;
  /** The writer's sink. It may hold events already. */
  readonly sink: SseSink;
  /** Whether the events have ended. */
  readonly isOver: boolean;
  /** Longest silence in milliseconds. */
  readonly keepAliveMs: number;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Whether the request started the run, so that a failure of the run fails the request. */
  readonly startedRun: boolean;
  /** Receives the error of a failed request. */
  readonly onFailure: (error: SDKError) => void;
}

type Result = IteratorResult<Uint8Array>;

/** Yields one chunk for each write: the events of one batch, or a comment. One timer for the whole stream. */
export class StreamBody implements AsyncIterableIterator<Uint8Array> {
  readonly #options: StreamBodyOptions;
  #isOver: boolean;
  #hasEnded = false;
  /** Whether the stream ends before the response. */
  #isInterrupted = false;
  #timer: NodeJS.Timeout | undefined;
  #isSilent = false;
  /** Whether a read of the events is in progress. It outlasts the comments that are written meanwhile. */
  #isReading = false;
  #reader: PromiseWithResolvers<Result> | undefined;

  constructor(options: StreamBodyOptions) {
    this.#options = options;
    this.#isOver = options.isOver;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    this.#timer ??= setInterval(this.#onSilence, this.#options.keepAliveMs).unref();
    if (this.#hasEnded) return Promise.resolve({ done: true, value: undefined });
    const reader = Promise.withResolvers<Result>();
    this.#reader = reader;
    if (!this.#isReading) this.#read().then(this.#onRead, this.#onFailure);
    return reader.promise;
  }

  async return(): Promise<Result> {
    this.#hasEnded = true;
    clearInterval(this.#timer);
    if (!this.#isOver) await this.#options.events.return?.();
    return { done: true, value: undefined };
  }

  readonly #onRead = (result: Result): void => {
    this.#isReading = false;
    this.#isSilent = false;
    this.#reader?.resolve(result);
    this.#reader = undefined;
  };

  readonly #onFailure = (thrown: unknown): void => {
    this.#hasEnded = true;
    clearInterval(this.#timer);
    this.#reader?.reject(thrown);
  };

  readonly #onSilence = (): void => {
    if (this.#isSilent) {
      this.#reader?.resolve({ done: false, value: COMMENT });
      this.#reader = undefined;
    }
    this.#isSilent = true;
  };

  /**
   * Returns the next bytes of the events. Bytes that are available already come first. The last events and the end of
   * the stream are one write: nothing takes time between them.
   */
  async #read(): Promise<Result> {
    this.#isReading = true;
    const { events, sink, signal, writer, startedRun, checkpoints } = this.#options;
    try {
      while (!this.#isOver && (sink.isEmpty || (startedRun && writer.isComplete))) {
        const { done, value } = await events.next();
        this.#isOver = done === true;
        if (value !== undefined) {
          writer.push(value);
          checkpoints?.record(writer, value);
        }
        const turn = yieldTurn();
        if (turn !== undefined) await turn;
      }
      if (this.#isOver) writer.end();
    } catch (thrown) {
      const error = toRequestFailure(thrown, signal);
      if (error === undefined) throw thrown;
      this.#isOver = true;
      // A failed run has reported its failure in its last event.
      if (writer.last === undefined) this.#interrupt(error);
    }
    return { done: false, value: this.#isOver ? this.#last() : sink.take() };
  }

  #interrupt(error: SDKError): void {
    const { writer, onFailure } = this.#options;
    this.#isInterrupted = true;
    writer.interrupt(error);
    onFailure(error);
  }

  #last(): Buffer {
    const { sink, writer, onFailure, startedRun } = this.#options;
    this.#hasEnded = true;
    clearInterval(this.#timer);
    if (startedRun && writer.failure !== undefined) onFailure(writer.failure);
    if (!this.#isInterrupted) sink.writeLine(DONE_LINE);
    return sink.take();
  }
}
