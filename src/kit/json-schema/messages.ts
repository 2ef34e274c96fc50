/** The reports of a compilation: places in the schema, changes, and constructs that a dialect cannot express. */
import type { LossReport } from "../call/loss-report.ts";
import type { JsonValue } from "../json/json.ts";

/** Maximum number of characters of a JSON Pointer in messages: a schema may have long names around many places. */
const MAX_POINTER = 200;

/** Returns the JSON Pointer (RFC 6901) of a location below another one, for messages. A long one is cut. */
export function pointerBelow(base: string, ...tokens: readonly (string | number)[]): string {
  let pointer = base;
  for (const token of tokens) {
    if (pointer.length > MAX_POINTER) return pointer;
    pointer += `/${String(token).slice(0, MAX_POINTER).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (pointer.length > MAX_POINTER) pointer = `${pointer.slice(0, MAX_POINTER)}…`;
  }
  return pointer;
}

/**
 * Returns the path of a location for warnings and errors: the field of the request, then the location in its schema.
 */
export function fieldAt(field: string, pointer: string): string {
  return pointer === "" ? field : `${field}#${pointer}`;
}

/** Returns the beginning of a value as JSON. */
export function shown(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > 48 ? `${text.slice(0, 48)}…` : text;
}

/** Splits a name in camel case into words: `minLength` becomes "min length". */
export function toWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** A schema that its dialect has no equivalent for, so that nothing close enough can be sent. */
export class UnsupportedSchemaError extends Error {
  /** JSON Pointer of the unsupported location. */
  readonly pointer: string;

  /**
   * @param message Describes the unsupported construct. Holds no text of the schema.
   */
  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

/** Maximum number of places of one schema that are reported one by one; the rest are counted. */
const MAX_REPORTED = 16;

/** Collects the changes of one compilation, one for each location and keyword, until its result is used. */
export class SchemaChanges {
  readonly #changes = new Map<string, { readonly message: string; readonly isLoss: boolean }>();

  /** @param isLoss Whether the result accepts other values than the caller's schema, or enforces less. */
  add(pointer: string, message: string, isLoss: boolean): void {
    const known = this.#changes.get(pointer);
    if (known === undefined || (isLoss && !known.isLoss)) this.#changes.set(pointer, { message, isLoss });
  }

  /** Reports all changes, in the order in which they were found. */
  reportTo(loss: LossReport, field: string): void {
    const all = [...this.#changes].map(([pointer, change]) => ({
      ...change,
      field: fieldAt(field, pointer),
    }));
    const rest = all.splice(MAX_REPORTED);
    const message = `${rest.length} more places of the schema were changed`;
    if (rest.length > 0) all.push({ field, message, isLoss: rest.some((change) => change.isLoss) });
    for (const change of all) {
      loss[change.isLoss ? "lose" : "note"](change.field, "adjusted_schema", change.message);
    }
  }
}
