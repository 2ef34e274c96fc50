/** JSON schemas as TypeScript programs write them: plain objects, or schemas of a validation library. */

import { ConfigurationError } from "./errors.ts";
import { toJsonText } from "./json-text.ts";

/**
 * A schema of a library that implements Standard Schema (https://standardschema.dev): Zod, Valibot, ArkType and others.
 * It checks values; one that implements Standard JSON Schema too (Zod from 4.2) can be given wherever this library
 * takes a JSON Schema.
 */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  };
}

/** The result of a check by a Standard Schema: the value as its library returns it, or the problems. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** A problem of a value. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A JSON Schema as a plain object, or a Standard Schema whose library can convert it. */
export type JsonSchema = object;

/** Reports whether a schema comes from a library with Standard Schema. */
export function isStandardSchema<Output>(
  schema: JsonSchema | StandardSchema<Output>,
): schema is StandardSchema<Output> {
  return "~standard" in schema;
}

/** Maximum number of issues of one value that an error names. */
const MAX_ISSUES = 5;

/**
 * Returns a schema as the text of a JSON Schema document.
 * @throws ConfigurationError if the schema's library cannot convert it.
 */
export function toSchemaText(schema: JsonSchema): string {
  if (!isStandardSchema(schema)) return toJsonText(schema);
  const { $schema: _dialect, ...document } = toDocument(schema["~standard"]);
  return toJsonText(document);
}

/** A value as the library of its schema returns it, or a text that describes the problem. */
export type Validated<Output> = { readonly value: Output } | { readonly problem: string };

/**
 * Checks a value by a schema.
 * @throws ConfigurationError if the schema checks asynchronously.
 */
export function validate<Output>(schema: StandardSchema<Output>, value: unknown): Validated<Output> {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise)
    throw new ConfigurationError("expected a schema that checks a value at once, found an asynchronous one");
  return validated(result);
}

/** Checks a value by a schema that may check asynchronously. */
export async function validateAsync<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
): Promise<Validated<Output>> {
  return validated(await schema["~standard"].validate(value));
}

function validated<Output>(result: StandardResult<Output>): Validated<Output> {
  return result.issues === undefined ? { value: result.value } : { problem: describeIssues(result.issues) };
}

/** Returns the JSON Schema of a value before it is checked, which is the form that a model writes. */
function toDocument(standard: unknown): Record<string, unknown> {
  const { jsonSchema, vendor } = standard as {
    readonly jsonSchema?: { readonly input?: unknown };
    readonly vendor?: unknown;
  };
  if (typeof jsonSchema?.input === "function") return jsonSchema.input({ target: "draft-2020-12" });
  const remedy = "pass the JSON Schema itself as an object";
  throw new ConfigurationError(`a schema of ${String(vendor)} cannot be written as JSON Schema; ${remedy}`);
}

function describeIssues(issues: readonly StandardIssue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const field = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
    return field === "" ? message : `${field}: ${message}`;
  });
  const omitted = issues.length - shown.length;
  return omitted === 0 ? shown.join("; ") : `${shown.join("; ")}; and ${omitted} more`;
}
