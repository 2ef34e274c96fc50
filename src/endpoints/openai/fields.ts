/** Reads the fields of a request body. Errors name the field, what was expected and what was found. */
import { InvalidRequestError } from "../../core/errors.ts";
import { describeJsonPosition } from "../../core/json-text.ts";
import {
  asObject,
  isDeeper,
  isObject,
  type JsonObject,
  MAX_JSON_LEVELS,
  parseJson,
} from "../../kit/json/json.ts";
import { splitElements, toMembers } from "../../kit/json/json-source.ts";
import { decodeExactBase64 } from "../../kit/media/exact-base64.ts";

/** The error codes of OpenAI's API for invalid requests. */
export type ParameterErrorCode =
  | "invalid_stream_id"
  | "invalid_type"
  | "invalid_value"
  | "missing_required_parameter"
  | "unsupported_parameter"
  | "unsupported_value";

/**
 * Creates the error for an invalid field of a request.
 * @param path Path in the body: `input[2].content[0].image_url`. Empty for the body as a whole.
 */
export function invalidParameter(
  path: string,
  code: ParameterErrorCode,
  description: string,
): InvalidRequestError {
  const violations = path === "" ? [] : [{ field: path, description }];
  return new InvalidRequestError(path === "" ? description : `${path}: ${description}`, {
    violations,
    errorCode: code,
  });
}

/** Bounds of a value. For texts and lists, bounds of the length. */
export interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

/**
 * Parses the body of a request.
 * @throws InvalidRequestError if it is not a JSON object in UTF-8, or nests too deep.
 */
export function parseBody(body: Uint8Array): Fields {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw invalidParameter("", "invalid_value", "expected a body of JSON in UTF-8, found other bytes");
  }
  try {
    value = parseJson(text);
  } catch (thrown) {
    // The cause quotes the body, so it is left out.
    const found = text === "" ? "nothing" : `text that is not JSON at ${describeJsonPosition(thrown)}`;
    throw invalidParameter("", "invalid_value", `expected a JSON object as the body, found ${found}`);
  }
  if (!isObject(value))
    throw invalidParameter("", "invalid_type", `expected a JSON object as the body, found ${getKind(value)}`);
  return toFields(value, () => text);
}

/**
 * Returns the fields of a body that was parsed.
 * @param text Returns its text. It may have further members.
 * @throws InvalidRequestError if it nests too deep.
 */
export function toFields(body: JsonObject, text: () => string): Fields {
  if (isDeeper(body, MAX_JSON_LEVELS))
    throw invalidParameter(
      "",
      "invalid_value",
      `expected at most ${MAX_JSON_LEVELS} levels of JSON in the body, found more`,
    );
  return new Fields(body, "", text);
}

/** An element of a list. */
export interface Element {
  readonly value: unknown;
  readonly path: string;
  /** Returns its text in the body, as spelled there. */
  readonly text: () => string;
}

/** The fields of an object in the body. A field that is null counts as absent. */
export class Fields {
  readonly value: JsonObject;
  /** Path of the object; empty for the body. */
  readonly path: string;
  /** Returns the text of the object, as spelled in the body. */
  readonly text: () => string;
  #members: ReadonlyMap<string, string> | undefined;

  constructor(value: JsonObject, path: string, text: () => string) {
    this.value = value;
    this.path = path;
    this.text = text;
  }

  /** Returns the fields of an element that has to be an object. */
  static of({ value, path, text }: Element): Fields {
    const object = asObject(value);
    if (object === undefined)
      throw invalidParameter(path, "invalid_type", `expected an object, found ${getKind(value)}`);
    return new Fields(object, path, text);
  }

  /** Returns the path of a field. */
  at(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  /** Reports whether a field is set. */
  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** Returns the value of a field, unchecked. */
  get(name: string): unknown {
    return Object.hasOwn(this.value, name) ? (this.value[name] ?? undefined) : undefined;
  }

  /** Returns the text of a field's value, as spelled in the body. Empty if it is absent. */
  spelled(name: string): string {
    return this.getMembers().get(name) ?? "";
  }

  /** Returns the texts of all values by the names of their fields, as spelled in the body. */
  readonly getMembers = (): ReadonlyMap<string, string> => {
    this.#members ??= toMembers(this.text());
    return this.#members;
  };

  /** Throws the error of a missing field. */
  missing(name: string, expected: string): never {
    throw invalidParameter(this.at(name), "missing_required_parameter", `is missing, expected ${expected}`);
  }

  /** Reads a text. */
  string(name: string, bounds: Bounds = {}): string | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw this.#wrongType(name, "a text", value);
    if (!value.isWellFormed())
      throw invalidParameter(this.at(name), "invalid_value", "contains an unpaired surrogate");
    this.#checkBounds(name, value.length, bounds, "characters");
    return value;
  }

  /** Reads a required text. */
  requireString(name: string, bounds: Bounds = {}): string {
    return this.string(name, bounds) ?? this.missing(name, "a text");
  }

