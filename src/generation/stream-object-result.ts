import { AbortError } from "../core/errors.ts";
import type { JsonSchema, StandardSchema } from "../core/schema.ts";
import { ObjectResult } from "./object-result.ts";
import type { ObjectItem, ObjectOutcome } from "./objects/object-loop.ts";

/** What may have arrived of a value: objects without some members, lists and texts that may still grow. */
export type PartialOf<Value> = Value extends readonly (infer Item)[]
  ? PartialOf<Item>[]
  : Value extends object
    ? { [Key in keyof Value]?: PartialOf<Value[Key]> }
    : Value;

type Loop = AsyncGenerator<ObjectItem, ObjectOutcome>;

/**
 * An object as it is generated. Iterate it for the part that has arrived: a copy each time, which grows and is always
 * valid data, but matches the schema only at the end. `object()` and `result()` give the whole. It can be read once.
 */
export class StreamObjectResult<Output> implements AsyncIterable<PartialOf<Output>> {
  readonly #open: () => Loop;
  readonly #schema: JsonSchema | StandardSchema<Output>;
  readonly #outcome = Promise.withResolvers<ObjectResult<Output>>();
  #isRead = false;

  /** @param open Begins the generation. Called at the first read. */
  constructor(open: () => Loop, schema: JsonSchema | StandardSchema<Output>) {
    this.#open = open;
    this.#schema = schema;
    // A program that does not ask for the result learns of the failure from the iteration.
    this.#outcome.promise.catch(() => {});
  }

  /** The object as it grows. Leaving the loop cancels the call. */
  async *[Symbol.asyncIterator](): AsyncGenerator<PartialOf<Output>> {
    if (this.#isRead) throw new TypeError("this stream has been read already; a stream can be read once");
    this.#isRead = true;
    try {
      const outcome = yield* partialObjects<Output>(this.#open());
      this.#outcome.resolve(new ObjectResult(outcome, this.#schema));
    } catch (thrown) {
      this.#outcome.reject(thrown);
      throw thrown;
    } finally {
      // Without effect after the end.
      this.#outcome.reject(new AbortError("the stream was closed before its end"));
    }
  }

  /**
   * The whole object. Reads the stream where it has not been read, and otherwise waits for the end of the loop that reads
   * it.
   * @throws NoObjectGeneratedError with the text and what is wrong with it, the error of the failure, and AbortError
   * where the loop was left before its end.
   */
  async object(): Promise<Output> {
    return (await this.result()).output;
  }

  /** The whole result, see `object`. */
  async result(): Promise<ObjectResult<Output>> {
    if (!this.#isRead) for await (const _partial of this);
    return this.#outcome.promise;
  }
}

async function* partialObjects<Output>(loop: Loop): AsyncGenerator<PartialOf<Output>, ObjectOutcome> {
  const items: AsyncIterator<ObjectItem, ObjectOutcome> = loop;
  try {
    for (let next = await items.next(); ; next = await items.next()) {
      if (next.done === true) return next.value;
      if (next.value.case === "partialObject") yield next.value.object as PartialOf<Output>;
    }
  } finally {
    await items.return?.();
  }
}
