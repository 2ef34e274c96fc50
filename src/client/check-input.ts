import { type DescField, type DescMessage, isMessage, ScalarType } from "@bufbuild/protobuf";
import { TOOL_CHOICE_MODES } from "../core/tools.ts";
import { ToolChoiceSchema } from "../gen/outrigger/v1/request_pb.ts";
import { asInt32 } from "../kit/json/json.ts";
import type { Violations } from "./violations.ts";

/**
 * Checks that a value has the shape of a message before the message is created: field names and types. TypeScript does
 * the same at compile time, but a JavaScript program, a cast or a NaN gets past it, and would fail later with an
 * unrelated error or be sent to the provider as null. Values that are messages already are not checked again.
 * @param field Path of the value; empty for the message itself.
 * @param names The fields that the program may write, for the error about an unknown one.
 */
export function checkInput(
  desc: DescMessage,
  value: unknown,
  field: string,
  violations: Violations,
  names: readonly string[] = listNames(desc),
): void {
  if (isMessage(value)) {
    if (value.$typeName !== desc.typeName)
      violations.add(field, `expected a ${desc.name}, found a ${value.$typeName}`);
    return;
  }
  if (!isPlainObject(value)) {
    violations.add(
      field,
      `expected an object (${desc.name}), found ${describe(value)}${helperFor(desc, value)}`,
    );
    return;
  }
  const members = new Map(desc.members.map((member) => [member.localName, member]));
  for (const [name, entry] of Object.entries(value)) {
    const member = members.get(name);
    const path = field === "" ? (member?.name ?? name) : `${field}.${member?.name ?? name}`;
    if (entry === undefined || name === "$unknown") continue;
    if (member === undefined)
      violations.add(path, `is not a field of ${desc.name}; ${expectedNames(name, names)}`);
    else if (member.kind === "oneof") checkOneof(member.fields, entry, field, path, violations);
    else checkField(member, entry, path, violations);
  }
}

/** Names the helper function that creates the message from such a text, if there is one. */
function helperFor(desc: DescMessage, value: unknown): string {
  if (desc !== ToolChoiceSchema || typeof value !== "string") return "";
  return `; write toolChoice(${Object.hasOwn(TOOL_CHOICE_MODES, value) ? JSON.stringify(value) : "{ name }"})`;
}

function checkOneof(
  fields: readonly DescField[],
  value: unknown,
  parent: string,
  path: string,
  violations: Violations,
): void {
  const name = isPlainObject(value) ? value.case : undefined;
  const chosen = fields.find(({ localName }) => localName === name);
  if (chosen !== undefined && isPlainObject(value)) {
    checkField(chosen, value.value, parent === "" ? chosen.name : `${parent}.${chosen.name}`, violations);
  } else if (!isPlainObject(value) || name !== undefined) {
    const cases = fields.map(({ localName }) => localName).join(", ");
    violations.add(path, `expected { case, value } with one of the cases ${cases}, found ${describe(value)}`);
  }
}

function checkField(field: DescField, value: unknown, path: string, violations: Violations): void {
  switch (field.fieldKind) {
    case "scalar":
      return checkScalar(field.scalar, value, path, violations);
    case "enum":
      return checkScalar(ScalarType.INT32, value, path, violations);
    case "message":
      return checkInput(field.message, value, path, violations);
    case "list":
      return checkList(field, value, path, violations);
    case "map":
      return checkMap(field, value, path, violations);
  }
}

function checkList(
  field: DescField & { fieldKind: "list" },
  value: unknown,
  path: string,
  violations: Violations,
): void {
  if (!Array.isArray(value)) return violations.add(path, `expected a list, found ${describe(value)}`);
  for (const [index, item] of value.entries()) {
    if (field.listKind === "message") checkInput(field.message, item, `${path}[${index}]`, violations);
    else if (field.listKind === "scalar") checkScalar(field.scalar, item, `${path}[${index}]`, violations);
    else checkScalar(ScalarType.INT32, item, `${path}[${index}]`, violations);
  }
}

function checkMap(
  field: DescField & { fieldKind: "map" },
  value: unknown,
  path: string,
  violations: Violations,
): void {
  if (!isPlainObject(value)) return violations.add(path, `expected an object, found ${describe(value)}`);
  for (const [key, entry] of Object.entries(value))
    if (field.mapKind === "scalar")
      checkScalar(field.scalar, entry, `${path}["${key.slice(0, 48)}"]`, violations);
}

function checkScalar(type: ScalarType, value: unknown, path: string, violations: Violations): void {
  const [expected, fits] = SCALARS.get(type) ?? ["a value", () => true];
  if (!fits(value)) violations.add(path, `expected ${expected}, found ${describe(value)}`);
}

/** The TypeScript type of each scalar type of the contract. */
const SCALARS: ReadonlyMap<ScalarType, readonly [string, (value: unknown) => boolean]> = new Map([
  [ScalarType.STRING, ["a string", (value) => typeof value === "string"]],
  [ScalarType.BOOL, ["true or false", (value) => typeof value === "boolean"]],
  [ScalarType.BYTES, ["a Uint8Array", (value) => value instanceof Uint8Array]],
  [ScalarType.DOUBLE, ["a number", (value) => typeof value === "number" && !Number.isNaN(value)]],
  [ScalarType.INT32, ["a whole number", (value) => asInt32(value) !== undefined]],
  [ScalarType.INT64, ["a bigint", (value) => typeof value === "bigint"]],
]);

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

/** Returns the names of the fields of a message, as TypeScript has them. */
export function listNames(desc: DescMessage): string[] {
  return desc.members.map(({ localName }) => localName);
}

/** Lists the names that were expected instead of a wrong one, and the one that was probably meant. */
export function expectedNames(name: string, names: readonly string[]): string {
  const letters = (text: string) => text.toLowerCase().replace(/[^a-z0-9]|s$/g, "");
  const similar = names.find((known) => letters(known) === letters(name));
  const hint = similar === undefined ? "" : `; did you mean ${similar}?`;
  return `expected one of ${names.join(", ")}${hint}`;
}

/** Describes a value by its type, never by its text, which may be a prompt. Numbers are shown. */
function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Uint8Array) return "bytes";
  if (typeof value === "number") return String(value);
  return value === undefined ? "nothing" : `a ${typeof value}`;
}
