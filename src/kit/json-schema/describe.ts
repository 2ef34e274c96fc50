/** Keywords in words, for the model to read where the provider does not take them. */
import type { JsonObject, JsonValue } from "../json/json.ts";

/** Characters of one sentence. A longer one would cost more than it tells. */
const MAX_SENTENCE = 600;

/**
 * What a keyword says, as one sentence, the same for the same value.
 * @returns undefined where it says nothing that a model could use, or too much.
 */
export function sentenceFor(key: string, value: JsonValue): string | undefined {
  const text = JSON.stringify(value);
  if (HIDDEN.has(key) || text.includes('"$ref"')) return undefined;
  const write = SENTENCES.get(key);
  const sentence = write === undefined ? `JSON Schema ${key}: ${text}.` : write(value, text);
  return sentence.length > MAX_SENTENCE ? undefined : sentence;
}

/** Adds sentences to the description of a schema, on a line of their own. Added ones are not added again. */
export function describe(
  description: JsonValue | undefined,
  sentences: readonly string[],
): string | undefined {
  const told = typeof description === "string" ? description : "";
  const added = sentences.filter((sentence) => !told.includes(sentence)).join(" ");
  if (added === "") return description === undefined ? undefined : told;
  return told === "" ? added : `${told}\n${added}`;
}

/** The schema without a keyword, which its description tells instead. */
export function intoWords(schema: JsonObject, key: string): JsonObject {
  const { [key]: value, ...others } = schema;
  const sentence = value === undefined ? undefined : sentenceFor(key, value);
  const description = describe(schema.description, sentence === undefined ? [] : [sentence]);
  return description === undefined ? others : { ...others, description };
}

/** Keywords that are meant for others than who writes the value. */
const HIDDEN: ReadonlySet<string> = new Set(["contentSchema", "nullable", "propertyOrdering", "title"]);

type Write = (value: JsonValue, text: string) => string;

const SENTENCES: ReadonlyMap<string, Write> = new Map<string, Write>([
  ["default", (_, text) => `Default: ${text}.`],
  ["example", (_, text) => `Example: ${text}.`],
  ["examples", (value) => `Examples: ${listed(value)}.`],
  ["deprecated", () => "Deprecated."],
  ["readOnly", () => "Read-only."],
  ["writeOnly", () => "Write-only."],
  ["contentEncoding", (value) => `Encoded as ${String(value)}.`],
  ["contentMediaType", (value) => `Holds ${String(value)}.`],
  ["enum", (value) => `One of: ${listed(value)}.`],
  ["const", (_, text) => `Always ${text}.`],
  ["minLength", (_, text) => `Minimum length: ${text}.`],
  ["maxLength", (_, text) => `Maximum length: ${text}.`],
  ["pattern", (value) => `Matches the regular expression ${String(value)}`],
  ["format", (value) => `Format: ${String(value)}.`],
  ["multipleOf", (_, text) => `A multiple of ${text}.`],
  ["minimum", (_, text) => `At least ${text}.`],
  ["maximum", (_, text) => `At most ${text}.`],
  ["exclusiveMinimum", (_, text) => `More than ${text}.`],
  ["exclusiveMaximum", (_, text) => `Less than ${text}.`],
  ["minItems", (_, text) => `Minimum number of items: ${text}.`],
  ["maxItems", (_, text) => `Maximum number of items: ${text}.`],
  ["uniqueItems", () => "No item twice."],
  ["minProperties", (_, text) => `Minimum number of properties: ${text}.`],
  ["maxProperties", (_, text) => `Maximum number of properties: ${text}.`],
  ["dependentRequired", (value) => dependentNames(value as JsonObject)],
]);

function listed(value: JsonValue): string {
  return (value as readonly JsonValue[]).map((each) => JSON.stringify(each)).join(", ");
}

function dependentNames(dependencies: JsonObject): string {
  return Object.entries(dependencies)
    .map(([name, names]) => `With ${JSON.stringify(name)} also ${listed(names ?? [])}.`)
    .join(" ");
}
