import { StreamAccumulator } from "../core/accumulator.ts";
import { BatchStream } from "../core/batches.ts";
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
import { LoopReader } from "./loop-reader.ts";

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

/**
 * The events of a generation over all its steps. Iterate it for one event at a time, or read `textStream` if only the
 * text matters; then `result()` and `response()` have the whole. It can be read once, in one of these ways.
 */
export class StreamResult extends BatchStream<GenerationEvent> {
  readonly #reader: GenerationReader;

  /** @param open Begins the generation. Called at the first read. */
  constructor(open: () => AsyncIterator<LoopItem, GenerateResultMessage>) {
    const reader = new GenerationReader(open);
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
    return this.#reader.result;
  }

  /** Returns the last response, see `result`. */
  async response(): Promise<CompleteResponse> {
    return (await this.result()).response;
  }
}

/** Maximum number of batches that wait for the accumulator: joined, their content takes less memory. */
const MAX_UNSEEN = 256;

/** Reads a loop, and keeps the part of the current step. */
class GenerationReader extends LoopReader<LoopItem, GenerateResultMessage, GenerationEvent, GenerateResult> {
  /** Events of the current step that the accumulator has not seen. Most programs never ask for a partial response. */
  #unseen: (readonly StreamEvent[])[] = [];
  #accumulator: StreamAccumulator | undefined;
  #last: Response | undefined;

  get partialResponse(): Response | undefined {
    this.#accumulate();
    return this.#accumulator?.partialResponse() ?? this.#last;
  }

  protected override toBatch(item: LoopItem): readonly GenerationEvent[] {
    if (item.case === "stepFinish") return [this.#finishStep(item.step, item.result)];
    this.#unseen.push(item.events);
    if (this.#unseen.length === MAX_UNSEEN) this.#accumulate();
    return item.events;
  }

  protected override toResult(message: GenerateResultMessage): GenerateResult {
    return new GenerateResult(message);
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
