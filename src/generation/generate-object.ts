import { withFieldPaths, withTypeScriptPaths } from "../client/field-paths.ts";
import { SDKError } from "../core/errors.ts";
import { closeAtOnce } from "../core/item-iterator.ts";
import { type JsonSchema, type StandardSchema, toSchemaText } from "../core/schema.ts";
import type { JsonValue } from "../kit/json/json.ts";
import type { GenerateOptions } from "./generate-options.ts";
import { ObjectResult } from "./object-result.ts";
import type { ObjectStrategy } from "./objects/object-format.ts";
import {
  type ObjectItem,
  type ObjectLoopOptions,
  type ObjectOutcome,
  runObjectLoop,
} from "./objects/object-loop.ts";
import { createObjectReader } from "./objects/object-reader.ts";
import { toLoopOptions } from "./read-options.ts";
import { StreamObjectResult } from "./stream-object-result.ts";

/** Options of `generate` that do not apply to the generation of an object. */
type ToolOptions =
  | "maxToolRounds"
  | "onStepFinish"
  | "repairToolCall"
  | "responseFormat"
  | "stopWhen"
  | "toolChoice";

/** Options of `generateObject`: the options of `generate`, without tools that the program executes. */
export interface GenerateObjectOptions<Schema = JsonSchema> extends Omit<GenerateOptions, ToolOptions> {
  /**
   * Schema of the object: a Standard Schema whose library writes JSON Schema (Zod and others), which gives the result
   * its type, or a JSON Schema as an object.
   */
  readonly schema: Schema;
  /** Name of the object for the model, at most 64 letters, digits, `_` and `-`. Default `object`. */
  readonly schemaName?: string | undefined;
  /** Description of the object for the model. */
  readonly schemaDescription?: string | undefined;
  /** How the model is made to write the object. Default: the strategy that suits the model. */
  readonly strategy?: ObjectStrategy | undefined;
}

/**
 * Generates an object that matches a schema. Failed calls are retried, answers that do not match are not.
 *
 * ```ts
 * const schema = z.object({ name: z.string(), age: z.number() });
 * const { output } = await generateObject({ model: "gpt-5.2", prompt: "Alice is 30 years old.", schema });
 * ```
 * @throws NoObjectGeneratedError with the text and its problems, and the errors of `generate`.
 */
export function generateObject<Output>(
  options: GenerateObjectOptions<StandardSchema<Output>>,
): Promise<ObjectResult<Output>>;
export function generateObject(options: GenerateObjectOptions): Promise<ObjectResult<JsonValue>>;
export async function generateObject<Output>(
  options: GenerateObjectOptions<JsonSchema | StandardSchema<Output>>,
): Promise<ObjectResult<Output>> {
  const loop = openLoop(options, false);
  for (;;) {
    const next = await loop.next();
    if (next.done === true) return new ObjectResult(next.value, options.schema);
  }
}

/**
 * Like `generateObject`, but yields the object as it grows. Returns at once: the request is sent when the result is
 * first read, and reading it throws all errors. Leaving the loop cancels the call.
 *
 * ```ts
 * const result = streamObject({ model: "gpt-5.2", prompt: "Five recipes", schema });
 * for await (const partial of result) render(partial.recipes ?? []);
 * const recipes = await result.object();
 * ```
 */
export function streamObject<Output>(
  options: GenerateObjectOptions<StandardSchema<Output>>,
): StreamObjectResult<Output>;
export function streamObject(options: GenerateObjectOptions): StreamObjectResult<JsonValue>;
export function streamObject<Output>(
  options: GenerateObjectOptions<JsonSchema | StandardSchema<Output>>,
): StreamObjectResult<Output> {
  return new StreamObjectResult(() => openLoop(options, true), options.schema);
}

type ObjectLoop = AsyncGenerator<ObjectItem, ObjectOutcome>;

/** Opens the loop. Its errors name the schema by its option. */
function openLoop(options: GenerateObjectOptions, isStreamed: boolean): ObjectLoop {
  let loop: ObjectLoop | undefined;
  const open = () => {
    loop = runObjectLoop(objectLoopOptions(options, isStreamed));
    return loop;
  };
  // If closing the loop fails, the pending read throws the same error.
  return closeAtOnce(passItems(open), () => void loop?.return(undefined as never).catch(() => {}));
}

async function* passItems(open: () => ObjectLoop): ObjectLoop {
  try {
    return yield* open();
  } catch (thrown) {
    throw thrown instanceof SDKError ? withFieldPaths(thrown, toOptionField) : thrown;
  }
}

/** Errors name the field of the request that has the schema. Callers know it as an option. */
function toOptionField(field: string): string {
  return field.replace(/^responseFormat\.schemaJson/, FIELDS.schema);
}

function objectLoopOptions(options: GenerateObjectOptions, isStreamed: boolean): ObjectLoopOptions {
  const { schema, schemaName, schemaDescription, strategy, ...rest } = options;
  const loop = toLoopOptions(rest, isStreamed);
  const object = {
    schemaJson: toSchemaText(schema),
    name: schemaName,
    description: schemaDescription,
    strategy,
  };
  try {
    return { ...loop, reader: createObjectReader(object, loop.request, loop.client, FIELDS) };
  } catch (thrown) {
    throw thrown instanceof SDKError ? withTypeScriptPaths(thrown) : thrown;
  }
}

const FIELDS = { schema: "schema", name: "schemaName", strategy: "strategy" };
