import type { JsonType } from "./keywords.ts";
import type { SchemaSizes } from "./limits.ts";

/** What a provider supports of JSON Schema in one place of its API, as data. */
export interface SchemaDialect {
  /** Name for messages, for instance `OpenAI's strict mode`. */
  readonly name: string;
  /** Keywords that are kept. `all`: schemas are sent as they came. */
  readonly keywords: "all" | readonly string[];
  /** `object`: the root must be an object, without a union or other composition. */
  readonly root: "any" | "object";
  /** `format`s that are kept. */
  readonly formats: "all" | readonly string[];
  /** Highest `minItems` that is kept. Absent: any. */
  readonly highestMinItems?: number;
  /** Lists of types that are kept: all, or only those of one type and `null`. Others become `anyOf`. */
  readonly typeLists: "all" | "nullable";
  /** Types of the values that `enum` and `const` may hold. */
  readonly literals: readonly JsonType[];
  /**
   * `open`: `additionalProperties` is kept. `closed`: every object must forbid properties that it
   * does not declare, so that no schema may accept any value.
   */
  readonly objects: "open" | "closed";
  /** Whether every property must be required; an optional one then becomes nullable. */
  readonly requireAll: boolean;
  /** Recursive schemas: `allowed`, allowed only inside an `optional` property, or `refused`. */
  readonly recursion: "allowed" | "optional" | "refused";
  /** Sizes above which the provider refuses a schema. */
  readonly limits: Partial<SchemaSizes>;
  /** Sizes above which it refuses all schemas of one request together. */
  readonly requestLimits: Partial<SchemaSizes>;
}

/** Whether a dialect keeps a keyword. */
export function keeps({ keywords }: SchemaDialect, key: string): boolean {
  return keywords === "all" || keywords.includes(key);
}
