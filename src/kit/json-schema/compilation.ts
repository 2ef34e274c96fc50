/** The state of one compilation, and the locations of schemas in it. */
import { invalidField } from "../../core/errors.ts";
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { SchemaDialect } from "./dialect.ts";
import { fieldAt, pointerBelow, type SchemaChanges } from "./messages.ts";
import type { References } from "./references.ts";
import type { WorkBudget } from "./work-budget.ts";

/** State of one compilation. */
export interface Compilation {
  readonly dialect: SchemaDialect;
  /** Path of the schema in the request, for errors. */
  readonly field: string;
  readonly references: References;
  /** The `$defs` of the result, by the schemas that references lead to. */
  readonly definitions: Map<JsonValue, { readonly name: string; schema: JsonObject }>;
  /** Names in `$defs`, each with the last suffix that was tried for it. */
  readonly names: Map<string, number>;
  readonly changes: SchemaChanges;
  readonly budget: WorkBudget;
  /** Normal forms by schema: one that several references share is normalized once. */
  readonly normalized: Map<JsonObject, JsonObject>;
  /** Translates a schema; `false` if it accepts no value. */
  readonly compile: (schema: JsonValue, location: SchemaLocation) => JsonObject | false;
}

/** The location of a schema in the document. */
export interface SchemaLocation {
  readonly run: Compilation;
  /** JSON Pointer in the caller's document; for a merged schema, a pointer to one of its sources. */
  readonly pointer: string;
  /** Number of schemas around this one, including those that references brought in. */
  readonly depth: number;
  /**
   * The root and the definitions around this location that are being translated: a reference to one of these is
   * recursive.
   */
  readonly open: readonly JsonValue[];
  /** Targets of references around this location that are being expanded: expanding one again would be endless. */
  readonly expanding: readonly JsonValue[];
  /**
   * The property around this location: whether it, or a property around it, is optional, and whether it holds a
   * recursive reference.
   */
  readonly property?: { readonly isOptional: boolean; isRecursive: boolean };
}

/** A schema at its location. */
export interface LocatedSchema<Schema extends JsonValue = JsonValue> {
  readonly schema: Schema;
  readonly location: SchemaLocation;
}

/** Returns the location of a subschema. */
export function getSubschemaLocation(
  location: SchemaLocation,
  ...tokens: readonly (string | number)[]
): SchemaLocation {
  return { ...location, pointer: pointerBelow(location.pointer, ...tokens), depth: location.depth + 1 };
}

/** Reports that the result accepts other values than a keyword of the caller's schema, or enforces less. */
export function lose({ run, pointer }: SchemaLocation, message: string, ...tokens: readonly string[]): void {
  run.changes.add(pointerBelow(pointer, ...tokens), message, true);
}

/** Reports that something was left out that does not affect which values are accepted. */
export function note({ run, pointer }: SchemaLocation, message: string, ...tokens: readonly string[]): void {
  run.changes.add(pointerBelow(pointer, ...tokens), message, false);
}

/** Returns the error for a schema that is not valid JSON Schema. */
export function invalidAt(
  { run, pointer }: SchemaLocation,
  message: string,
  ...tokens: readonly string[]
): Error {
  return invalidField(fieldAt(run.field, pointerBelow(pointer, ...tokens)), message);
}
