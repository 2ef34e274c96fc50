/** One schema, without what is below it, in the words of 2020-12. */
import { invalidField } from "../../core/errors.ts";
import { type JsonObject, type JsonValue, tryParseJson, without } from "../json/json.ts";
import type { Compilation, Place } from "./compilation.ts";
import { keeps } from "./dialect.ts";
import { literalsIn } from "./intersect.ts";
import { isNumber, type JsonType, KEYWORDS, splitAnnotations } from "./keywords.ts";
import { fieldAt, pointerBelow } from "./pointer.ts";
import { quote } from "./quote.ts";
import { distinct } from "./same-json.ts";
import { findMisshape } from "./shapes.ts";

/**
 * Rewrites one schema: lists in `items` and `additionalItems`, `dependencies`, OpenAPI's
 * `nullable` and upper-case types take their form of today. What only names a schema is left
 * out, and so are words that JSON Schema does not have, which are noted.
 * @throws InvalidRequestError naming a keyword whose value it cannot have.
 */
export function normalize(compilation: Compilation, schema: JsonObject, place: Place): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]) =>
    value === undefined ? [] : normalizeEntry(compilation, schema, key, value, place),
  );
  const normal = Object.fromEntries(entries);
  if (Object.keys(normal).length < entries.length) throw severalDrafts(compilation, entries, place);
  return schema.nullable === true ? withNull(normal) : normal;
}

type Entry = [string, JsonValue];

function normalizeEntry(
  compilation: Compilation,
  schema: JsonObject,
  key: string,
  value: JsonValue,
  place: Place,
): Entry[] {
  const keyword = KEYWORDS.get(key);
  if (keyword === undefined) {
    noteUnknown(compilation, key, place);
    return keeps(compilation.dialect, key) ? [[key, value]] : [];
  }
  const misshape = findMisshape(keyword.shape, value);
  if (misshape !== undefined) {
    throw invalidField(fieldAt(compilation.field, pointerBelow(place.pointer, key)), misshape);
  }
  if (keyword.role === "identity") return [];
  switch (key) {
    case "type":
      return [["type", typeList(value)]];
    case "enum":
      return [[key, readLiterals(compilation, schema, value)]];
    case "items":
      return [Array.isArray(value) ? ["prefixItems", value] : ["items", value]];
    case "additionalItems":
      return Array.isArray(schema.items) ? [["items", value]] : [];
    case "dependencies":
      return splitDependencies(value);
    case "$dynamicRef":
    case "$recursiveRef":
      return [["$ref", value]];
    case "nullable":
      if (value === true) noteNullable(compilation, place);
      return [];
    default:
      return [[key, value]];
  }
}

/** Words of two drafts that are the same word today, with no rule for what they say together. */
function severalDrafts({ field }: Compilation, entries: readonly Entry[], { pointer }: Place): Error {
  const keys = entries.map(([key]) => key);
  const [twice = ""] = keys.filter((key, index) => keys.indexOf(key) !== index);
  const found = `${quote(twice)} in the words of two drafts`;
  return invalidField(fieldAt(field, pointer), `expected a schema in the words of one draft, found ${found}`);
}

/** Extensions are for others; any other unknown word may be a misspelt one, so it is told. */
function noteUnknown({ relaxed, dialect }: Compilation, key: string, { pointer }: Place): void {
  if (key.startsWith("x-") || keeps(dialect, key)) return;
  relaxed.note(pointerBelow(pointer, key), "is no keyword of JSON Schema; it was left out");
}

function noteNullable({ relaxed, dialect }: Compilation, { pointer }: Place): void {
  if (keeps(dialect, "nullable")) return;
  relaxed.note(pointerBelow(pointer, "nullable"), "is OpenAPI's word; it was taken to allow null");
}

/** The types of a `type`, each once and in lower case. */
function typeList(value: JsonValue): JsonType[] {
  const names = Array.isArray(value) ? value : [value];
  return [...new Set(names.map((name) => String(name).toLowerCase()))] as JsonType[];
}

/** Each value once. Where a dialect writes the numbers of an `enum` as strings, strings of a numeric type are numbers. */
function readLiterals({ dialect }: Compilation, { type }: JsonObject, value: JsonValue): JsonValue {
  const values = distinct(value as readonly JsonValue[]);
  const types = [type].flat().map((each) => String(each).toLowerCase());
  if (!dialect.literalsAsText || !types.some((each) => each === "number" || each === "integer"))
    return values;
  return values.map((each) => {
    const number = typeof each === "string" ? tryParseJson(each) : each;
    return isNumber(number) ? number : each;
  });
}

/** Draft 7 has one keyword for both: a list of names, or a schema. */
function splitDependencies(value: JsonValue): Entry[] {
  const all = Object.entries(value as JsonObject) as Entry[];
  const names = all.filter(([, each]) => Array.isArray(each));
  const schemas = all.filter(([, each]) => !Array.isArray(each));
  return [
    ...(names.length === 0 ? [] : [["dependentRequired", Object.fromEntries(names)] as Entry]),
    ...(schemas.length === 0 ? [] : [["dependentSchemas", Object.fromEntries(schemas)] as Entry]),
  ];
}

/** OpenAPI 3.0: null fits as well, also where an `enum` does not name it. */
function withNull(schema: JsonObject): JsonObject {
  if (schema.type === undefined && schema.enum === undefined && schema.const === undefined) {
    const [said, told] = splitAnnotations(schema);
    const { anyOf, ...others } = said;
    if (anyOf !== undefined && Object.keys(others).length === 0) {
      return { ...schema, anyOf: [...(anyOf as readonly JsonValue[]), { type: "null" }] };
    }
    return Object.keys(said).length === 0 ? told : { ...told, anyOf: [said, { type: "null" }] };
  }
  const literals = literalsIn(schema);
  const types = schema.type as readonly JsonType[] | undefined;
  return {
    ...without(schema, "const"),
    ...(types && { type: [...new Set([...types, "null"])] }),
    ...(literals && { enum: distinct([...literals, null]) }),
  };
}
