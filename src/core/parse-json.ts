import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { parseJsonText } from "./json-text.ts";
import { type StandardSchema, validate } from "./schema.ts";

export type { JsonObject, JsonValue };

/** Parsed JSON that a model wrote, or the error that describes its problem. */
export type ParseResult<Value, Failure extends Error> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: Failure };

/** Creates the error of a parse. The problem follows "is" or "are": "not valid JSON". */
type Fail<Failure> = (problem: string, cause?: unknown) => Failure;

/** Parses JSON text, and checks the value against the schema if one is given. */
export function parseJson<Failure extends Error>(
  text: string,
  fail: Fail<Failure>,
  schema?: StandardSchema,
): ParseResult<unknown, Failure> {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch (cause) {
    // The cause quotes the text, so it stays out of the message.
    return { ok: false, error: fail("not valid JSON", cause) };
  }
  if (schema === undefined) return { ok: true, value };
  const checked = validate(schema, value);
  if ("value" in checked) return { ok: true, value: checked.value };
  return { ok: false, error: fail(`not valid for the schema: ${checked.problem}`) };
}

/** Parses the text of a JSON object. */
export function parseJsonObject<Failure extends Error>(
  text: string,
  fail: Fail<Failure>,
): ParseResult<JsonObject, Failure> {
  const result = parseJson(text, fail);
  if (!result.ok) return result;
  if (isJsonObject(result.value)) return { ok: true, value: result.value };
  return { ok: false, error: fail("not a JSON object") };
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
