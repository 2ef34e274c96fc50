/** What a schema says of the members of lists, in the words of the dialect. */
import type { JsonObject, JsonValue } from "../json/json.ts";
import { type Compilation, type Place, placeBelow } from "./compilation.ts";
import { keeps } from "./dialect.ts";
import { isSchemaObject } from "./keywords.ts";
import { pointerBelow } from "./pointer.ts";
import { sameJson } from "./same-json.ts";
import { loseKeyword } from "./write-schema.ts";

/**
 * Translates `prefixItems` and `items`.
 * @returns The keywords in the dialect, undefined those that are to be left out.
 */
export function compileItems(compilation: Compilation, schema: JsonObject, place: Place): JsonObject {
  const all = (schema.prefixItems ?? []) as readonly JsonValue[];
  const end = all.indexOf(false);
  const prefix = end === -1 ? all : all.slice(0, end);
  const rest = end === -1 ? schema.items : false;
  if (prefix.length === 0) {
    return { prefixItems: undefined, ...compileRest(compilation, schema, rest, 0, place) };
  }
  if (!keeps(compilation.dialect, "prefixItems")) return mixItems(compilation, schema, prefix, rest, place);
  const compiled = prefix.map((item, index) =>
    compilation.compile(item, placeBelow(place, "prefixItems", index)),
  );
  const impossible = compiled.indexOf(false);
  if (impossible === -1) {
    return { prefixItems: compiled, ...compileRest(compilation, schema, rest, prefix.length, place) };
  }
  const possible = impossible === 0 ? undefined : compiled.slice(0, impossible);
  return { prefixItems: possible, ...endAt(compilation, schema, impossible, place) };
}

/** What comes after the items that have a schema of their own. */
function compileRest(
  compilation: Compilation,
  schema: JsonObject,
  rest: JsonValue | undefined,
  from: number,
  place: Place,
): JsonObject {
  const mustSay = from === 0 && compilation.dialect.itemsRequired;
  if (isFree(rest) && !mustSay) return { items: undefined };
  const compiled = compilation.compile(rest ?? true, placeBelow(place, "items"));
  if (compiled === false) return endAt(compilation, schema, from, place);
  return { items: isFree(compiled) && !mustSay ? undefined : compiled };
}

function isFree(schema: JsonValue | undefined): boolean {
  return (
    schema === undefined || schema === true || (isSchemaObject(schema) && Object.keys(schema).length === 0)
  );
}

/** No item may come after the first `length` ones. */
function endAt(compilation: Compilation, schema: JsonObject, length: number, place: Place): JsonObject {
  const { compile, dialect } = compilation;
  const needsItems = dialect.itemsRequired && length === 0;
  const items = needsItems ? compile({ type: "null" }, placeBelow(place, "items")) : undefined;
  if (!keeps(dialect, "maxItems")) {
    loseKeyword(compilation, place, "items", false);
    return { items };
  }
  const most = schema.maxItems;
  return { items, maxItems: typeof most === "number" ? Math.min(most, length) : length };
}

/** Without a schema for each place, every item may be what any of them may be. */
function mixItems(
  compilation: Compilation,
  schema: JsonObject,
  prefix: readonly JsonValue[],
  rest: JsonValue | undefined,
  place: Place,
): JsonObject {
  const others = isSchemaObject(rest) ? [rest] : [];
  const [first, ...more] = [...prefix, ...others];
  const isUniform = rest !== undefined && rest !== true && more.every((item) => sameJson(item, first));
  if (!isUniform) {
    const message = `${compilation.dialect.name} has one schema for all items; each may be what any of them may be`;
    compilation.relaxed.lose(pointerBelow(place.pointer, "prefixItems"), message);
  }
  const mixed = isUniform ? (first ?? true) : { anyOf: [...prefix, ...others] };
  const compiled = compilation.compile(mixed, placeBelow(place, "prefixItems"));
  if (compiled === false) return { prefixItems: undefined, ...endAt(compilation, schema, 0, place) };
  const end = rest === false ? endAt(compilation, schema, prefix.length, place) : {};
  return { ...end, prefixItems: undefined, items: compiled };
}
