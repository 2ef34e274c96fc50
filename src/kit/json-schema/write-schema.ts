/** Writes keywords without subschemas: kept if the dialect has them, else moved into the description. */
import { type JsonObject, type JsonValue, without } from "../json/json.ts";
import { lose, type SchemaLocation } from "./compilation.ts";
import { keeps, type SchemaDialect } from "./dialect.ts";
import { isAssertion, type JsonTypes, KEYWORDS } from "./keywords.ts";
import { toWords } from "./messages.ts";
import { type getLiterals, hasType } from "./values.ts";

/**
 * Writes a schema in the order of its keywords.
 * @param types Types that the schema is meant for; an empty list means every type. Assertions about other types are
 *   left out.
 * @param done Keywords that are translated already; undefined ones are left out.
 */
export function writeSchema(
  schema: JsonObject,
  types: JsonTypes,
  location: SchemaLocation,
  done: JsonObject,
) {
  const written = new Map<string, JsonValue | undefined>();
  const unsupported: Entry[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (key in done) written.set(key, done[key]);
    else if (value === undefined || hasNoEffect(key, value, types, location.run.dialect)) continue;
    else if (isSupported(key, value, location.run.dialect)) written.set(key, value);
    else unsupported.push([key, value]);
  }
  for (const [key, value] of Object.entries(done)) written.set(key, value);
  written.set("description", describe(schema, unsupported, location));
  return Object.fromEntries([...written].filter(([, value]) => value !== undefined));
}

function hasNoEffect(key: string, value: JsonValue, types: JsonTypes, { objects }: SchemaDialect): boolean {
  const about = KEYWORDS.get(key)?.types ?? [];
  if (types.length > 0 && about.length > 0 && !about.some((type) => types.includes(type))) return true;
  if (/^(minLength|minItems|minProperties|uniqueItems|not)$/.test(key)) return value === 0 || value === false;
  // All remaining properties of a closed object have been evaluated.
  return key === "unevaluatedProperties" && value === false && objects === "closed";
}

/**
 * Matches constructs that no finite automaton can express: lookaround, back references and word boundaries. Providers
 * compile automata.
 */
const IRREGULAR = /\(\?<?[=!]|\\[1-9bBk]/;

function isSupported(key: string, value: JsonValue, dialect: SchemaDialect): boolean {
  if (!keeps(dialect, key)) return false;
  switch (key) {
    case "format":
      return dialect.formats === "all" || dialect.formats.includes(String(value));
    case "pattern":
      return !IRREGULAR.test(String(value));
    case "minItems":
      return Number(JSON.stringify(value)) <= (dialect.highestMinItems ?? Infinity);
    default:
      // Supported literal values are written by `writeLiterals`.
      return key !== "enum" && key !== "const";
  }
}

/** The formats that JSON Schema defines and validators may check. Any other only describes the value. */
const STANDARD_FORMATS = [
  ...["date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4"],
  ...["ipv6", "uri", "uri-reference", "uri-template", "iri", "iri-reference", "uuid", "json-pointer"],
  ...["relative-json-pointer", "regex"],
];

type Entry = readonly [key: string, value: JsonValue];

/** Returns the description of a schema, with a sentence for each unsupported keyword. Reports the lost keywords. */
export function describe({ description: given }: JsonObject, unsupported: Entry[], location: SchemaLocation) {
  const added: string[] = [];
  for (const [key, value] of unsupported) {
    const sentence = sentenceFor(key, value);
    const isLoss = isAssertion(key) && (key !== "format" || STANDARD_FORMATS.includes(String(value)));
    if (isLoss)
      loseKeyword(key, location, sentence === undefined ? "left out" : "moved into the description");
    if (sentence !== undefined && !String(given).includes(sentence)) added.push(sentence);
  }
  if (added.length === 0) return given;
  return given === undefined || given === "" ? added.join(" ") : `${String(given)}\n${added.join(" ")}`;
}

/** Reports a keyword that the dialect does not have, or does not have with this value. */
export function loseKeyword(key: string, location: SchemaLocation, outcome = "left out"): void {
  lose(location, `is not enforced by ${location.run.dialect.name}; it was ${outcome}`, key);
}

/** Maximum number of characters of one sentence. A longer one is left out: it would cost more tokens than it helps. */
const MAX_SENTENCE = 600;

/** Returns the sentence for a keyword; undefined if a model has no use for it, or it would be too long. */
function sentenceFor(key: string, value: JsonValue): string | undefined {
  const json = JSON.stringify(value);
  const isHidden = ["contentSchema", "propertyOrdering", "title"].includes(key);
  if (isHidden || json.includes('"$ref"')) return undefined;
  const name = toWords(key);
  const text = typeof value === "string" ? `"${value}"` : json;
  const sentence = `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${text}.`;
  return sentence.length > MAX_SENTENCE ? undefined : sentence;
}

type Literals = ReturnType<typeof getLiterals>;

/** Writes `enum` and `const`; nothing if the dialect cannot have the values, so that they move into the description. */
export function writeLiterals(values: Literals, schema: JsonObject, dialect: SchemaDialect): JsonObject {
  if (values === undefined) return {};
  if (values.every((value) => hasType(value, dialect.literals))) {
    const isSingle = schema.enum === undefined && keeps(dialect, "const");
    return isSingle ? { const: values[0] } : { enum: values, const: undefined };
  }
  // Null alone, or both booleans, are the complete set of values of their type.
  const isNull = values.every((value) => value === null);
  const isBoolean = values.length === 2 && values.every((value) => typeof value === "boolean");
  return isNull || isBoolean ? { enum: undefined, const: undefined } : {};
}

const BOUNDS = [
  ["exclusiveMinimum", "minimum", 1],
  ["exclusiveMaximum", "maximum", -1],
] as const;

/** Adds inclusive bounds if the dialect has no exclusive ones. They are exact only for integers. */
export function rewriteBounds(schema: JsonObject, types: JsonTypes, dialect: SchemaDialect): JsonObject {
  let rewritten = schema;
  for (const [exclusive, inclusive, step] of BOUNDS) {
    const { [exclusive]: bound, [inclusive]: other } = schema;
    const isSupported = keeps(dialect, exclusive) || !keeps(dialect, inclusive);
    if (isSupported || typeof bound !== "number" || other !== undefined) continue;
    const isExact = !types.includes("number") && Number.isSafeInteger(bound + step);
    const others = isExact ? without(rewritten, exclusive) : rewritten;
    rewritten = { ...others, [inclusive]: isExact ? bound + step : bound };
  }
  return rewritten;
}
