import { InternalError, InvalidRequestError, StreamError } from "../../core/errors.ts";
import { closeAtOnce } from "../../core/item-iterator.ts";
import type { Attempt } from "../../gen/outrigger/v1/attempt_pb.ts";
import type { GenerateResult } from "../../gen/outrigger/v1/generation_pb.ts";
import type { JsonValue } from "../../kit/json/json.ts";
import { attemptsOf } from "../../middleware/attempts.ts";
import { NO_TOOLS } from "../loop/step-tools.ts";
import { type LoopItem, type LoopOptions, runToolLoop } from "../loop/tool-loop.ts";
import { type ObjectReader, readObject } from "./object-answer.ts";
import { objectRequest } from "./object-request.ts";
import { PartialObjectReader } from "./object-stream.ts";

/** Options of the generation of an object. */
export interface ObjectLoopOptions
  extends Omit<LoopOptions, "executor" | "maxToolRounds" | "previousAttempts" | "stopWhen"> {
  readonly reader: ObjectReader;
}

/** The items of an object's generation: the items of the loop, and the object as it grows. */
export type ObjectItem =
  | LoopItem
  | { readonly case: "partialObject"; readonly step: number; readonly object: JsonValue };

/** The result of an object's generation. */
export interface ObjectOutcome {
  /** The result, with the text of the object in `outputJson`. */
  readonly result: GenerateResult;
  /** The object, which matches the schema. */
  readonly object: JsonValue;
}

/**
 * Asks the model for an object, once: an answer that does not match is not retried, since the cause is the model and
 * not the connection. Begins at the first read. Leaving the iteration cancels the call.
 *
 * The iteration throws NoObjectGeneratedError with the text and its problems.
 */
export function runObjectLoop(options: ObjectLoopOptions): AsyncGenerator<ObjectItem, ObjectOutcome> {
  let loop: Loop | undefined;
  const open = (reader: ObjectReader, failed: readonly Attempt[]) => {
    loop = openLoop({ ...options, reader }, failed);
    return loop;
  };
  // If closing the loop fails, the pending read throws the same error.
  const abort = () => void loop?.return?.().then(undefined, () => {});
  return closeAtOnce(tryFormats(options.reader, open), abort);
}

type Loop = AsyncIterator<LoopItem, GenerateResult>;

function openLoop({ reader, ...options }: ObjectLoopOptions, failed: readonly Attempt[]): Loop {
  const request = objectRequest(options.request, reader.format);
  return runToolLoop({
    ...options,
    request,
    executor: NO_TOOLS,
    maxToolRounds: 0,
    previousAttempts: failed,
  });
}

/** Tries the next format if the provider refuses to enforce a schema. Such a refusal costs nothing. */
async function* tryFormats(
  reader: ObjectReader,
  open: (reader: ObjectReader, failed: readonly Attempt[]) => Loop,
): AsyncGenerator<ObjectItem, ObjectOutcome> {
  const failed: Attempt[] = [];
  const formats = [reader.format, ...(reader.fallbacks ?? [])];
  for (const [index, format] of formats.entries()) {
    const current = { ...reader, format };
    try {
      return yield* objectItems(open(current, failed), current);
    } catch (thrown) {
      if (index === formats.length - 1 || !isFormatRefusal(thrown)) throw thrown;
      failed.splice(0, failed.length, ...attemptsOf(thrown));
    }
  }
  throw new InternalError("the object cannot be requested in any way");
}

/** Words by which servers name the feature that they refuse, in their API's field names. */
const FORMAT_WORDS =
  /response_?format|json_?schema|structured[ _]output|text\.format|output_(?:config|format)|response_?(?:json_?)?schema|guided_|grammar/i;

/** Whether a provider refused a request for its response format, before any output. */
function isFormatRefusal(thrown: unknown): thrown is InvalidRequestError {
  if (!(thrown instanceof InvalidRequestError) || thrown.provider === "" || thrown.outputStarted)
    return false;
  return FORMAT_WORDS.test(thrown.message);
}

async function* objectItems(
  loop: AsyncIterator<LoopItem, GenerateResult>,
  reader: ObjectReader,
): AsyncGenerator<ObjectItem, ObjectOutcome> {
  const partial = new PartialObjectReader(reader.format);
  try {
    for (let next = await loop.next(); ; next = await loop.next()) {
      if (next.done) return toOutcome(next.value, reader);
      const item = next.value;
      yield item;
      const object = item.case === "events" ? partial.push(item.events) : undefined;
      if (object !== undefined) yield { case: "partialObject", step: item.step, object };
    }
  } finally {
    await loop.return?.();
  }
}

function toOutcome(result: GenerateResult, reader: ObjectReader): ObjectOutcome {
  const response = result.steps.at(-1)?.response;
  if (response === undefined) throw new StreamError("the generation ended without a response");
  const { object, json } = readObject(response, reader, result.totalUsage);
  return { object, result: { ...result, outputJson: json } };
}
