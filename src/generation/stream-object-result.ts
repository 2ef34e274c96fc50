import { BatchStream } from "../core/batches.ts";
import { AbortError } from "../core/errors.ts";
import type { JsonSchema, StandardSchema } from "../core/schema.ts";
import { ObjectResult } from "./object-result.ts";
import type { ObjectItem, ObjectOutcome } from "./objects/object-loop.ts";

/** The part of a value that may have arrived: objects may lack members, lists and texts may still grow. */
export type PartialOf<Value> = Value extends readonly (infer Item)[]
  ? PartialOf<Item>[]
  : Value extends object
    ? { [Key in keyof Value]?: PartialOf<Value[Key]> }
    : Value;

type Loop = AsyncIterator<ObjectItem, ObjectOutcome>;

/**
 * An object as it is generated. Iterate it for the part that has arrived: a copy each time, which grows and is always
 * valid data, but matches the schema only at the end. `object()` and `result()` return the whole. It can be read once.
 */
export class StreamObjectResult<Output> extends BatchStream<PartialOf<Output>> {
  readonly #reader: ObjectLoopReader<Output>;

  /** @param open Begins the generation. Called at the first read. */
  constructor(open: () => Loop, schema: JsonSchema | StandardSchema<Output>) {
    const reader = new ObjectLoopReader(open, schema);
    super({ [Symbol.asyncIterator]: () => reader }, (reason) => reader.cancel(reason));
    this.#reader = reader;
  }

  /**
   * Returns the whole object. Reads the stream if no loop does, and otherwise waits for the end of that loop. A loop
   * that begins later still gets every part.
   * @throws NoObjectGeneratedError with the text and its problems, the error of the failure, and AbortError if the loop
   *   was left early.
   */
  async object(): Promise<Output> {
    return (await this.result()).output;
  }

  /** Returns the whole result, see `object`. */
  async result(): Promise<ObjectResult<Output>> {
    if (!this.#reader.isRead) this.drain();
    return this.#reader.result;
  }
}

type Batch<Output> = readonly PartialOf<Output>[];

/** Reads the loop, passes the copies of the object on, and keeps the result. */
class ObjectLoopReader<Output> implements AsyncIterator<Batch<Output>> {
  readonly #open: () => Loop;
  readonly #schema: JsonSchema | StandardSchema<Output>;
  readonly #outcome = Promise.withResolvers<ObjectResult<Output>>();
  #loop: Loop | undefined;
  #isRead = false;
  #isOver = false;
  #closing: Promise<unknown> | undefined;

  constructor(open: () => Loop, schema: JsonSchema | StandardSchema<Output>) {
    this.#open = open;
    this.#schema = schema;
    // A program that does not ask for the result gets the failure from the iteration.
    this.#outcome.promise.catch(() => {});
  }

  get isRead(): boolean {
    return this.#isRead;
  }

  get result(): Promise<ObjectResult<Output>> {
    return this.#outcome.promise;
  }

  async next(): Promise<IteratorResult<Batch<Output>>> {
    this.#isRead = true;
    try {
      while (!this.#isOver) {
        this.#loop ??= this.#open();
        const next = await this.#loop.next();
        if (next.done === true) this.#finish(next.value);
        else if (next.value.case === "partialObject")
          return { done: false, value: [next.value.object as PartialOf<Output>] };
      }
    } catch (thrown) {
      this.#isOver = true;
      this.#outcome.reject(thrown);
      throw thrown;
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<Batch<Output>>> {
    this.cancel(new AbortError("the stream was closed before its end"));
    await this.#closing;
    return { done: true, value: undefined };
  }

  /** Ends the generation. A pending read rejects. */
  cancel(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#outcome.reject(reason);
    this.#closing = this.#loop?.return?.();
    // Failures surface through the pending read.
    this.#closing?.catch(() => {});
  }

  #finish(outcome: ObjectOutcome): void {
    this.#isOver = true;
    this.#outcome.resolve(new ObjectResult(outcome, this.#schema));
  }
}
