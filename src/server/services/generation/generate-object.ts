/** Generations of objects that match a schema. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { checkEnum, Violations } from "../../../client/violations.ts";
import type { Batches } from "../../../core/batches.ts";
import { invalidField, SDKError } from "../../../core/errors.ts";
import {
  type GenerateObjectRequest,
  type GenerateObjectResponseSchema,
  type ObjectFormat,
  ObjectFormat_Strategy as Strategy,
  ObjectFormat_StrategySchema as StrategySchema,
  type StreamObjectRequest,
  type StreamObjectResponseSchema,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import type { ObjectSupport } from "../../../generation/loop/model-calls.ts";
import type { ObjectReader } from "../../../generation/objects/object-answer.ts";
import type { ObjectStrategy } from "../../../generation/objects/object-format.ts";
import {
  type ObjectItem,
  type ObjectOutcome,
  runObjectLoop,
} from "../../../generation/objects/object-loop.ts";
import { createObjectReader, type WantedObject } from "../../../generation/objects/object-reader.ts";
import type { JsonValue } from "../../../kit/json/json.ts";
import type { GenerationCall, NamedGeneration } from "./generation-call.ts";
import { runToEnd, type StreamMessages, streamLoop } from "./stream-messages.ts";

/** Serves GenerateObject. */
export async function generateObject(
  call: GenerationCall,
  request: GenerateObjectRequest,
): Promise<MessageInitShape<typeof GenerateObjectResponseSchema>> {
  const { result } = await runToEnd(await openLoop(call, request, false));
  return { result };
}

/** Serves StreamObject. */
export function streamObject(call: GenerationCall, request: StreamObjectRequest): Batches<ObjectMessage> {
  return streamLoop(call, {
    open: () => openLoop(call, request, true),
    toMessages: (item, messages) => toMessages(item, messages, request.includeEvents),
    toResult: ({ result }) => result,
  });
}

type ObjectMessage = MessageInitShape<typeof StreamObjectResponseSchema>;

type Loop = AsyncIterator<ObjectItem, ObjectOutcome>;

async function openLoop(
  call: GenerationCall,
  { options, object }: GenerateObjectRequest | StreamObjectRequest,
  isStreamed: boolean,
): Promise<Loop> {
  const generation = await call.read(options, "options");
  const reader = createReader(object, generation, call.support);
  const fields = generation.fields.forObject();
  return runObjectLoop({ ...call.loopOptions({ ...generation, fields }), reader, isStreamed });
}

function createReader(
  object: ObjectFormat | undefined,
  { request, fields }: NamedGeneration,
  support: ObjectSupport,
): ObjectReader {
  try {
    return createObjectReader(readWantedObject(object), request, support, FIELDS);
  } catch (thrown) {
    throw thrown instanceof SDKError ? fields.rename(thrown) : thrown;
  }
}

function toMessages(
  item: ObjectItem,
  messages: StreamMessages,
  includeEvents: boolean,
): readonly ObjectMessage[] {
  switch (item.case) {
    case "partialObject":
      return [messages.at(item.step, partialObject(item.object))];
    case "events":
      return includeEvents ? messages.ofItem(item) : [];
    case "stepFinish":
      return messages.ofItem(item);
  }
}

function partialObject(object: JsonValue) {
  return { case: "partialObject", value: { objectJson: JSON.stringify(object) } } as const;
}

/** @throws InvalidRequestError if there is no object, or its strategy is unknown. */
function readWantedObject(object: ObjectFormat | undefined): WantedObject {
  if (object === undefined) throw invalidField("object", "is missing, expected the object to generate");
  const { schemaJson, name, description, strategy } = object;
  const violations = new Violations();
  checkEnum(StrategySchema, strategy, FIELDS.strategy, violations);
  violations.throwIfAny();
  return { schemaJson, name, description, strategy: STRATEGIES.get(strategy) };
}

const FIELDS = { schema: "object.schema_json", name: "object.name", strategy: "object.strategy" };

/** Strategies that a caller chooses; all others mean AUTO. */
const STRATEGIES: ReadonlyMap<Strategy, ObjectStrategy> = new Map([
  [Strategy.NATIVE, "native"],
  [Strategy.TOOL, "tool"],
  [Strategy.PROMPT, "prompt"],
]);
