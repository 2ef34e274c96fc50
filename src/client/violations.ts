import type { DescEnum } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { type FieldViolation, invalidFields } from "../core/errors.ts";
import { parseJsonText } from "../core/json-text.ts";
import { isObject, type JsonObject } from "../kit/json/json.ts";

/** Maximum number of violations in one error, so that it stays below 4 KB with its details. */
const MAX_VIOLATIONS = 10;

/** Maximum number of characters of a found value in an error. */
const MAX_SHOWN = 48;

/** Collects the violations of a request, so that one error reports them all. */
export class Violations {
  readonly #found: FieldViolation[] = [];
  #omitted = 0;

  /**
   * Records an invalid field.
   * @param field Path in proto names, for instance `messages[2].content[0].image`.
   * @param description The value that was found and what was expected. Holds no prompt text.
   */
  add(field: string, description: string): void {
    if (this.#found.length < MAX_VIOLATIONS) this.#found.push({ field, description });
    else this.#omitted += 1;
  }

  /** Throws InvalidRequestError if anything was recorded. */
  throwIfAny(): void {
    if (this.#found.length === 0) return;
    throw invalidFields(this.#omitted === 0 ? this.#found : [...this.#found, this.#rest()]);
  }

  #rest(): FieldViolation {
    return { field: "request", description: `has ${this.#omitted} more invalid fields that are not listed` };
  }
}

/** Returns a value for an error message: quoted, on one line, bounded. Not for prompts, answers or keys. */
export function quote(value: string): string {
  return JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value);
}

/** Records a violation if the number is not a value of the enum: the client is newer, or the value is invalid. */
export function checkEnum(schema: DescEnum, value: number, field: string, violations: Violations): void {
  if (schema.value[value] === undefined)
    violations.add(field, `expected ${listNames(schema)}, found ${value}`);
}

/** The names of an enum's values in JSON, without the unspecified one. */
export function listNames(schema: DescEnum): string {
  const names = schema.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return names.join(", ").replace(/, (?=[^,]*$)/, " or ");
}

/** Records a violation if a time limit or a delay is negative. */
export function checkDuration(duration: Duration | undefined, field: string, violations: Violations): void {
  if (duration === undefined || (duration.seconds >= 0n && duration.nanos >= 0)) return;
  violations.add(field, "is negative, expected 0 or more");
}

/** Records a violation unless the text is JSON. The text itself is never shown. */
export function checkJson(text: string, field: string, violations: Violations): void {
  parse(text, field, violations, "JSON text");
}

/** Returns the object that the text holds. Records a violation and returns undefined if it holds none. */
export function checkJsonObject(text: string, field: string, violations: Violations): JsonObject | undefined {
  const value = parse(text, field, violations, "the text of a JSON object");
  if (value === undefined || isObject(value)) return value;
  violations.add(field, `expected the text of a JSON object, found ${getKind(value)}`);
  return undefined;
}

function parse(text: string, field: string, violations: Violations, expected: string): unknown {
  try {
    return parseJsonText(text);
  } catch (error) {
    violations.add(field, `expected ${expected}, found ${describe(text, error)}`);
    return undefined;
  }
}

/** V8 quotes the text, which may be a prompt, in its message. Only the position is taken from the message. */
function describe(text: string, error: unknown): string {
  if (text === "") return "nothing";
  const position = /at position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  const where = position === undefined ? "" : `, which breaks at character ${position}`;
  return `${text.length} characters that are not JSON${where}`;
}

function getKind(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
