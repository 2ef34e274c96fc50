import { invalidField } from "../../core/errors.ts";
import type { JsonObject } from "../json/json.ts";

/** JSON lists and objects inside one another. No provider takes a fifth of it. */
const MAX_DEPTH = 256;

/** JSON values of a schema. The largest schemas that providers take have a tenth of it. */
const MAX_VALUES = 100_000;

/**
 * Turns away a schema that is so deep or large that going through it could exhaust the stack or
 * hold up other calls. Does so without recursion.
 * @param field Path of the schema in the request.
 * @throws InvalidRequestError naming the field, what was found and what was expected.
 */
export function checkSize(schema: JsonObject, field: string): void {
  let level: object[] = [schema];
  let count = 1;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) {
      throw invalidField(field, `expected at most ${MAX_DEPTH} levels of JSON, found more`);
    }
    const below: object[] = [];
    for (const each of level) {
      for (const value of Object.values(each)) {
        count += 1;
        if (typeof value === "object" && value !== null) below.push(value);
      }
    }
    if (count > MAX_VALUES) {
      throw invalidField(field, `expected at most ${MAX_VALUES} JSON values, found more`);
    }
    level = below;
  }
}
