/**
 * Finds the errors in the JSON of a message. protobuf-es stops at the first mistake and names the field without its
 * path in the request. Runs only for JSON that was refused.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { didYouMean } from "../../config/suggest.ts";
import type { FieldViolation } from "../../core/errors.ts";
import { boundedText } from "../../core/text.ts";

/** Maximum number of reported violations. The search ends with the last one. */
const MAX_VIOLATIONS = 10;

/** Maximum number of nested messages, as in protobuf-es. */
const MAX_LEVELS = 100;

const MAX_NAME_BYTES = 64;

/**
 * Returns the violations of a message's JSON, in document order. Fields are named as in proto files; texts are not
 * shown. Empty if the JSON is valid, or if this search does not know the error.
 * @param registry Types that an Any may hold.
 */
export function findJsonViolations(desc: DescMessage, json: unknown, registry?: Registry): FieldViolation[] {
  const search = new Search(registry);
  search.message(desc, json, "", 1);
  return search.violations.slice(0, MAX_VIOLATIONS);
}

class Search {
  readonly violations: FieldViolation[] = [];
  readonly #registry: Registry | undefined;

  constructor(registry: Registry | undefined) {
    this.#registry = registry;
  }

  message(desc: DescMessage, json: unknown, path: string, level: number): void {
    if (level > MAX_LEVELS) return this.#add(path, `expected at most ${MAX_LEVELS} levels of nesting`);
    if (desc.typeName.startsWith("google.protobuf.")) {
      if (!this.#decodes(desc, json)) this.#mismatch(path, describeExpected(desc), json);
    } else if (isObject(json)) this.#fields(desc, json, path, level);
    else this.#mismatch(path, "an object", json);
  }

  #fields(desc: DescMessage, json: JsonFields, path: string, level: number): void {
    const names = fieldsByName(desc);
    const set = new Map<unknown, string>();
    for (const name of Object.keys(json)) {
      if (this.violations.length >= MAX_VIOLATIONS) return;
      const field = names.get(name);
      if (field === undefined) this.#unknown(desc, name, path);
      else if (this.#isFirst(field, name, json[name], path, set))
        this.#value(field, json[name], joined(path, field.name), level);
    }
  }

  #unknown({ name, fields }: DescMessage, found: string, path: string): void {
    const known = fields.map((field) => field.jsonName);
    const hint = didYouMean(found, known) || `; expected one of ${known.join(", ")}`;
    this.#add(joined(path, boundedText(found, MAX_NAME_BYTES)), `is not a field of ${name}${hint}`);
  }

