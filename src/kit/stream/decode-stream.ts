import type { Batches } from "../../core/batches.ts";
import { NetworkError, type SDKError, StreamError, toSdkError, withProgress } from "../../core/errors.ts";
import { countJsonValues } from "../../core/json-text.ts";
import { yieldTurn } from "../../core/loop-turns.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import {
  type AnswerLimits,
  type AnswerMemory,
  answerTooLarge,
  DEFAULT_ANSWER_LIMITS,
} from "../call/answer-limits.ts";
import { isJson } from "../json/json.ts";
import type { DeltaRun } from "./delta-template.ts";
import type { ByteRange, EventRelay } from "./event-relay.ts";
import { SseDecoder, type SseEvent } from "./sse.ts";
import type { StreamWriter } from "./stream-writer.ts";

/**
 * Turns the events of one provider's stream into events of the contract and writes them into a StreamWriter.
 * Synchronous: no clock and no promise inside. One instance for each call.
 */
export interface StreamDecoder {
  /** Takes one event. Throws the failure that the provider reports, and StreamError on a violation of its protocol. */
  push(event: SseEvent): void;

  /**
   * Takes consecutive deltas directly from the bytes, since parsing them costs more than all other work. Undefined if
   * the event at `start` is not a delta or must be parsed. If absent, all events are parsed.
   * @param maxEventBytes Larger events must be parsed.
   * @param joins Whether the deltas become one event, since the caller gets the provider's events instead.
   */
  pushDeltas?(bytes: Buffer, start: number, maxEventBytes: number, joins: boolean): DeltaRun | undefined;

  /**
   * Called once after the last byte, unless the stream has finished. If the decoder does not finish the stream here,
   * the stream counts as cut.
   * @param stray Text outside of any event, see `SseDecoder.stray`.
   */
  end(stray: string): void;
}

/** Splits the bytes of a body into events. One instance for each call. */
export interface EventParser {
  /**
   * Takes the next bytes. Throws StreamError if an event is too large, and the errors of the function that takes the
   * events.
   */
  push(chunk: Uint8Array): void;
  /** Called once after the last byte. */
  end(): void;
  /** Text outside of any event, for `StreamDecoder.end`. */
  readonly stray: string;
  /** Number of characters of an event that is not complete. */
  readonly pendingChars: number;
}

/** Creates a parser that gives its events to a function. */
export type CreateParser = (onEvent: (event: SseEvent) => void, maxEventChars: number) => EventParser;

/** Options of `decodeStream`. */
export interface DecodeOptions {
  /** Default: server-sent events, without those that have no data. */
  readonly createParser?: CreateParser | undefined;
  /**
   * Writes a whole answer, which some servers send with the content type of a stream. Throws if the JSON text
   * is not an answer. Default: such a body counts as a stream that was cut.
   */
  readonly readWhole?: ((json: string) => void) | undefined;
  /** Called after the end marker, since the rest of the body is not needed. */
  readonly release?: () => void;
  /** Default `DEFAULT_ANSWER_LIMITS`. */
  readonly limits?: AnswerLimits | undefined;
  /** The memory of the answer, for the data that is kept until its end. Default: it is not counted. */
  readonly memory?: AnswerMemory | undefined;
  /** Relays the events to a caller who speaks the provider's API. A batch may be empty then, for a ping. */
  readonly relay?: EventRelay | undefined;
}

type Batch = readonly StreamEvent[];

/**
 * Runs a decoder over the bytes of an answer. The events of one read of the network are one batch. Reading stops at the
 * provider's end marker; leaving the iteration closes the body.
 *
 * Events that precede a failure are passed on first. A failure after `stream_start` says whether output had started and
 * how much it had cost; `withTerminalEvent` turns it into an `error` event.
 * @throws StreamError if the body ends without the provider's end marker or exceeds a limit, and the errors of the
 *   decoder.
 */
export function decodeStream(
  body: AsyncIterable<Uint8Array>,
  decoder: StreamDecoder,
  writer: StreamWriter,
  options: DecodeOptions = {},
): Batches<StreamEvent> {
  return new DecodedStream(body[Symbol.asyncIterator](), decoder, writer, options);
}

