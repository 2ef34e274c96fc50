import { validateRequest } from "../../client/validate.ts";
import { quote } from "../../client/violations.ts";
import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import { createSchemaValidator } from "../../kit/json-schema/validation/validator.ts";
import { wrapSchema } from "../../kit/json-schema/wrap-schema.ts";
import type { ObjectSupport } from "../loop/model-calls.ts";
import type { ObjectReader } from "./object-answer.ts";
import {
  chooseStrategies,
  DEFAULT_OBJECT_NAME,
  isObjectSchema,
  type ObjectFormat,
  type ObjectStrategy,
  WRAPPED_MEMBER,
} from "./object-format.ts";

/** The object that a caller asks for. */
export interface WantedObject {
  /** JSON Schema of the object. */
  readonly schemaJson: string;
  /** Name of the object for the model. Empty or absent: `object`. */
  readonly name?: string | undefined;
  /** Description of the object for the model. */
  readonly description?: string | undefined;
  /** How the model is made to write the object. Absent: the strategy that suits the model. */
  readonly strategy?: ObjectStrategy | undefined;
}

/** Names of the caller's fields, for errors. */
export interface ObjectFields {
  readonly schema: string;
  readonly name: string;
  readonly strategy: string;
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Decides how to ask for the object, and creates the reader for the answer.
 * @throws InvalidRequestError naming the caller's field, or the field of the request, that is wrong.
 */
export function createObjectReader(
  wanted: WantedObject,
  request: Request,
  support: ObjectSupport,
  fields: ObjectFields,
): ObjectReader {
  checkRequest(request);
  // The request that is sent has one message more for some strategies, so its fields have other indices.
  validateRequest(request, { mayNameNoModel: true });
  const { schemaJson, description = "" } = wanted;
  const name = wanted.name || DEFAULT_OBJECT_NAME;
  if (!NAME.test(name))
    throw invalidField(fields.name, `expected 1 to 64 letters, digits, "_" or "-", found ${quote(name)}`);
  const schema = asObject(tryParseJson(schemaJson));
  if (schema === undefined) throw invalidField(fields.schema, "expected the text of a JSON object");
  const validator = createSchemaValidator(schemaJson, fields.schema);
  const strategies = wanted.strategy === undefined ? chooseStrategies(support, request, schema) : undefined;
  const [strategy, ...fallbacks] = strategies ?? [wanted.strategy ?? "prompt"];
  const toFormat = (by: ObjectStrategy): ObjectFormat => {
    const format = { schemaJson, schema, name, description, strategy: by };
    if (by === "prompt" || isObjectSchema(schema)) return format;
    const wrapped = wrapSchema(schema, WRAPPED_MEMBER);
    if (wrapped === undefined && by === "tool")
      throw invalidField(
        fields.strategy,
        'a tool takes a schema whose root has "type": "object", or one that refers to its definitions only',
      );
    if (wrapped === undefined) return format;
    return { ...format, schemaJson: JSON.stringify(wrapped), schema: wrapped, isWrapped: true };
  };
  return { format: toFormat(strategy), fallbacks: fallbacks.map(toFormat), validator };
}

/** Rejects fields with which an answer could not be the object. */
function checkRequest({ responseFormat, tools }: Request): void {
  if (responseFormat !== undefined)
    throw invalidField("response_format", "expected none: the schema of the object is the format");
  const index = tools.findIndex(({ tool }) => tool.case !== "hosted");
  if (index >= 0)
    throw invalidField(
      `tools[${index}]`,
      "expected only tools that the provider executes, found another one",
    );
}
