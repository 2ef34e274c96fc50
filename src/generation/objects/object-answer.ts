import { NoObjectGeneratedError } from "../../core/errors.ts";
import { textOf, toolCallsOf } from "../../core/message.ts";
import { toolInputOf } from "../../core/tools.ts";
import { FinishReason_Reason, type Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { isJson, isObject, type JsonObject, type JsonValue } from "../../kit/json/json.ts";
import { toMembers } from "../../kit/json/json-source.ts";
import { PartialJsonParser } from "../../kit/json/partial-json.ts";
import { type SchemaValidator, violationText } from "../../kit/json-schema/validation/validator.ts";
import { type ObjectFormat, WRAPPED_MEMBER } from "./object-format.ts";

/** The format and the validator for reading an answer with an object. */
export interface ObjectReader {
  readonly format: ObjectFormat;
  /** Other formats in which to ask for the object, tried in this order if the provider refuses the first. */
  readonly fallbacks?: readonly ObjectFormat[] | undefined;
  readonly validator: SchemaValidator;
}

/** An object, and its JSON text. */
export interface ReadObject {
  readonly object: JsonValue;
  /** The model's text, if it is JSON and nothing else, so that numbers keep all their digits. */
  readonly json: string;
}

/**
 * Returns the object of an answer.
 * @param usage Tokens of the generation, for the error.
 * @throws NoObjectGeneratedError with the text and its problems, if it is not JSON or does not match the schema.
 */
export function readObject(response: Response, reader: ObjectReader, usage: Usage | undefined): ReadObject {
  const text = getObjectText(response, reader.format);
  const fail = (problem: string, schemaViolations: readonly string[]) =>
    new NoObjectGeneratedError(`the answer is ${problem}${describeEnd(response)}`, {
      text,
      schemaViolations,
      usage,
      outputStarted: true,
    });
  const parsed = parse(text, reader.format);
  if (!parsed.ok) throw fail("not valid JSON", [parsed.error.message]);
  const isWrapped = reader.format.isWrapped === true && hasWrappedMember(parsed.value);
  const object = unwrap(parsed.value, reader.format) ?? parsed.value;
  const violations = reader.validator.validate(object);
  if (violations.length === 0) {
    const source = isWrapped && isJson(text) ? (toMembers(text).get(WRAPPED_MEMBER) ?? "") : text;
    return { object, json: isJson(source) ? source.trim() : JSON.stringify(object) };
  }
  throw fail("not valid for the schema", violations.map(violationText));
}

/**
 * Returns the value in the model's output. Undefined for a wrapping object without the value, as when it has just
 * begun.
 */
export function unwrap(written: JsonValue, { isWrapped = false }: ObjectFormat): JsonValue | undefined {
  if (!isWrapped) return written;
  return hasWrappedMember(written) ? written[WRAPPED_MEMBER] : undefined;
}

function hasWrappedMember(written: JsonValue): written is JsonObject {
  return isObject(written) && Object.hasOwn(written, WRAPPED_MEMBER);
}

/** Creates a parser for the text of an object as it arrives. */
export function objectParser({ schema, isWrapped }: ObjectFormat): PartialJsonParser {
  // Models that are not forced to use the wrapping object may write the value itself.
  if (isWrapped === true) return new PartialJsonParser({ embedded: "value" });
  // Models that are not forced to use a format put the JSON into a code fence or after a sentence.
  if (schema.type === "object") return new PartialJsonParser({ embedded: "object" });
  return new PartialJsonParser(schema.type === "array" ? { embedded: "value" } : {});
}

/**
 * Returns the text that should be the object. If a model was to call a tool and wrote text instead, the text is read.
 */
function getObjectText(response: Response, { strategy, name }: ObjectFormat): string {
  const call = strategy === "tool" && toolCallsOf(response).find((each) => each.name === name);
  return call ? toolInputOf(call) : textOf(response);
}

function parse(text: string, format: ObjectFormat) {
  const parser = objectParser(format);
  parser.push(text);
  return parser.end();
}

/** Explains why an answer may hold no object. */
function describeEnd({ finishReason }: Response): string {
  switch (finishReason?.reason) {
    case FinishReason_Reason.LENGTH:
      return " (the answer was cut off at its token limit)";
    case FinishReason_Reason.CONTENT_FILTER:
      return " (the answer was stopped by a content filter)";
    default:
      return "";
  }
}