const DONE: IteratorResult<Batch> = { done: true, value: undefined };

/** Factor by which a stream may have more JSON values than a whole answer. */
const STREAM_VALUES_FACTOR = 4;

/** Streams up to this size cannot hold many values. Most are smaller, and are not counted. */
const SMALL_BYTES = 1024 * 1024;

/** A decoder may keep any field of a larger event, such as its id. The fields of smaller ones take little memory. */
const LARGE_EVENT_CHARS = 16 * 1024;

/** Not a generator, which would take several more turns of the microtask queue for every batch. */
class DecodedStream implements Batches<StreamEvent>, AsyncIterator<Batch> {
  readonly #body: AsyncIterator<Uint8Array>;
  readonly #decoder: StreamDecoder;
  readonly #writer: StreamWriter;
  readonly #readWhole: DecodeOptions["readWhole"];
  readonly #release: () => void;
  readonly #limits: AnswerLimits;
  readonly #memory: AnswerMemory | undefined;
  readonly #parser: EventParser;
  /** Whether the decoder also gets events without data. */
  readonly #keepsBlank: boolean;
  readonly #relay: EventRelay | undefined;
  #bytes = 0;
  /** The runs of deltas in the latest chunk. */
  #runs: ByteRange[] = [];
  /** Number of events of the latest chunk that were decoded. */
  #decodedEvents = 0;
  /** Whether an event followed the end of the stream. */
  #isFollowed = false;
  #events = 0;
  #jsonValues = 0;
  #isOver = false;
  /** Thrown after the events that precede it. */
  #error: SDKError | undefined;

