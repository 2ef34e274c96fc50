/** What becomes of the keywords that say something by themselves: kept, or put into words. */
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Compilation, Place } from "./compilation.ts";
import { describe, intoWords, sentenceFor } from "./describe.ts";
import { keeps, type SchemaDialect } from "./dialect.ts";
import { type JsonType, KEYWORDS, STANDARD_FORMATS } from "./keywords.ts";
import { pointerBelow } from "./pointer.ts";
import { isRegular } from "./regular-pattern.ts";
import { isOfType } from "./types-of.ts";

/**
 * Writes a schema in the order of its keywords.
 * @param types What the schema is about; assertions about other types say nothing. Empty: any.
 * @param done Keywords that are translated already; undefined ones are left out.
 */
export function writeSchema(
  compilation: Compilation,
  schema: JsonObject,
  types: readonly JsonType[],
  place: Place,
  done: JsonObject,
): JsonObject {
  const written = new Map<string, JsonValue | undefined>();
  const sentences: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (key in done) written.set(key, done[key]);
    else if (value === undefined || saysNothing(key, value, types)) continue;
    else if (isTaken(compilation.dialect, key, value)) written.set(key, value);
    else putIntoWords(compilation, key, value, place, sentences);
  }
  for (const [key, value] of Object.entries(done)) if (!written.has(key)) written.set(key, value);
  const description = describe(schema.description, sentences);
  if (description !== undefined) written.set("description", description);
  return Object.fromEntries([...written].filter(([, value]) => value !== undefined));
}

/** Puts a keyword that the dialect does not have into words, and reports it. */
export function dropKeyword(
  compilation: Compilation,
  schema: JsonObject,
  key: string,
  place: Place,
): JsonObject {
  const words = intoWords(schema, key);
  loseKeyword(compilation, place, key, words.description !== schema.description);
  return words;
}

/** Reports a keyword that the dialect does not have, or not with this value. */
export function loseKeyword(
  { dialect, relaxed }: Compilation,
  place: Place,
  key: string,
  told: boolean,
): void {
  const outcome = told ? "it was moved into the description" : "it was left out";
  relaxed.lose(pointerBelow(place.pointer, key), `is not enforced by ${dialect.name}; ${outcome}`);
}

/** Whether leaving the keyword out changes nothing. */
function saysNothing(key: string, value: JsonValue, types: readonly JsonType[]): boolean {
  const about = KEYWORDS.get(key)?.types;
  if (about !== undefined && types.length > 0 && !about.some((type) => types.includes(type))) return true;
  return NEUTRAL.get(key) === value;
}

const NEUTRAL: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["minLength", 0],
  ["minItems", 0],
  ["minProperties", 0],
  ["uniqueItems", false],
  ["not", false],
]);

function isTaken(dialect: SchemaDialect, key: string, value: JsonValue): boolean {
  if (!keeps(dialect, key)) return false;
  if (key === "format") return dialect.formats === "all" || dialect.formats.includes(String(value));
  if (key === "pattern") return isRegular(String(value));
  if (key === "const") return areTaken(dialect, [value]);
  if (key === "enum") return areTaken(dialect, value as readonly JsonValue[]);
  return Number(JSON.stringify(value)) <= (dialect.greatest[key] ?? Infinity) || !(key in dialect.greatest);
}

/** Whether the dialect takes all of the values as literals. */
export function areTaken({ literals }: SchemaDialect, values: readonly JsonValue[]): boolean {
  return values.every((value) => isOfType(value, literals));
}

function putIntoWords(
  compilation: Compilation,
  key: string,
  value: JsonValue,
  place: Place,
  sentences: string[],
): void {
  const sentence = sentenceFor(key, value);
  if (sentence !== undefined) sentences.push(sentence);
  if (KEYWORDS.get(key)?.role !== "assertion") return;
  if (key === "format" && !STANDARD_FORMATS.has(String(value))) return;
  loseKeyword(compilation, place, key, sentence !== undefined);
}
