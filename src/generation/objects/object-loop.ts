import { StreamError } from "../../core/errors.ts";
import { closeAtOnce } from "../../core/item-iterator.ts";
import type { GenerateResult } from "../../gen/outrigger/v1/generation_pb.ts";
import type { JsonValue } from "../../kit/json/json.ts";
import { NO_TOOLS } from "../step-tools.ts";
import { type LoopItem, type LoopOptions, runToolLoop } from "../tool-loop.ts";
import { type ObjectReader, readObject } from "./object-answer.ts";
import { objectRequest } from "./object-request.ts";
import { PartialObjectReader } from "./object-stream.ts";

/** Options of the generation of an object. */
export interface ObjectLoopOptions extends Omit<LoopOptions, "executor" | "maxToolRounds" | "stopWhen"> {
  readonly reader: ObjectReader;
}

/** What the generation of an object yields: the items of the loop, and the object as it grows. */
export type ObjectItem =
  | LoopItem
  | { readonly case: "partialObject"; readonly step: number; readonly object: JsonValue };

/** What the generation of an object gives. */
export interface ObjectOutcome {
  /** The result, with the text of the object in `outputJson`. */
  readonly result: GenerateResult;
  /** The object, which matches the schema. */
  readonly object: JsonValue;
}

/**
 * Asks the model for an object, once: an answer that is no such object is not retried, since it says something about the
 * model and nothing about the connection. Begins at the first read. Leaving the iteration cancels the call.
 *
 * The iteration throws NoObjectGeneratedError with the text and what is wrong with it.
 */
export function runObjectLoop(options: ObjectLoopOptions): AsyncGenerator<ObjectItem, ObjectOutcome> {
  const { reader, request } = options;
  const loop: AsyncIterator<LoopItem, GenerateResult> = runToolLoop({
    ...options,
    request: objectRequest(request, reader.format),
    executor: NO_TOOLS,
    maxToolRounds: 0,
  });
  // What closing the loop throws is thrown by the pending read as well.
  const abort = () => void loop.return?.().then(undefined, () => {});
  return closeAtOnce(objectItems(loop, reader), abort);
}

async function* objectItems(
  loop: AsyncIterator<LoopItem, GenerateResult>,
  reader: ObjectReader,
): AsyncGenerator<ObjectItem, ObjectOutcome> {
  const partial = new PartialObjectReader(reader.format);
  try {
    for (let next = await loop.next(); ; next = await loop.next()) {
      if (next.done) return outcomeOf(next.value, reader);
      const item = next.value;
      yield item;
      const object = item.case === "events" ? partial.push(item.events) : undefined;
      if (object !== undefined) yield { case: "partialObject", step: item.step, object };
    }
  } finally {
    await loop.return?.();
  }
}

function outcomeOf(result: GenerateResult, reader: ObjectReader): ObjectOutcome {
  const response = result.steps.at(-1)?.response;
  if (response === undefined) throw new StreamError("the generation ended without a response");
  const { object, json } = readObject(response, reader, result.totalUsage);
  return { object, result: { ...result, outputJson: json } };
}
