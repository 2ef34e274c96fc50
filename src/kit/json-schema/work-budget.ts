/** Limits on the work of one compilation, so that no schema can exhaust the stack, the memory or the time. */
import { invalidField } from "../../core/errors.ts";
import { type JsonObject, type JsonValue, MAX_JSON_LEVELS } from "../json/json.ts";
import { UnsupportedSchemaError } from "./messages.ts";

/** Maximum number of JSON values in a schema. The largest schemas that providers accept have a tenth as many. */
const MAX_JSON_VALUES = 100_000;

/**
 * Checks the size of a caller's schema, without recursion.
 * @param field Path of the schema in the request.
 * @throws InvalidRequestError naming the field, what was found and what was expected.
 */
export function checkSize(schema: JsonObject, field: string): void {
  let level: object[] = [schema];
  let count = 1;
  for (let depth = 1; level.length > 0; depth += 1) {
    const below: object[] = [];
    for (const each of level) {
      for (const value of Object.values(each)) {
        count += 1;
        if (typeof value === "object" && value !== null) below.push(value);
      }
    }
    const limit =
      count > MAX_JSON_VALUES ? `${MAX_JSON_VALUES} JSON values` : `${MAX_JSON_LEVELS} levels of JSON`;
    if (count > MAX_JSON_VALUES || depth > MAX_JSON_LEVELS) {
      throw invalidField(field, `expected at most ${limit}, found more`);
    }
    level = below;
  }
}

/** Maximum nesting of schemas, including everything that references bring in. */
const MAX_DEPTH = 256;

/** Maximum number of schemas that one compilation translates: references and unions can multiply a small source. */
const MAX_SCHEMAS = 20_000;

/** Maximum number of characters of JSON that references and unions may copy into other places. */
const MAX_COPIED = 1_000_000;

/** The work of one compilation so far. Its methods throw UnsupportedSchemaError if that becomes too much. */
export class WorkBudget {
  #schemas = 0;
  #copied = 0;
  readonly #sizes = new Map<JsonValue, number>();

  /** Counts a schema that is translated. */
  countSchema({ pointer, depth }: { readonly pointer: string; readonly depth: number }): void {
    this.#schemas += 1;
    if (depth > MAX_DEPTH) throw new UnsupportedSchemaError(pointer, `nests more than ${MAX_DEPTH} schemas`);
    if (this.#schemas > MAX_SCHEMAS)
      throw new UnsupportedSchemaError("", `expands to more than ${MAX_SCHEMAS} schemas`);
  }

  /** Counts copies of a schema by the length of its JSON text. A shared schema is measured once. */
  countCopies(schema: JsonValue, copies = 1): void {
    const size = this.#sizes.get(schema) ?? JSON.stringify(schema).length;
    this.#sizes.set(schema, size);
    this.#countCopied(size * copies);
  }

  /** Counts a schema that is merged with another one. Each of its members costs about as much as ten characters. */
  countMerge(schema: JsonObject): void {
    for (const value of Object.values(schema)) this.#countCopied(10 * Object.keys(Object(value)).length);
  }

  #countCopied(amount: number): void {
    this.#copied += amount;
    if (this.#copied > MAX_COPIED)
      throw new UnsupportedSchemaError("", `expands to more than ${MAX_COPIED} characters`);
  }
}
