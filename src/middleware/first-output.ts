import type { Batches, ForwardingStream } from "../core/batches.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { isOutput } from "./open-stream.ts";

type Batch = readonly StreamEvent[];

/** Returns the same stream, and calls back once when the first output of the model arrives. */
export function watchFirstOutput(batches: Batches<StreamEvent>, onOutput: () => void): Batches<StreamEvent> {
  const watched = new FirstOutputStream(batches[Symbol.asyncIterator](), onOutput);
  return { [Symbol.asyncIterator]: () => watched };
}

/** Inspects events until the first output. Later reads go directly to the source. */
class FirstOutputStream implements ForwardingStream<StreamEvent> {
  readonly #source: AsyncIterator<Batch>;
  readonly #onOutput: () => void;
  #hasOutput = false;

  constructor(source: AsyncIterator<Batch>, onOutput: () => void) {
    this.#source = source;
    this.#onOutput = onOutput;
  }

  get forwardsTo(): AsyncIterator<Batch> | undefined {
    return this.#hasOutput ? this.#source : undefined;
  }

  next(): Promise<IteratorResult<Batch>> {
    return this.#hasOutput ? this.#source.next() : this.#source.next().then(this.#inspect);
  }

  async return(): Promise<IteratorResult<Batch>> {
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  readonly #inspect = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    if (!this.#hasOutput && result.done !== true && result.value.some(isOutput)) {
      this.#hasOutput = true;
      this.#onOutput();
    }
    return result;
  };
}
