/** Building blocks for the schemas of the configuration. */
import * as z from "zod/mini";
import { type Compact, compact } from "../core/compact.ts";
import { didYouMean } from "./suggest.ts";

/** A mapping of known fields. Each unknown field is an error with a line in the message. */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return `expected a mapping with some of ${known.join(", ")}`;
      const expected = `unknown field, expected one of ${known.join(", ")}`;
      return issue.keys.map((key) => expected + didYouMean(key, known)).join("\n");
    },
  });
}

/**
 * A list that is not empty.
 * @param max Maximum number of items. @param items The plural noun for the items, for the error about a longer list.
 */
export function list<Item extends z.core.$ZodType>(item: Item, expected: string, max = Infinity, items = "") {
  return z
    .array(item, { error: `expected ${expected}` })
    .check(
      z.minLength(1, { error: `expected ${expected}` }),
      z.maxLength(max, { error: `expected at most ${max} ${items}`.trimEnd() }),
    );
}

/** Like `list`, but a single item may stand for a list of one. */
export function oneOrMore<Item extends z.core.$ZodType>(
  item: Item,
  expected: string,
  max?: number,
  items?: string,
) {
  return z.pipe(
    z.transform((found: unknown) => (Array.isArray(found) || found === undefined ? found : [found])),
    list(item, expected, max, items),
  );
}

/** Rejects a mapping that sets both of two alternative fields. */
export function notBoth<First extends string, Second extends string>(first: First, second: Second) {
  return z.refine<{ readonly [Name in First | Second]?: unknown }>(
    (found) => found[first] === undefined || found[second] === undefined,
    { path: [second], error: `expected either ${first} or ${second}, found both` },
  );
}

/** The name of a field in the code: `maxCalls` for `max_calls`. */
type CodeName<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CodeName<Rest>>}`
  : Name;

/** An object with its fields' names in the code, without undefined fields. */
export type Named<Fields, Names> = Compact<{
  [Key in keyof Fields as Key extends keyof Names ? Extract<Names[Key], string> : CodeName<Key>]: Fields[Key];
}>;

/** Names in the code of fields for which camel case is not enough. */
export type OtherNames<Fields> = { readonly [Key in keyof Fields]?: string };

/** No fields with other names. */
export type NoNames = Readonly<Record<never, string>>;

/** The output of a schema with its fields' names in the code, without undefined fields. */
export function named<Fields extends object, const Names extends OtherNames<Fields> = NoNames>(
  schema: z.core.$ZodType<Fields>,
  names?: Names,
) {
  return z.pipe(
    schema,
    z.transform((found: Fields) => toNamed(found, names)),
  );
}

/** Returns an object with its fields' names in the code, without undefined fields. */
export function toNamed<Fields extends object, const Names extends OtherNames<Fields> = NoNames>(
  found: Fields,
  names?: Names,
): Named<Fields, Names> {
  const other = new Map<string, unknown>(Object.entries(names ?? {}));
  const entries = Object.entries(compact(found));
  return Object.fromEntries(entries.map(([name, value]) => [other.get(name) ?? toCodeName(name), value]));
}

function toCodeName(name: string): string {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
