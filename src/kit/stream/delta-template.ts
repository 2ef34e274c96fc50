/** Characters that need more than copying, or make JSON invalid. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them in a string.
const SPECIAL = /["\\\u0000-\u001f]/;

/** A value that differs between events. */
interface Gap {
  readonly start: number;
  readonly end: number;
  readonly isText: boolean;
}

/**
 * Reads events that differ from an earlier one in a single text, and in members that nobody reads, which is what most
 * events of a stream do, without parsing them. An event that is anything else has to be parsed.
 */
export class DeltaTemplate {
  /** The parts of the event between the values that differ. Empty: no event is known. */
  #constants: readonly string[] = [];
  #textAt = 0;

  /**
   * Remembers an event that was parsed, if its text can be told from the rest. Returns whether that is so.
   * @param field Name of the field with the text.
   * @param ignored Names of members that differ between events and are not read: strings, and numbers without a sign.
   */
  learn(data: string, field: string, text: string, ignored: readonly string[] = []): boolean {
    this.forget();
    const found = findValue(data, field);
    if (found === undefined || data[found.start - 1] !== '"' || data.slice(found.start, found.end) !== text)
      return false;
    const gaps: Gap[] = [{ ...found, isText: true }];
    for (const name of ignored) {
      const gap = findValue(data, name);
      if (gap !== undefined) gaps.push({ ...gap, isText: false });
    }
    gaps.sort((left, right) => left.start - right.start);
    this.#textAt = gaps.findIndex(({ isText }) => isText);
    this.#constants = [0, ...gaps.map(({ end }) => end)].map((start, index) =>
      data.slice(start, gaps[index]?.start ?? data.length),
    );
    return true;
  }

  /** Forgets the event: others have to be parsed. */
  forget(): void {
    this.#constants = [];
  }

  /** Returns the text of an event that is otherwise like the remembered one; undefined for any other event. */
  read(data: string): string | undefined {
    const constants = this.#constants;
    const last = constants.length - 1;
    if (last < 1 || !data.endsWith(constants[last] ?? "")) return undefined;
    let text = "";
    let at = 0;
    for (let index = 0; index < last; index += 1) {
      const constant = constants[index] ?? "";
      if (!data.startsWith(constant, at)) return undefined;
      const start = at + constant.length;
      const isString = data[start - 1] === '"';
      at = isString ? data.indexOf('"', start) : endOfDigits(data, start);
      const value = data.slice(start, at);
      const isRead = index === this.#textAt;
      if (at < start || SPECIAL.test(value) || (value === "" && (isRead || !isString))) return undefined;
      if (isRead) text = value;
    }
    return at + (constants[last] ?? "").length === data.length ? text : undefined;
  }
}

/** Returns the place of a member's value, without its quotes. Undefined if it is none that can be told from the rest. */
function findValue(data: string, name: string): Pick<Gap, "start" | "end"> | undefined {
  const key = `"${name}":`;
  const at = data.indexOf(key);
  if (at < 0 || data.includes(key, at + 1)) return undefined;
  const start = at + key.length + (data[at + key.length] === " " ? 1 : 0);
  if (data[start] !== '"') {
    const end = endOfDigits(data, start);
    return end > start ? { start, end } : undefined;
  }
  const end = data.indexOf('"', start + 1);
  return end < 0 || SPECIAL.test(data.slice(start + 1, end)) ? undefined : { start: start + 1, end };
}

function endOfDigits(data: string, start: number): number {
  let end = start;
  while (data.charCodeAt(end) >= ZERO && data.charCodeAt(end) <= NINE) end += 1;
  return end;
}

const ZERO = 0x30;
const NINE = 0x39;
