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
