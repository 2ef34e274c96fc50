/** The written form of an option's value, and its parser. */
export interface OptionKind<Value> {
  /** Returns the value, or undefined if the text is invalid. */
  readonly read: (text: string) => Value | undefined;
  /** Description of valid values, for errors and the documentation. */
  readonly expected: string;
}

/** A whole number within limits (inclusive). */
export function integer(minimum: number, maximum: number): OptionKind<number> {
  const read = (text: string): number | undefined => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= minimum && value <= maximum ? value : undefined;
  };
  return { read, expected: `integer from ${minimum} to ${maximum}` };
}

/** A decimal number within limits (inclusive). */
export function decimal(minimum: number, maximum: number): OptionKind<number> {
  const read = (text: string): number | undefined => {
    const value = Number(text);
    return /^\d+(\.\d+)?$/.test(text) && value >= minimum && value <= maximum ? value : undefined;
  };
  return { read, expected: `number from ${minimum} to ${maximum}` };
}

/** One of the given words. */
export function choice<const Word extends string>(words: readonly Word[]): OptionKind<Word> {
  return {
    read: (text) => words.find((word) => word === text),
    expected: words.map((word) => `\`${word}\``).join(" or "),
  };
}

/** A switch that is off unless it is `1`. */
export const flag: OptionKind<boolean> = {
  read: (text) => (text === "1" ? true : text === "0" ? false : undefined),
  expected: "`1` or `0`",
};

/** A value of the provider, passed on unchanged. */
export const word: OptionKind<string> = {
  read: (text) => (/^[A-Za-z0-9_.-]{1,64}$/.test(text) ? text : undefined),
  expected: "word of letters, digits, `_`, `-` and `.`",
};

/** Splitting at random places: `random:SEED`. The value is the seed. */
export const seededSplit: OptionKind<string> = {
  read: (text) => /^random:([A-Za-z0-9_-]{1,32})$/.exec(text)?.[1],
  expected: "`random:SEED`",
};
