import { detail, Problem } from "./problem.ts";

/**
 * Reads a JSON value as Google's servers read the JSON form of a protobuf message: fields by either of their names, null
 * for what is unset, numbers also as strings. Returns the value with the names of JSON; notes what is wrong with it.
 */
export type Read = (value: unknown, place: Place) => unknown;

/** Where a value stands, and what has been found wrong so far. */
export interface Place {
  /** Path of the message that holds it, such as `generation_config`; empty at the top. */
  readonly parent: string;
  /** Path of the value itself. */
  readonly path: string;
  readonly violations: Violation[];
}

interface Violation {
  readonly field?: string;
  readonly description: string;
}

/** The fields of a message by their names in JSON. */
export interface Fields {
  readonly [name: string]: Read;
}

const types = "type.googleapis.com/google.ai.generativelanguage.v1beta";

/** Most characters of a wrong value that an error repeats. */
const longestQuote = 100;

/** Reads a body. Throws the 400 that names all that is wrong with it. */
export function readMessage<Message>(read: Read, body: unknown): Message {
  const violations: Violation[] = [];
  const message = read(body, { parent: "", path: "", violations });
  if (violations.length === 0) return message as Message;
  throw new Problem({
    code: 400,
    message: violations.map(({ description }) => description).join("\n"),
    status: "INVALID_ARGUMENT",
    details: [detail("BadRequest", { fieldViolations: violations })],
  });
}

/** A message with these fields and no others. The fields are asked for when they are needed, so that messages can nest. */
export function message(name: string, fields: () => Fields): Read {
  return single((value, place) => {
    if (!isObject(value)) return invalid(value, place, `${types}.${name}`);
    const known = fields();
    const entries = Object.entries(value).flatMap(([key, each]) => readField(known, key, each, place));
    return Object.fromEntries(entries);
  });
}

/** A list. One value without a list around it is a list of one. */
export function repeated(element: Read): Read {
  return (value, place) => {
    const list = Array.isArray(value) ? value : [value];
    return list.map((each, index) => element(each, { ...place, path: `${place.path}[${index}]` }));
  };
}

/** A table of values by strings. */
export function map(element: Read): Read {
  return single((value, place) => {
    if (!isObject(value)) return invalid(value, place, "Map");
    const entries = Object.entries(value).map(([key, each], index): [string, unknown] => [
      key,
      element(each, { ...place, path: `${place.path}[${index}].value` }),
    ]);
    return Object.fromEntries(entries);
  });
}

/** Any JSON. */
export const anything: Read = (value) => value;

/** Any JSON object. */
export const struct: Read = single((value, place) =>
  isObject(value) ? value : invalid(value, place, "type.googleapis.com/google.protobuf.Struct"),
);

/** A string. */
export const string: Read = single((value, place) =>
  typeof value === "string" ? value : invalid(value, place, "TYPE_STRING"),
);

/** A boolean. */
export const bool: Read = single((value, place) =>
  typeof value === "boolean" ? value : invalid(value, place, "TYPE_BOOL"),
);

/** A whole number of 32 bits. */
export const int32: Read = single((value, place) => {
  const number = numberIn(value);
  const isInteger = Number.isInteger(number) && Math.abs(number) < 2 ** 31;
  return isInteger ? number : invalid(value, place, "TYPE_INT32");
});

/** A number. */
export const float: Read = single((value, place) => {
  const number = numberIn(value);
  return Number.isNaN(number) ? invalid(value, place, "TYPE_FLOAT") : number;
});

/** Bytes: base64 in either alphabet, as it came. */
export const bytes: Read = single((value, place) => {
  if (typeof value !== "string") return invalid(value, place, "TYPE_BYTES");
  if (/^[\w+/-]*={0,2}$/.test(value)) return value;
  const shown = JSON.stringify(value.slice(0, longestQuote));
  return note(place, `Invalid value at '${place.path}' (TYPE_BYTES), Base64 decoding failed for ${shown}`);
});

/** One of the words of an enum, in whatever case. Returns the word as it is defined. */
export function enumeration(name: string, words: readonly string[]): Read {
  return single((value, place) => {
    const word = typeof value === "string" ? value.toUpperCase() : undefined;
    return words.find((each) => each === word) ?? invalid(value, place, `${types}.${name}`);
  });
}

/** Refuses a list where one value is wanted. */
function single(read: Read): Read {
  return (value, place) => {
    if (!Array.isArray(value)) return read(value, place);
    const name = place.path.slice(place.parent === "" ? 0 : place.parent.length + 1);
    return note(place, unknownName(name, place.parent, "Proto field is not repeating, cannot start list."));
  };
}

function readField(
  fields: Fields,
  key: string,
  value: unknown,
  { path, violations }: Place,
): [string, unknown][] {
  const name = key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const read = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (read === undefined) {
    note({ parent: path, path, violations }, unknownName(key, path, "Cannot find field."));
    return [];
  }
  if (value === null) return [];
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return [[name, read(value, { parent: path, path: path === "" ? snake : `${path}.${snake}`, violations })]];
}

function unknownName(name: string, parent: string, complaint: string): string {
  const where = parent === "" ? "" : ` at '${parent}'`;
  return `Invalid JSON payload received. Unknown name ${JSON.stringify(name.slice(0, longestQuote))}${where}: ${complaint}`;
}

function invalid(value: unknown, place: Place, type: string): undefined {
  const shown = typeof value === "object" ? "" : `, ${JSON.stringify(value).slice(0, longestQuote)}`;
  note(place, `Invalid value at '${place.path}' (${type})${shown}`);
}

function note({ path, violations }: Place, description: string): void {
  violations.push(path === "" ? { description } : { field: path, description });
}

/** The number that a value is, or spells; NaN for none. */
function numberIn(value: unknown): number {
  if (typeof value === "string") return value.trim() === "" ? Number.NaN : Number(value);
  return typeof value === "number" ? value : Number.NaN;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
