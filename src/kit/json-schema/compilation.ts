import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Definitions } from "./definitions.ts";
import type { SchemaDialect } from "./dialect.ts";
import type { Expanded } from "./expand.ts";
import { pointerBelow } from "./pointer.ts";
import type { Recursion } from "./recursion.ts";
import type { References } from "./references.ts";
import { type Relaxations, SchemaMisfit } from "./relaxations.ts";

/** One run of the compiler: what its parts share. */
export interface Compilation {
  readonly dialect: SchemaDialect;
  /** Path of the schema in the request, for errors. */
  readonly field: string;
  readonly references: References;
  readonly recursion: Recursion;
  readonly definitions: Definitions;
  readonly relaxed: Relaxations;
  /** Counts a schema; throws SchemaMisfit where there are too many, or where they are too deep. */
  readonly count: (place: Place) => void;
  /** Translates a schema; `false` where no value fits it. */
  readonly compile: (schema: JsonValue, place: Place) => JsonObject | false;
  /** Translates a schema that is in one piece. */
  readonly compileExpanded: (expanded: Expanded) => JsonObject | false;
}

/** Where a schema stands. */
export interface Place {
  /** JSON Pointer in the caller's document; below something that was merged, the way that leads there. */
  readonly pointer: string;
  /** Schemas around it, those that references brought in included. */
  readonly depth: number;
  /** What references led to on the way here, outermost first: to meet one again is recursion. */
  readonly within: readonly JsonObject[];
  /** The root, or the definition that is being translated. */
  readonly owner: JsonObject;
  /** Whether the way from the owner leads through a property that is not required. */
  readonly optional: boolean;
}

/** The place of a subschema. */
export function placeBelow(place: Place, ...tokens: readonly (string | number)[]): Place {
  return { ...place, pointer: pointerBelow(place.pointer, ...tokens), depth: place.depth + 1 };
}

/** Schemas inside one another, with everything that references bring in. */
const MAX_DEPTH = 128;

/** Schemas that one compilation may look at: what references and unions multiply is bounded by it. */
const MAX_SCHEMAS = 20_000;

/** Makes the counter of one compilation. */
export function schemaCounter(): (place: Place) => void {
  let schemas = 0;
  return ({ pointer, depth }) => {
    schemas += 1;
    if (depth > MAX_DEPTH)
      throw new SchemaMisfit(pointer, `is more than ${MAX_DEPTH} schemas inside one another`);
    if (schemas > MAX_SCHEMAS)
      throw new SchemaMisfit("", `comes to more than ${MAX_SCHEMAS} schemas, written out`);
  };
}
