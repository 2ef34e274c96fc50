/** Validation of values against a caller's JSON Schema. */
import { invalidField } from "../../../core/errors.ts";
import { isObject, type JsonValue, tryReadJson } from "../../json/json.ts";
import { checkSize } from "../work-budget.ts";
import { compileValidator } from "./compile-validator.ts";
import { TooMuchWorkError, toPointer, Validation } from "./validation.ts";

/** A problem of a value. */
export interface SchemaViolation {
  /** JSON Pointer into the value, `""` for the root. One of more than 200 characters is cut. */
  readonly path: string;
  /**
   * Names what was expected and what was found, so that the model can repair the value. Reveals only types and counts.
   */
  readonly message: string;
}

/** Checks values by one schema. */
export interface SchemaValidator {
  /**
   * Returns the problems of a value, at most 20; none if it matches the schema. A value that takes too much work to
   * check is one violation: unchecked parts do not count as valid.
   * @param value As returned by JSON.parse.
   */
  validate(value: JsonValue): readonly SchemaViolation[];
  /**
   * JSON Pointers into the schema of the patterns that are not checked, since they cannot be matched in time linear in
   * the text or are too large. They use back-references, lookbehind, flags of groups or escapes of other languages.
   */
  readonly unchecked: readonly string[];
}

/** The violation of a value that takes too much work to check. */
const TOO_MUCH_WORK = "expected a value that is validated in bounded time, found one that takes longer";

/**
 * Creates the validator of a schema of any draft from 7 to 2020-12, or of OpenAPI. Nothing is fetched: references lead
 * to places in the schema. The formats that providers enforce are checked, others are not; `$dynamicRef` is read as
 * `$ref`, and keywords alongside a `$ref` count, as since draft 2019-09. Creating one takes some tens of microseconds.
 * @param schemaJson The text of the schema: an object or a boolean.
 * @param field Path of the text in the request, for errors.
 * @throws InvalidRequestError naming the keyword that is not JSON Schema, an external reference, or the part that is
 *   too large.
 */
export function createSchemaValidator(schemaJson: string, field = "schema_json"): SchemaValidator {
  const schema = tryReadJson(schemaJson);
  if (!isObject(schema) && typeof schema !== "boolean")
    throw invalidField(field, "expected a JSON Schema, found invalid JSON");
  if (isObject(schema)) checkSize(schema, field);
  const { root, tracksEvaluated, unchecked } = compileValidator(schema, field);
  const validate = (value: JsonValue) => {
    const run = new Validation(tracksEvaluated);
    try {
      run.apply(root, value, {});
    } catch (error) {
      if (!(error instanceof TooMuchWorkError)) throw error;
      return [{ path: "", message: TOO_MUCH_WORK }];
    }
    return run.findings.map(({ location, message }) => ({ path: toPointer(location), message }));
  };
  return { validate, unchecked };
}

/** Returns a violation in one sentence: `/age: expected an integer, found a string`. */
export function violationText({ path, message }: SchemaViolation): string {
  return path === "" ? message : `${path}: ${message}`;
}
