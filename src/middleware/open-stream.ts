import type { Batches, ForwardingStream } from "../core/batches.ts";
import { errorFromProto } from "../core/errors.ts";
import type { EventStream } from "../core/event-stream.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";

type Batch = readonly StreamEvent[];
type Read = Promise<IteratorResult<Batch>>;

/**
 * Maximum time for which the beginning of a stream is held back, in milliseconds. Overloaded providers that accept a
 * call report the overload at once; a model that thinks for minutes must not keep its caller without headers.
 */
export const MAX_HOLD_MS = 5000;

/** Maximum number of batches that are held back: with `include_raw` every ping of the provider is an event. */
const MAX_HELD_BATCHES = 32;

/**
 * Reads a stream until the model produces output, and returns the whole stream, including the part that was read. An
 * earlier failure is thrown, so that the call can be repeated: its caller has seen no event.
 */
export async function openStream(
  stream: EventStream,
  maxHoldMs: number = MAX_HOLD_MS,
): Promise<Batches<StreamEvent>> {
  const opened = new OpenedStream(stream.batches()[Symbol.asyncIterator](), maxHoldMs);
  try {
    await opened.hold();
  } catch (error) {
    await opened.return();
    throw error;
  }
  return { [Symbol.asyncIterator]: () => opened };
}

/** A stream whose beginning was read. After the beginning, a read goes straight to the source. */
class OpenedStream implements ForwardingStream<StreamEvent> {
  readonly #source: AsyncIterator<Batch>;
  readonly #maxHoldMs: number;
  #held: Batch[] = [];
  /** A read of the source whose result was not taken yet. */
  #pending: Read | undefined;

  constructor(source: AsyncIterator<Batch>, maxHoldMs: number) {
    this.#source = source;
    this.#maxHoldMs = maxHoldMs;
  }

  get forwardsTo(): AsyncIterator<Batch> | undefined {
    return this.#held.length === 0 && this.#pending === undefined ? this.#source : undefined;
  }

  /** Reads until output has begun, or the time is up. Throws if the stream fails before. */
  async hold(): Promise<void> {
    let isHolding = await this.#take(this.#source.next());
    if (!isHolding) return;
    const time = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => time.resolve(undefined), this.#maxHoldMs);
    try {
      while (isHolding) {
        this.#pending = this.#source.next();
        isHolding = await this.#take(Promise.race([this.#pending, time.promise]));
      }
    } finally {
      clearTimeout(timer);
    }
  }

  next(): Read {
    const held = this.#held.shift();
    if (held !== undefined) return Promise.resolve({ done: false, value: held });
    const pending = this.#pending;
    this.#pending = undefined;
    return pending ?? this.#source.next();
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.#held = [];
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  /** Takes the result of a read, undefined if the time is up. Returns whether to hold back more. */
  async #take(read: Promise<IteratorResult<Batch> | undefined>): Promise<boolean> {
    const result = await read;
    if (result === undefined) return false;
    this.#pending = undefined;
    if (result.done === true) {
      this.#pending = Promise.resolve(result);
      return false;
    }
    await this.#throwFailure(result.value);
    this.#held.push(result.value);
    return !result.value.some(isOutput) && this.#held.length < MAX_HELD_BATCHES;
  }

  /** An `error` event is followed by the error itself, which has more detail. */
  async #throwFailure(batch: Batch): Promise<void> {
    const last = batch.at(-1)?.event;
    if (last?.case !== "error" || [...this.#held, batch].flat().some(isOutput)) return;
    await this.#source.next();
    throw errorFromProto(last.value);
  }
}

/** Reports whether an event belongs to the model's output, or ends the stream. */
export function isOutput({ event }: StreamEvent): boolean {
  switch (event.case) {
    case "streamStart":
    case "textStart":
    case "reasoningStart":
    case "providerEvent":
    case "error":
      return false;
    default:
      return true;
  }
}
