import type { JsonObject } from "../../json/json.ts";
import type { Pattern } from "./pattern.ts";
import type { Check, SchemaNode } from "./validation.ts";

/** A schema that is compiled, and what its keywords need of the compiler. */
export interface SchemaPlace {
  readonly schema: JsonObject;
  /** The node of a subschema that applies to members of the value, by its keys in this schema. */
  readonly getNode: (...keys: readonly (string | number)[]) => SchemaNode;
  /** The node of a subschema that applies to the same value. */
  readonly sameValue: (...keys: readonly (string | number)[]) => SchemaNode;
  /** The node that the schema's reference leads to. */
  readonly toTarget: () => SchemaNode;
  /** A pattern, by its keys in this schema; undefined where it is one that is not checked. */
  readonly toPattern: (source: string, ...keys: readonly string[]) => Pattern | undefined;
}

/** Makes the check of some keywords; undefined where the schema has none of them. */
export type CheckMaker = (place: SchemaPlace) => Check | undefined;