  /** Records that a field is set. Adds a violation and returns false if the field, or its oneof, was set before. */
  #isFirst(field: DescField, name: string, value: unknown, path: string, set: Map<unknown, string>): boolean {
    if (value === null && field.oneof !== undefined) return true;
    const key = field.oneof ?? field;
    const before = set.get(key);
    set.set(key, name);
    if (before === undefined) return true;
    const target = field.oneof === undefined ? "the same field" : `the same oneof (${field.oneof.name})`;
    this.#add(joined(path, field.name), `expected once, found together with ${before}, which sets ${target}`);
    return false;
  }

  #value(field: DescField, value: unknown, path: string, level: number): void {
    if (value === null) return;
    if (field.fieldKind === "list") this.#list(field, value, path, level);
    else if (field.fieldKind === "map") this.#map(field, value, path, level);
    else this.#item(field, value, path, level);
  }

  #list(field: DescField & { fieldKind: "list" }, value: unknown, path: string, level: number): void {
    if (!Array.isArray(value)) return this.#mismatch(path, "an array", value);
    for (const [index, item] of value.entries()) {
      if (this.violations.length >= MAX_VIOLATIONS) return;
      this.#item(field, item, `${path}[${index}]`, level);
    }
  }

  #map(field: DescField & { fieldKind: "map" }, value: unknown, path: string, level: number): void {
    if (!isObject(value)) return this.#mismatch(path, "an object", value);
    for (const [key, item] of Object.entries(value)) {
      if (this.violations.length >= MAX_VIOLATIONS) return;
      this.#item(field, item, `${path}[${JSON.stringify(boundedText(key, MAX_NAME_BYTES))}]`, level);
    }
  }

  /** Checks a single value: the value of a field, or an item of a list or map. */
  #item(field: DescField, value: unknown, path: string, level: number): void {
    if (field.message !== undefined) this.message(field.message, value, path, level + 1);
    else if (field.enum !== undefined) this.#enum(field.enum, value, path);
    else if (field.scalar !== undefined && !isPlain(field.scalar, value) && !this.#decodesItem(field, value))
      this.#mismatch(path, EXPECTED[field.scalar], value);
  }

  #enum({ values }: DescEnum, value: unknown, path: string): void {
    if (typeof value === "number" && Number.isInteger(value)) return;
    if (values.some(({ name }) => name === value)) return;
    const known = values.filter(({ number }) => number !== 0).map(({ name }) => name);
    // A misspelt value is shown, longer text is not.
    const isWord = typeof value === "string" && /^[\w-]{1,64}$/.test(value);
    const found = isWord ? JSON.stringify(value) : describe(value);
    this.#add(path, `expected one of ${known.join(", ")}, found ${found}`);
  }

  #mismatch(path: string, expected: string, found: unknown): void {
    this.#add(path, `expected ${expected}, found ${describe(found)}`);
  }

  #add(path: string, description: string): void {
    this.violations.push({ field: path === "" ? "request" : path, description });
  }

  /** Reports whether protobuf-es accepts a value: it knows all forms of numbers and base64. */
  #decodesItem(field: DescField, value: unknown): boolean {
    const whole = field.fieldKind === "list" ? [value] : field.fieldKind === "map" ? { "0": value } : value;
    return this.#decodes(field.parent, { [field.jsonName]: whole });
  }

  #decodes(desc: DescMessage, json: unknown): boolean {
    try {
      fromJson(desc, json as JsonValue, this.#registry === undefined ? {} : { registry: this.#registry });
      return true;
    } catch {
      return false;
    }
  }
}

type JsonFields = Readonly<Record<string, unknown>>;

const NAMES = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** Indexes the fields by their names in proto files and in JSON. */
function fieldsByName(desc: DescMessage): ReadonlyMap<string, DescField> {
  const known = NAMES.get(desc);
  if (known !== undefined) return known;
  const names = new Map(
    desc.fields.flatMap((field) => [[field.name, field] as const, [field.jsonName, field] as const]),
  );
  NAMES.set(desc, names);
  return names;
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function isObject(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reports whether a value is plainly valid for its type, so that it need not be decoded to find out. */
function isPlain(type: ScalarType, value: unknown): boolean {
  if (type === ScalarType.STRING) return typeof value === "string";
  if (type === ScalarType.BOOL) return typeof value === "boolean";
  return type === ScalarType.INT32 && typeof value === "number" && (value | 0) === value;
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "string") return `a string of length ${value.length}`;
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : String(value);
}

const WHOLE = "a whole number";
const NOT_NEGATIVE = "a whole number from 0";

const EXPECTED: Readonly<Record<ScalarType, string>> = {
  [ScalarType.STRING]: "a string",
  [ScalarType.BOOL]: "true or false",
  [ScalarType.BYTES]: "base64",
  [ScalarType.DOUBLE]: "a number",
  [ScalarType.FLOAT]: "a number",
  [ScalarType.INT32]: WHOLE,
  [ScalarType.SINT32]: WHOLE,
  [ScalarType.SFIXED32]: WHOLE,
  [ScalarType.INT64]: WHOLE,
  [ScalarType.SINT64]: WHOLE,
  [ScalarType.SFIXED64]: WHOLE,
  [ScalarType.UINT32]: NOT_NEGATIVE,
  [ScalarType.FIXED32]: NOT_NEGATIVE,
  [ScalarType.UINT64]: NOT_NEGATIVE,
  [ScalarType.FIXED64]: NOT_NEGATIVE,
};

function describeExpected({ typeName, name }: DescMessage): string {
  switch (typeName) {
    case "google.protobuf.Duration":
      return 'a duration such as "1.5s"';
    case "google.protobuf.Timestamp":
      return 'a time such as "2026-01-31T12:00:00Z"';
    case "google.protobuf.Struct":
      return "an object";
    case "google.protobuf.ListValue":
      return "an array";
    default:
      return `the JSON of ${name}`;
  }
}
