import { NoObjectGeneratedError } from "../core/errors.ts";
import { isStandardSchema, type JsonSchema, type StandardSchema, validate } from "../core/schema.ts";
import type { JsonValue } from "../kit/json/json.ts";
import { GenerateResult } from "./loop/generate-result.ts";
import type { ObjectOutcome } from "./objects/object-loop.ts";

/**
 * The result of generating an object. `text` is the object as the model wrote it: as text, or as the arguments of a
 * tool.
 */
export class ObjectResult<Output> extends GenerateResult {
  /** The object, which matches the schema. If that is a Standard Schema, the object as its library returns it. */
  readonly output: Output;

  /**
   * @param schema A Standard Schema checks the object once more, since it can express more than JSON Schema.
   * @throws NoObjectGeneratedError if it does not match.
   */
  constructor(outcome: ObjectOutcome, schema: JsonSchema | StandardSchema<Output>) {
    super(outcome.result);
    this.output = toOutput(outcome, schema);
  }

  override get text(): string {
    return this.toolCalls.length > 0 ? this.toProto().outputJson : super.text;
  }
}

function toOutput<Output>(
  { object, result }: ObjectOutcome,
  schema: JsonSchema | StandardSchema<Output>,
): Output {
  if (!isStandardSchema(schema)) return object as Output & JsonValue;
  const checked = validate(schema, object);
  if ("value" in checked) return checked.value;
  const { totalUsage: usage, outputJson: text } = result;
  const message = "the answer is not valid for the schema";
  const schemaViolations = [checked.problem];
  throw new NoObjectGeneratedError(message, { text, schemaViolations, usage, outputStarted: true });
}
