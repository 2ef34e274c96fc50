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

/** What an answer with an object is read by. */
export interface ObjectReader {
  readonly format: ObjectFormat;
  /** Other ways to ask for the object, tried in this order if the provider refuses the format. */
  readonly fallbacks?: readonly ObjectFormat[] | undefined;
  readonly validator: SchemaValidator;
}

/** An object, and its JSON text. */
export interface ReadObject {
  readonly object: JsonValue;
  /** The model's own text where it is JSON and nothing else: numbers keep all their digits. */
  readonly json: string;
}

/**
 * The object of an answer.
 * @param usage Tokens of the generation, for the error.
 * @throws NoObjectGeneratedError with the text and what is wrong with it, where it is no JSON or does not match the schema.
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

/** The value in what the model wrote. Undefined if that is a wrapping object without it, as one that has just begun. */
export function unwrap(written: JsonValue, { isWrapped = false }: ObjectFormat): JsonValue | undefined {
  if (!isWrapped) return written;
  return hasWrappedMember(written) ? written[WRAPPED_MEMBER] : undefined;
}

function hasWrappedMember(written: JsonValue): written is JsonObject {
  return isObject(written) && Object.hasOwn(written, WRAPPED_MEMBER);
}

/** A parser for the text of an object as it arrives. */
export function objectParser({ schema, isWrapped }: ObjectFormat): PartialJsonParser {
  // Models that nothing holds to the wrapping object may write the value itself.
  if (isWrapped === true) return new PartialJsonParser({ embedded: "value" });
  // Models that nothing holds to a format put the JSON into a code fence or behind a sentence.
  if (schema.type === "object") return new PartialJsonParser({ embedded: "object" });
  return new PartialJsonParser(schema.type === "array" ? { embedded: "value" } : {});
}

/** The text that should be the object. A model that was to call a tool and wrote text instead has its text read. */
function getObjectText(response: Response, { strategy, name }: ObjectFormat): string {
  const call = strategy === "tool" && toolCallsOf(response).find((each) => each.name === name);
  return call ? toolInputOf(call) : textOf(response);
}

function parse(text: string, format: ObjectFormat) {
  const parser = objectParser(format);
  parser.push(text);
  return parser.end();
}

/** Why an answer that is no object may be none. */
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
