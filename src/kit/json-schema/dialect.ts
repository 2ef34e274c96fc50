/** What a provider takes of JSON Schema, as data. */

import type { JsonType } from "./keywords.ts";

/** How much of JSON Schema a provider takes in one place of its API. */
export interface SchemaDialect {
  /** What messages call it, for instance `OpenAI's strict mode`. */
  readonly name: string;
  /**
   * Keywords that are kept. `all`: the schema is not looked into and goes as it came. Any other
   * keyword is rewritten where that is exact, else moved into the description and reported.
   */
  readonly keywords: "all" | readonly string[];
  /** `object`: the root is one object, without a union or other composition. `any`: no such rule. */
  readonly root: "any" | "object";
  /** `format`s that are kept. */
  readonly formats: "all" | readonly string[];
  /** Greatest values that count keywords may have; a greater one is moved into the description. */
  readonly greatest: Readonly<Record<string, number>>;
  /**
   * Lists of types: all are kept, only those of one type and `null`, or none. Others become
   * `anyOf`, or `nullable` where that is a keyword.
   */
  readonly typeLists: "all" | "nullable" | "none";
  /** `upper`: types are spelled as OpenAPI's protobuf form has them, `STRING`. */
  readonly typeNames: "lower" | "upper";
  /** Types of the values that `enum` and `const` may hold. */
  readonly literals: readonly JsonType[];
  /** Whether the numbers of an `enum` are written as strings. */
  readonly literalsAsText: boolean;
  /**
   * `open`: `additionalProperties` is kept. `closed`: every object must forbid further properties.
   * `implied`: there is no such keyword, and objects hold what is declared.
   */
  readonly objects: "open" | "closed" | "implied";
  /** Whether every property must be required; an optional one then becomes nullable. */
  readonly requireAll: boolean;
  /** Whether an object without properties leaves `properties` out. */
  readonly omitEmptyProperties: boolean;
  /** Whether a schema may say nothing, so that any value fits. */
  readonly anyValue: boolean;
  /** Whether a list must say what it holds. */
  readonly itemsRequired: boolean;
  /** `definitions`: references to `#/$defs/…` or to the root stay. `none`: what they refer to is inlined. */
  readonly references: "definitions" | "none";
  /**
   * A schema that refers to itself. `allowed`. `optional`: only inside a property that is not
   * required. `refused`: an error. `cut`: any value is allowed where it would begin again.
   */
  readonly recursion: "allowed" | "optional" | "refused" | "cut";
  /** Sizes beyond which the provider refuses a schema. Absent: none is known. */
  readonly limits: SchemaLimits;
  /** Sizes beyond which it refuses all schemas of one request together. */
  readonly requestLimits: SchemaLimits;
}

/** Sizes of a schema. */
export interface SchemaLimits {
  /** Schemas in this dialect. */
  readonly schemas?: number;
  /** Properties of all objects together. */
  readonly properties?: number;
  /** Objects inside one another, the root included. */
  readonly depth?: number;
  /** Properties that are not required, of all objects together. */
  readonly optionalProperties?: number;
  /** Places with `anyOf` or with several types. */
  readonly unions?: number;
  /** Values of all `enum`s together. */
  readonly enumValues?: number;
  /** Characters of the strings of an `enum` of more than 250 values. */
  readonly longEnumCharacters?: number;
  /** Characters of all names of properties and definitions and of all `enum` and `const` strings. */
  readonly characters?: number;
}

/** Whether a dialect keeps a keyword. */
export function keeps({ keywords }: SchemaDialect, key: string): boolean {
  return keywords === "all" || keywords.includes(key);
}