  /** Reads a boolean. */
  boolean(name: string): boolean | undefined {
    const value = this.get(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.#wrongType(name, "true or false", value);
  }

  /** Reads a number. */
  number(name: string, { min = -Infinity, max = Infinity }: Bounds = {}): number | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "number") throw this.#wrongType(name, "a number", value);
    if (value >= min && value <= max) return value;
    throw invalidParameter(
      this.at(name),
      "invalid_value",
      `expected a number ${toRange(value, min, max)}, found ${value}`,
    );
  }

  /** Reads a whole number. */
  integer(name: string, bounds: Bounds = {}): number | undefined {
    const value = this.number(name, { min: bounds.min ?? -MAX_INT32, max: bounds.max ?? MAX_INT32 });
    if (value === undefined || Number.isInteger(value)) return value;
    throw invalidParameter(this.at(name), "invalid_type", `expected a whole number, found ${value}`);
  }

  /** Reads one of the given words. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.string(name);
    if (value === undefined) return undefined;
    const word = words.find((each) => each === value);
    if (word !== undefined) return word;
    throw invalidParameter(
      this.at(name),
      "invalid_value",
      `expected ${joinWords(words)}, found ${quote(value)}`,
    );
  }

  /** Reads an object. */
  object(name: string): Fields | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    return Fields.of({ value, path: this.at(name), text: () => this.spelled(name) });
  }

  /**
   * Reads a list.
   * @param expected Description of the expected values, for the error, if the field may also have other types.
   */
  list(name: string, bounds: Bounds = {}, expected = "a list"): readonly Element[] | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.#wrongType(name, expected, value);
    this.#checkBounds(name, value.length, bounds, "elements");
    let texts: readonly string[] | undefined;
    return value.map((element: unknown, index) => ({
      value: element,
      path: `${this.at(name)}[${index}]`,
      text: () => {
        texts ??= splitElements(this.spelled(name));
        return texts[index] ?? "null";
      },
    }));
  }

  /** Reads a list of texts. */
  strings(name: string, bounds: Bounds = {}): readonly string[] | undefined {
    return this.list(name, bounds)?.map(({ value, path }) => {
      if (typeof value === "string") return value;
      throw invalidParameter(path, "invalid_type", `expected a text, found ${getKind(value)}`);
    });
  }

  /** Reads an object whose values are all texts. */
  texts(name: string): Readonly<Record<string, string>> | undefined {
    const fields = this.object(name);
    if (fields === undefined) return undefined;
    const entries = Object.keys(fields.value).map((key) => [key, fields.requireString(key)] as const);
    return Object.fromEntries(entries);
  }

  #wrongType(name: string, expected: string, value: unknown): InvalidRequestError {
    return invalidParameter(this.at(name), "invalid_type", `expected ${expected}, found ${getKind(value)}`);
  }

  #checkBounds(name: string, length: number, { min = 0, max = Infinity }: Bounds, unit: string): void {
    if (length >= min && length <= max) return;
    const limit = length < min ? `at least ${min}` : `at most ${max}`;
    throw invalidParameter(this.at(name), "invalid_value", `expected ${limit} ${unit}, found ${length}`);
  }
}

/** Returns the JSON type of a value, for an error. */
function getKind(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return "a text";
  return isObject(value) ? "an object" : typeof value === "boolean" ? String(value) : "a number";
}

/** Quotes and shortens a text of the caller that is not prompt content, for an error. */
export function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);
}

/** Joins words for an error: `"a", "b" or "c"`. */
export function joinWords(words: readonly string[]): string {
  const quoted = words.map((word) => JSON.stringify(word));
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}

const MAX_QUOTED = 64;
const MAX_INT32 = 2 ** 31 - 1;

/** Describes bounds for an error. The maximum of int32 is left out if the value is below the minimum. */
function toRange(value: number, min: number, max: number): string {
  if (max === Infinity || (max === MAX_INT32 && value < min)) return `from ${min}`;
  return `from ${min} to ${max}`;
}

/** Decodes base64. @param path Path in the body, for the error. */
export function decodeBase64(base64: string, path: string): Uint8Array {
  const bytes = decodeExactBase64(base64);
  if (bytes !== undefined) return bytes;
  throw invalidParameter(path, "invalid_value", "expected base64, or a data: URI, found other characters");
}

/** @throws InvalidRequestError if the content type of a body is not JSON. */
export function checkContentType(type: string | undefined): void {
  if (type === undefined || /^application\/(.+\+)?json\s*(;|$)/i.test(type)) return;
  const found = JSON.stringify(type.slice(0, 100));
  throw invalidParameter("", "invalid_value", `expected the content type application/json, found ${found}`);
}

const MAX_PAIRS = 16;
const MAX_KEY_CHARS = 64;
const MAX_VALUE_CHARS = 512;

/** Reads `metadata`: labels of a response or a conversation. */
export function readMetadata(fields: Fields): Readonly<Record<string, string>> {
  const metadata = fields.texts("metadata") ?? {};
  const pairs = Object.entries(metadata);
  if (pairs.length > MAX_PAIRS)
    throw invalidParameter(
      "metadata",
      "invalid_value",
      `expected at most ${MAX_PAIRS} pairs, found ${pairs.length}`,
    );
  for (const [key, value] of pairs) {
    const path = `metadata.${key.slice(0, MAX_KEY_CHARS)}`;
    if (key.length > MAX_KEY_CHARS)
      throw invalidParameter(
        path,
        "invalid_value",
        `expected a key of at most ${MAX_KEY_CHARS} characters, found ${key.length}`,
      );
    if (value.length > MAX_VALUE_CHARS)
      throw invalidParameter(
        path,
        "invalid_value",
        `expected at most ${MAX_VALUE_CHARS} characters, found ${value.length}`,
      );
  }
  return metadata;
}
