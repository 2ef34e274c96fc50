import type { JsonType } from "./keywords.ts";
import type { SchemaSizes } from "./limits.ts";

/** The part of JSON Schema that a provider supports in one part of its API, as data. */
export interface SchemaDialect {
  /** Name for messages, for instance `OpenAI's strict mode`. */
  readonly name: string;
  /** Keywords that are kept, or `all` if schemas are sent unchanged. */
  readonly keywords: "all" | readonly string[];
  /** Whether the root must be an object, without a union or other composition, or may be any schema. */
  readonly root: "any" | "object";
  readonly formats: "all" | readonly string[];
  /** Highest `minItems` that is kept. Without it, every `minItems` is kept. */
  readonly highestMinItems?: number;
  /** Lists of types that are kept: all lists, or only one type with `null`. Other lists become `anyOf`. */
  readonly typeLists: "all" | "nullable";
  /** Types of the values that `enum` and `const` may hold. */
  readonly literals: readonly JsonType[];
  /**
   * Whether `additionalProperties` is kept (`open`), or every object must forbid properties that it does not declare
   * (`closed`). A closed dialect refuses schemas that accept every value.
   */
  readonly objects: "open" | "closed";
  /** Whether every property must be required; an optional one then becomes nullable. */
  readonly requireAll: boolean;
  /** Whether a schema may be recursive: always, only inside an optional property, or never. */
  readonly recursion: "allowed" | "optional" | "refused";
  /** Sizes above which the provider refuses a schema. */
  readonly limits: Partial<SchemaSizes>;
  /** Sizes above which the provider refuses all schemas of one request together. */
  readonly requestLimits: Partial<SchemaSizes>;
}

/** Reports whether a dialect keeps a keyword. */
export function keeps({ keywords }: SchemaDialect, key: string): boolean {
  return keywords === "all" || keywords.includes(key);
}
