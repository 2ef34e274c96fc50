import { isUtf8 } from "node:buffer";
import { countJsonValues } from "../../core/json-text.ts";
import type { SseEvent } from "./sse.ts";

/** Characters that need more than copying, or make JSON invalid. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them in a string.
const SPECIAL = /["\\\u0000-\u001f]/;

/** The place of a value that differs between events. */
interface Gap {
  readonly start: number;
  readonly end: number;
}

/** Events in a row that were read from bytes. */
export interface DeltaRun {
  /** The text of each event, or one text of all of them. */
  readonly texts: readonly string[];
  readonly events: number;
  /** Number of their JSON values, by `countJsonValues`. */
  readonly jsonValues: number;
  /** Index after the last one. */
  readonly end: number;
}

/**
 * Reads events without parsing them if they differ from an earlier one only in a single text, and in members that are
 * not read, as most events of a stream do. An event that is anything else has to be parsed.
 */
export class DeltaTemplate {
  #type = "";
  /** The parts of the event between the values that differ. Empty: no event is known. */
  #constants: readonly string[] = [];
  /** The constants as bytes. Undefined until bytes are read. */
  #encoded: EncodedConstants | undefined;
  #textAt = 0;
  /**
   * Whether two events in a row were alike. Some servers write something different in each event: preparing for the
   * next one would cost more than parsing it.
   */
  #isRepeated = false;

