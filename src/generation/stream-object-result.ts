import { BatchStream } from "../core/batches.ts";
import type { JsonSchema, StandardSchema } from "../core/schema.ts";
import { LoopReader } from "./loop-reader.ts";
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
  readonly #reader: ObjectReader<Output>;

  /** @param open Begins the generation. Called at the first read. */
  constructor(open: () => Loop, schema: JsonSchema | StandardSchema<Output>) {
    const reader = new ObjectReader(open, schema);
    super({ [Symbol.asyncIterator]: () => reader }, (reason) => reader.cancel(reason));
    this.#reader = reader;
  }

  /**
   * Returns the whole object. Reads the stream if no loop does, and otherwise waits for the end of that loop. A loop
   * that begins later still gets every part.
   * @throws NoObjectGeneratedError with the text and its problems, the error of a failed call, and AbortError if the
   *   loop was left early.
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

/** Reads the loop, and passes on the copies of the object. */
class ObjectReader<Output> extends LoopReader<
  ObjectItem,
  ObjectOutcome,
  PartialOf<Output>,
  ObjectResult<Output>
> {
  readonly #schema: JsonSchema | StandardSchema<Output>;

  constructor(open: () => Loop, schema: JsonSchema | StandardSchema<Output>) {
    super(open);
    this.#schema = schema;
  }

  protected override toBatch(item: ObjectItem): readonly PartialOf<Output>[] | undefined {
    return item.case === "partialObject" ? [item.object as PartialOf<Output>] : undefined;
  }

  protected override toResult(outcome: ObjectOutcome): ObjectResult<Output> {
    return new ObjectResult(outcome, this.#schema);
  }
}
