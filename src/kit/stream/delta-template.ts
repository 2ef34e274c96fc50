/** Characters that need more than copying, or make JSON invalid. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none of them in a string.
const SPECIAL = /["\\\u0000-\u001f]/;

/**
 * Reads events that differ from an earlier one in a single text, which is what most events of a stream do, without parsing
 * them. An event that is anything else has to be parsed.
 */
export class DeltaTemplate {
  #before = "";
  #after = "";

  /**
   * Remembers an event that was parsed, if its text can be told from the rest. Returns whether that is so.
   * @param field Name of the field with the text.
   */
  learn(data: string, field: string, text: string): boolean {
    const key = `"${field}":`;
    const at = data.indexOf(key);
    if (at < 0 || data.includes(key, at + 1)) return false;
    const start = at + key.length + (data[at + key.length] === " " ? 2 : 1);
    const end = start + text.length;
    if (data[start - 1] !== '"' || data[end] !== '"' || data.slice(start, end) !== text) return false;
    this.#before = data.slice(0, start);
    this.#after = data.slice(end);
    return true;
  }

  /** Returns the text of an event that is otherwise like the remembered one; undefined for any other event. */
  read(data: string): string | undefined {
    const before = this.#before;
    if (before === "") return undefined;
    const end = data.length - this.#after.length;
    if (end <= before.length || !data.startsWith(before) || !data.endsWith(this.#after)) return undefined;
    const text = data.slice(before.length, end);
    return SPECIAL.test(text) ? undefined : text;
  }
}
