import { isJsonObject } from "../json-object.ts";
import { detail, invalidArgument, Problem } from "./problem.ts";

/**
 * Reads a JSON value as Google's servers read the JSON form of a protobuf message: fields by their JSON or proto name,
 * null for unset, numbers also as strings. Returns the value with the JSON names; records violations.
 */
export type Read = (value: unknown, location: Location) => unknown;

/** The position of a value in the body, and the violations so far. */
export interface Location {
  /** Path of the message that holds it, for instance `generation_config`; empty at the top. */
  readonly parent: string;
  /** Path of the value itself. */
  readonly path: string;
  readonly violations: Violation[];
}

interface Violation {
  readonly field?: string;
  readonly description: string;
}

/** The fields of a message by their names in JSON. @typeParam Message Its type on the wire. */
export type Fields<Message> = { readonly [Field in keyof Message]?: Read };

const NO_MESSAGE = 'Invalid JSON payload received. Unknown name "": Root element must be a message.';

const types = "type.googleapis.com/google.ai.generativelanguage.v1beta";

/** Maximum number of characters of an invalid value in an error. */
const maxQuotedChars = 100;

/** Reads a body. Throws a 400 with all its violations. */
export function readMessage<Message>(read: Read, body: unknown): Message {
  if (!isJsonObject(body)) throw invalidArgument(NO_MESSAGE);
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

/** A message with these fields and no others. The fields are a function, so that messages can be recursive. */
export function message<Message>(name: string, fields: () => Fields<Message>): Read {
  return single((value, location) => {
    if (!isJsonObject(value)) return invalid(value, location, `${types}.${name}`);
    const known: Readonly<Record<string, Read | undefined>> = fields();
    const entries = Object.entries(value).flatMap(([key, each]) => readField(known, key, each, location));
    return Object.fromEntries(entries);
  });
}

/** A list. A single value is a list with one element. */
export function repeated(element: Read): Read {
  return (value, location) => {
    const list = Array.isArray(value) ? value : [value];
    return list.map((each, index) => element(each, { ...location, path: `${location.path}[${index}]` }));
  };
}

/** A map with string keys. */
export function map(element: Read): Read {
  return single((value, location) => {
    if (!isJsonObject(value)) return invalid(value, location, "Map");
    const entries = Object.entries(value).map(([key, each], index): [string, unknown] => [
      key,
      element(each, { ...location, path: `${location.path}[${index}].value` }),
    ]);
    return Object.fromEntries(entries);
  });
}

/** Any JSON. */
export const anything: Read = (value) => value;

/** Any JSON object. */
export const struct: Read = single((value, location) =>
  isJsonObject(value) ? value : invalid(value, location, "type.googleapis.com/google.protobuf.Struct"),
);

/** A string. */
export const string: Read = single((value, location) =>
  typeof value === "string" ? value : invalid(value, location, "TYPE_STRING"),
);

/** A boolean. */
export const bool: Read = single((value, location) =>
  typeof value === "boolean" ? value : invalid(value, location, "TYPE_BOOL"),
);

/** An integer of 32 bits. */
export const int32: Read = single((value, location) => {
  const number = numberIn(value);
  const isInteger = Number.isInteger(number) && Math.abs(number) < 2 ** 31;
  return isInteger ? number : invalid(value, location, "TYPE_INT32");
});

/** A number. */
export const float: Read = single((value, location) => {
  const number = numberIn(value);
  return Number.isNaN(number) ? invalid(value, location, "TYPE_FLOAT") : number;
});

/** Bytes, in the standard or URL-safe alphabet of base64, unchanged. */
export const bytes: Read = single((value, location) => {
  if (typeof value !== "string") return invalid(value, location, "TYPE_BYTES");
  if (/^[\w+/-]*={0,2}$/.test(value)) return value;
  const shown = JSON.stringify(value.slice(0, maxQuotedChars));
  return note(
    location,
    `Invalid value at '${location.path}' (TYPE_BYTES), Base64 decoding failed for ${shown}`,
  );
});

/** A value of an enum, in any case. Returns the value as it is defined. */
export function enumeration(name: string, values: readonly string[]): Read {
  return single((value, location) => {
    const upper = typeof value === "string" ? value.toUpperCase() : undefined;
    return values.find((each) => each === upper) ?? invalid(value, location, `${types}.${name}`);
  });
}

/** Refuses a list if a single value is expected. */
function single(read: Read): Read {
  return (value, location) => {
    if (!Array.isArray(value)) return read(value, location);
    const name = location.path.slice(location.parent === "" ? 0 : location.parent.length + 1);
    return note(
      location,
      unknownName(name, location.parent, "Proto field is not repeating, cannot start list."),
    );
  };
}

function readField(
  fields: Readonly<Record<string, Read | undefined>>,
  key: string,
  value: unknown,
  { path, violations }: Location,
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

function unknownName(name: string, parent: string, reason: string): string {
  const where = parent === "" ? "" : ` at '${parent}'`;
  return `Invalid JSON payload received. Unknown name ${JSON.stringify(name.slice(0, maxQuotedChars))}${where}: ${reason}`;
}

function invalid(value: unknown, location: Location, type: string): undefined {
  const shown = typeof value === "object" ? "" : `, ${JSON.stringify(value).slice(0, maxQuotedChars)}`;
  note(location, `Invalid value at '${location.path}' (${type})${shown}`);
}

function note({ path, violations }: Location, description: string): void {
  violations.push(path === "" ? { description } : { field: path, description });
}

/** Returns the number, also from a string; NaN for anything else. */
function numberIn(value: unknown): number {
  if (typeof value === "string") return value.trim() === "" ? Number.NaN : Number(value);
  return typeof value === "number" ? value : Number.NaN;
}
