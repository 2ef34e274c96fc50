import type { JsonObject } from "../../json/json.ts";
import type { Pattern } from "./pattern.ts";
import type { Check, SchemaNode } from "./validation.ts";

/** A schema that is being compiled, and the compiler's functions for its keywords. */
export interface KeywordContext {
  readonly schema: JsonObject;
  /** Returns the node of a subschema that applies to members of the value, by its keys in this schema. */
  readonly getNode: (...keys: readonly (string | number)[]) => SchemaNode;
  /** Returns the node of a subschema that applies to the same value. */
  readonly sameValue: (...keys: readonly (string | number)[]) => SchemaNode;
  /** Returns the node that the schema's reference leads to. */
  readonly toTarget: () => SchemaNode;
  /** Returns a pattern, by its keys in this schema; undefined if it is not checked. */
  readonly toPattern: (source: string, ...keys: readonly string[]) => Pattern | undefined;
}

/** Creates the check of some keywords; undefined if the schema has none of these. */
export type CheckMaker = (context: KeywordContext) => Check | undefined;
