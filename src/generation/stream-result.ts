import { StreamAccumulator } from "../core/accumulator.ts";
import { BatchStream } from "../core/batches.ts";
import { AbortError } from "../core/errors.ts";
import { readTexts } from "../core/event-stream.ts";
import type { ItemIterator } from "../core/item-iterator.ts";
import type { CompleteResponse } from "../core/response.ts";
import type {
  GenerateResult as GenerateResultMessage,
  StepResult as StepResultMessage,
} from "../gen/outrigger/v1/generation_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { GenerateResult, StepResult } from "./loop/generate-result.ts";
import type { LoopItem } from "./loop/tool-loop.ts";

/** A complete step: the model answered, and its tools were executed. Follows the `finish` event of the step. */
export interface StepFinishEvent {
  readonly event: {
    readonly case: "stepFinish";
    readonly value: {
      /** Number of the step, from 1. */
      readonly step: number;
      readonly result: StepResult;
    };
  };
}

/** An event of the model, or the end of a step. */
export type GenerationEvent = StreamEvent | StepFinishEvent;

type Loop = AsyncIterator<LoopItem, GenerateResultMessage>;

/**
 * The events of a generation over all its steps. Iterate it for one event at a time, or read `textStream` if only the
 * text matters; then `result()` and `response()` have the whole. It can be read once, in one of these ways.
 */
export class StreamResult extends BatchStream<GenerationEvent> {
  readonly #reader: LoopReader;

  /** @param open Begins the generation. Called at the first read. */
  constructor(open: () => Loop) {
    const reader = new LoopReader(open);
    super({ [Symbol.asyncIterator]: () => reader }, (reason) => reader.cancel(reason));
    this.#reader = reader;
  }

  /** Yields only the text of the answers, piece by piece. Leaving the loop cancels the generation. */
  get textStream(): ItemIterator<string> {
    return this.readItems(readTexts);
  }

  /**
   * The part of the current step that has arrived; after the end, the last response. Undefined before the first event.
   */
  get partialResponse(): Response | undefined {
    return this.#reader.partialResponse;
  }

  /**
   * Returns the whole result. Reads the stream if no loop does, and otherwise waits for the end of that loop. A loop
   * that begins later still gets every event.
   * @throws SDKError the generation's error if it failed, and AbortError if the loop was left early.
   */
  async result(): Promise<GenerateResult> {
    if (!this.#reader.isRead) this.drain();
    return this.#reader.result();
  }

  /** Returns the last response, see `result`. */
  async response(): Promise<CompleteResponse> {
    return (await this.result()).response;
  }
}

type Batch = readonly GenerationEvent[];

const DONE: IteratorResult<Batch> = { done: true, value: undefined };

/** Maximum number of batches that wait for the accumulator: joined, their content takes less memory. */
const MAX_UNSEEN = 256;

/** Reads a loop, and keeps the state for `StreamResult`. Not a generator: a batch costs one promise and no closure. */
class LoopReader implements AsyncIterator<Batch> {
  readonly #open: () => Loop;
  #loop: Loop | undefined;
  readonly #outcome = Promise.withResolvers<GenerateResult>();
  /** Events of the current step that the accumulator has not seen. Most programs never ask for a partial response. */
  #unseen: (readonly StreamEvent[])[] = [];
  #accumulator: StreamAccumulator | undefined;
  #last: Response | undefined;
  #isRead = false;
  #isOver = false;
  #closing: Promise<unknown> | undefined;

  constructor(open: () => Loop) {
    this.#open = open;
    // Failures surface through `result()`.
    this.#outcome.promise.catch(() => {});
  }

  get isRead(): boolean {
    return this.#isRead;
  }

  get partialResponse(): Response | undefined {
    this.#accumulate();
    return this.#accumulator?.partialResponse() ?? this.#last;
  }

  result(): Promise<GenerateResult> {
    return this.#outcome.promise;
  }

  next(): Promise<IteratorResult<Batch>> {
    this.#isRead = true;
    if (this.#isOver) return Promise.resolve(DONE);
    try {
      this.#loop ??= this.#open();
    } catch (thrown) {
      return Promise.reject(this.#fail(thrown));
    }
    return this.#loop.next().then(this.#onItem, this.#onFailure);
  }

  async return(): Promise<IteratorResult<Batch>> {
    this.cancel(new AbortError("the stream was closed before its end"));
    await this.#closing;
    return DONE;
  }

  /** Ends the generation. A pending read rejects. */
  cancel(reason: unknown): void {
    if (this.#isOver) return;
    this.#fail(reason);
    this.#closing = this.#loop?.return?.();
    // Failures surface through the pending read.
    this.#closing?.catch(() => {});
  }

  readonly #onItem = (next: IteratorResult<LoopItem, GenerateResultMessage>): IteratorResult<Batch> => {
    if (next.done === true) {
      this.#isOver = true;
      this.#outcome.resolve(new GenerateResult(next.value));
      return DONE;
    }
    const item = next.value;
    if (item.case === "stepFinish") return { done: false, value: [this.#finishStep(item.step, item.result)] };
    this.#unseen.push(item.events);
    if (this.#unseen.length === MAX_UNSEEN) this.#accumulate();
    return { done: false, value: item.events };
  };

  readonly #onFailure = (thrown: unknown): never => {
    throw this.#fail(thrown);
  };

  #fail(thrown: unknown): unknown {
    this.#isOver = true;
    this.#outcome.reject(thrown);
    return thrown;
  }

  #accumulate(): void {
    if (this.#unseen.length === 0) return;
    this.#accumulator ??= new StreamAccumulator();
    for (const event of this.#unseen.flat()) this.#accumulator.process(event);
    this.#unseen = [];
  }

  #finishStep(step: number, message: StepResultMessage): StepFinishEvent {
    const result = new StepResult(message);
    this.#unseen = [];
    this.#accumulator = undefined;
    this.#last = result.response;
    return { event: { case: "stepFinish", value: { step, result } } };
  }
}
