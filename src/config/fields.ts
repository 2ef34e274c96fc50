/** Building blocks for the schemas of the configuration. */
import * as z from "zod/mini";
import { didYouMean } from "./suggest.ts";

/** A mapping of known fields. Each unknown field is an error with a line in the message. */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return `expected a mapping with some of ${known.join(", ")}`;
      return issue.keys.map((key) => `unknown field, ${describeKnown(key, known)}`).join("\n");
    },
  });
}

function describeKnown(key: string, known: readonly string[]): string {
  return `expected one of ${known.join(", ")}${didYouMean(key, known)}`;
}

/** A list that is not empty. */
export function list<Item extends z.core.$ZodType>(item: Item, expected: string) {
  return z
    .array(item, { error: `expected ${expected}` })
    .check(z.minLength(1, { error: `expected ${expected}` }));
}

/** A list that is not empty; a single item stands for a list of one. */
export function oneOrMore<Item extends z.core.$ZodType>(item: Item, expected: string) {
  return z.pipe(
    z.transform((found: unknown) => (Array.isArray(found) || found === undefined ? found : [found])),
    list(item, expected),
  );
}

/** An object type without its undefined fields. */
export type Compact<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined>;
};

/** Returns an object without its undefined fields. */
export function compact<Fields extends object>(object: Fields): Compact<Fields> {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Compact<Fields>;
}