  /**
   * Remembers a parsed event instead of an earlier one. Returns false if its text cannot be distinguished from the
   * rest: then every event has to be parsed.
   * @param field Name of the field with the text.
   * @param ignored Names of members that differ between events and are not read: strings, and numbers without a sign.
   */
  learn({ type, data }: SseEvent, field: string, text: string, ignored: readonly string[] = []): boolean {
    this.#isRepeated = false;
    const found = findValue(data, field);
    if (found === undefined || data[found.start - 1] !== '"' || data.slice(found.start, found.end) !== text)
      return false;
    const gaps: Gap[] = [found];
    for (const name of ignored) {
      const gap = findValue(data, name);
      if (gap === undefined) continue;
      let index = gaps.length;
      while (index > 0 && (gaps[index - 1]?.start ?? 0) > gap.start) index -= 1;
      gaps.splice(index, 0, gap);
    }
    const constants: string[] = [];
    let constantStart = 0;
    for (const { start, end } of gaps) {
      constants.push(data.slice(constantStart, start));
      constantStart = end;
    }
    constants.push(data.slice(constantStart));
    const textAt = gaps.indexOf(found);
    this.#isRepeated = type === this.#type && textAt === this.#textAt && areEqual(constants, this.#constants);
    if (!this.#isRepeated) this.#encoded = undefined;
    this.#type = type;
    this.#constants = constants;
    this.#textAt = textAt;
    return true;
  }

  /**
   * Reads the events in a row that are like the remembered one, if they are written as most servers do. Undefined if
   * there are none.
   * @param start Index at which an event begins.
   * @param maxEventBytes Larger events are left to a parser.
   * @param joins Whether their texts are joined.
   */
  readRun(bytes: Buffer, start: number, maxEventBytes: number, joins: boolean): DeltaRun | undefined {
    if (!this.#isRepeated) return undefined;
    this.#encoded ??= encode(this.#type, this.#constants);
    const { constants, seam, jsonValues } = this.#encoded;
    const last = constants.length - 1;
    const textEnds: number[] = [];
    let events = 0;
    let end = start;
    let length = 0;
    // Index after the constant with which the next event begins.
    let begun = findConstantEnd(bytes, start, constants[0]);
    while (begun >= 0) {
      let at = begun;
      let textStart = 0;
      let textEnd = 0;
      for (let index = 0; index < last; index += 1) {
        const valueStart = index === 0 ? begun : findConstantEnd(bytes, at, constants[index]);
        at = findValueEnd(bytes, valueStart);
        if (index !== this.#textAt) continue;
        textStart = valueStart;
        textEnd = at;
      }
      // Most events are followed by another one: comparing the end of one and the beginning of the next together saves
      // a comparison.
      begun = findConstantEnd(bytes, at, seam);
      at = begun < 0 ? findConstantEnd(bytes, at, constants[last]) : begun - (constants[0]?.length ?? 0);
      const textLength = textEnd - textStart;
      if (at < 0 || at - end > maxEventBytes || textLength < 1 || length + textLength > texts.length) break;
      if (!copyText(bytes, textStart, textEnd, length)) break;
      length += textLength;
      if (!joins) textEnds.push(length);
      end = at;
      events += 1;
    }
    if (events === 0) return undefined;
    return { texts: takeTexts(joins ? [length] : textEnds), events, jsonValues: events * jsonValues, end };
  }
}

/** The parts of an event between the values that differ, with the lines around them. */
interface EncodedConstants {
  readonly constants: readonly Buffer[];
  /** The last constant, followed by the first one of the next event. */
  readonly seam: Buffer;
  /** Number of JSON values of an event. */
  readonly jsonValues: number;
}

function areEqual(left: readonly string[], right: readonly string[]): boolean {
  for (let index = 0; index < left.length; index += 1) if (left[index] !== right[index]) return false;
  return left.length === right.length;
}

function encode(type: string, parts: readonly string[]): EncodedConstants {
  const first = type === "" ? "data: " : `event: ${type}\ndata: `;
  const constants: Buffer[] = [];
  for (const [index, part] of parts.entries()) {
    const head = index === 0 ? first : "";
    constants.push(Buffer.from(`${head}${part}${index === parts.length - 1 ? "\n\n" : ""}`));
  }
  return {
    constants,
    seam: Buffer.concat([...constants.slice(-1), ...constants.slice(0, 1)]),
    // The quotes around the texts are in the parts.
    jsonValues: countJsonValues(parts.join(""), Number.POSITIVE_INFINITY),
  };
}

/** The texts of a run that is being read. Shared, since a run is read synchronously. */
const texts = Buffer.alloc(64 * 1024);

/** Returns the texts that end at these indices. */
function takeTexts(ends: readonly number[]): string[] {
  const length = ends.at(-1) ?? 0;
  const whole = texts.toString("utf8", 0, length);
  // Slices cost less than decoding each, but have byte indices.
  const isAscii = whole.length === length;
  const taken: string[] = [];
  let start = 0;
  for (const end of ends) {
    taken.push(isAscii ? whole.slice(start, end) : texts.toString("utf8", start, end));
    start = end;
  }
  return taken;
}

/** Copies a text to an index of the texts. Returns false if it is not UTF-8. */
function copyText(bytes: Buffer, start: number, end: number, to: number): boolean {
  let bits = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    bits |= byte;
    texts[to + at - start] = byte;
  }
  return bits < FIRST_NON_ASCII || isUtf8(bytes.subarray(start, end));
}

/** Returns the index after a constant; -1 if the bytes do not have it there. */
function findConstantEnd(bytes: Buffer, at: number, constant: Buffer | undefined): number {
  if (constant === undefined || at < 0) return -1;
  const end = at + constant.length;
  if (end > bytes.length) return -1;
  return bytes.compare(constant, 0, constant.length, at, end) === 0 ? end : -1;
}

/** Returns the index after a string without its quotes, or after a number; -1 if it needs a parser. */
function findValueEnd(bytes: Buffer, start: number): number {
  if (start < 0) return -1;
  let at = start;
  if (bytes[start - 1] !== QUOTE) {
    while (isDigit(bytes[at])) at += 1;
    return at > start ? at : -1;
  }
  for (let byte = bytes[at]; byte !== QUOTE; byte = bytes[at]) {
    if (byte === undefined || byte < FIRST_PRINTABLE || byte === BACKSLASH) return -1;
    at += 1;
  }
  return at;
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= ZERO && code <= NINE;
}

/** Returns the place of a member's value, without its quotes. Undefined if it cannot be distinguished from the rest. */
function findValue(data: string, name: string): Gap | undefined {
  const key = `"${name}":`;
  const at = data.indexOf(key);
  if (at < 0 || data.includes(key, at + 1)) return undefined;
  const start = at + key.length + (data[at + key.length] === " " ? 1 : 0);
  if (data[start] !== '"') {
    let end = start;
    while (isDigit(data.charCodeAt(end))) end += 1;
    return end > start ? { start, end } : undefined;
  }
  const end = data.indexOf('"', start + 1);
  return end < 0 || SPECIAL.test(data.slice(start + 1, end)) ? undefined : { start: start + 1, end };
}

const FIRST_PRINTABLE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const FIRST_NON_ASCII = 0x80;