  constructor(
    body: AsyncIterator<Uint8Array>,
    decoder: StreamDecoder,
    writer: StreamWriter,
    {
      createParser,
      readWhole,
      release = () => {},
      limits = DEFAULT_ANSWER_LIMITS,
      memory,
      relay,
    }: DecodeOptions,
  ) {
    this.#readWhole = readWhole;
    this.#body = body;
    this.#decoder = decoder;
    this.#writer = writer;
    this.#release = release;
    this.#limits = limits;
    this.#memory = memory;
    this.#relay = relay;
    this.#keepsBlank = createParser !== undefined;
    const { maxEventChars } = limits;
    const takeDeltas = decoder.pushDeltas && this.#takeDeltas;
    this.#parser =
      createParser?.(this.#take, maxEventChars) ?? new SseDecoder(this.#take, maxEventChars, takeDeltas);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Batch>> {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    while (!this.#isOver) {
      let decoding: Uint8Array = NOTHING;
      try {
        const { done, value: chunk } = await this.#body.next();
        if (this.#isOver) break;
        if (done) this.#end();
        else {
          // Approximately the bytes read so far that are still held.
          const kept = this.#writer.keptChars + this.#parser.pendingChars + (this.#relay?.heldBytes ?? 0);
          const waiting = this.#memory?.grow(kept + chunk.byteLength);
          if (waiting !== undefined) await waiting;
          // Node may read a busy socket dozens of times in one turn, and there may be hundreds of sockets.
          const turn = yieldTurn();
          if (turn !== undefined) await turn;
          if (this.#isOver) break;
          this.#bytes += chunk.byteLength;
          const { maxBytes } = this.#limits;
          if (this.#bytes > maxBytes) throw answerTooLarge("maxBytes", maxBytes);
          decoding = chunk;
          this.#runs = [];
          this.#decodedEvents = 0;
          this.#parser.push(chunk);
          if (this.#relay !== undefined) this.#relayDecoded(this.#relay, chunk);
        }
      } catch (thrown) {
        if (this.#isOver) return DONE;
        return this.#fail(brokenStream(thrown), decoding);
      }
      if (this.#writer.ended) {
        this.#release();
        await this.#close();
      }
      const batch = this.#writer.take();
      if (batch.length > 0 || (this.#writer.started && this.#relay?.hasEvents === true))
        return { done: false, value: batch };
    }
    return DONE;
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#error = undefined;
    await this.#close();
    return DONE;
  }

  readonly #take = (event: SseEvent): void => {
    if (this.#writer.ended) {
      this.#isFollowed = true;
      return;
    }
    this.#countEvents(1);
    if (this.#bytes >= SMALL_BYTES)
      this.#countValues(countJsonValues(event.data, STREAM_VALUES_FACTOR * this.#limits.maxJsonValues));
    const kept = this.#writer.keptChars;
    if (this.#keepsBlank || event.data.trim() !== "") this.#decoder.push(event);
    // Some servers keep a connection busy with events without data.
    else if (event.type === "error") this.#decoder.push(UNEXPLAINED_FAILURE);
    if (event.data.length > LARGE_EVENT_CHARS)
      this.#writer.hold(Math.max(0, event.data.length - (this.#writer.keptChars - kept)));
    this.#decodedEvents += 1;
  };

  /** Takes consecutive deltas. Returns the index after them. */
  readonly #takeDeltas = (bytes: Buffer, start: number): number => {
    if (this.#writer.ended) return start;
    const joins = this.#relay !== undefined;
    const run = this.#decoder.pushDeltas?.(bytes, start, this.#limits.maxEventChars, joins);
    if (run === undefined) return start;
    this.#countEvents(run.events);
    if (this.#bytes >= SMALL_BYTES) this.#countValues(run.jsonValues);
    this.#decodedEvents += run.events;
    this.#runs.push({ start, end: run.end });
    return run.end;
  };

  #countEvents(count: number): void {
    const { maxEvents } = this.#limits;
    this.#events += count;
    if (this.#events > maxEvents) throw answerTooLarge("maxEvents", maxEvents);
  }

  #countValues(count: number): void {
    const maxJsonValues = STREAM_VALUES_FACTOR * this.#limits.maxJsonValues;
    this.#jsonValues += count;
    if (this.#jsonValues > maxJsonValues) throw answerTooLarge("maxJsonValues", maxJsonValues);
  }

  #relayDecoded(relay: EventRelay, chunk: Uint8Array): void {
    if (this.#isFollowed) return relay.endWithin(chunk, this.#decodedEvents);
    relay.push(chunk, this.#runs);
    if (this.#writer.ended) relay.endWithin(NOTHING, 0);
  }

  /** Ends the stream after its last byte. Throws if the provider's end marker never came. */
  #end(): void {
    this.#parser.end();
    const { stray } = this.#parser;
    if (!this.#writer.ended) this.#decoder.end(stray);
    if (this.#writer.ended) return this.#relay?.end();
    if (this.#readWhole === undefined || this.#writer.started || !isJson(stray))
      throw new StreamError(
        `the provider's stream ${this.#bytes === 0 ? "is empty" : "ended before its end marker"}`,
      );
    this.#relay?.drop();
    this.#readWhole(stray);
  }

  /**
   * Passes on the events that were written before the failure; the next read throws the failure.
   * @param chunk The bytes whose decoding failed.
   */
  async #fail(failure: SDKError, chunk: Uint8Array): Promise<IteratorResult<Batch>> {
    await this.#close();
    this.#relay?.fail(chunk, this.#decodedEvents);
    this.#memory?.release();
    const { started, outputStarted, usage } = this.#writer;
    const error = started ? withProgress(failure, { outputStarted, usage }) : failure;
    const batch = this.#writer.take();
    if (batch.length === 0) throw error;
    this.#error = error;
    return { done: false, value: batch };
  }

  async #close(): Promise<void> {
    this.#isOver = true;
    await this.#body.return?.();
  }
}

const NOTHING = new Uint8Array();

const UNEXPLAINED_FAILURE: SseEvent = { type: "error", data: "{}" };

/** A connection that is lost during a stream is a broken stream, not an unreachable provider. */
function brokenStream(thrown: unknown): SDKError {
  const error = toSdkError(thrown);
  if (!(error instanceof NetworkError)) return error;
  return new StreamError(`the provider's stream broke: ${error.message}`, { cause: error });
}
