/** Relays the events of a provider's stream as the provider wrote them, while a decoder reads them. */
import type { AnswerRelay } from "../../core/answer-relay.ts";
import { countJsonValues } from "../../core/json-text.ts";
import { SseDecoder, type SseEvent } from "./sse.ts";

/** Events that the caller did not ask for. */
export interface HiddenEvents {
  /** Texts in UTF-8. Every hidden event contains at least one. */
  readonly markers: readonly string[];
  /** Reports whether an event with one of the texts is hidden. */
  isHidden(event: SseEvent): boolean;
}

/** How the events of a wire API are relayed. */
export interface RelayRules {
  /** Reports whether an event says why the stream failed. */
  reportsFailure(event: SseEvent): boolean;
  /**
   * Reports whether the official SDKs throw an error at such an event. Otherwise they do so at another event that
   * follows. Default: they do.
   */
  isThrown?(event: SseEvent): boolean;
  readonly hidden?: HiddenEvents | undefined;
}

/** A part of a chunk, by its indices. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const LF = 0x0a;
const CR = 0x0d;
const NOTHING = new Uint8Array();

/**
 * Maximum number of lines of an event that may report a failure, and of the JSON values in it. A stream may fail at an
 * event that is refused for its size, and reading it would take seconds.
 */
const MAX_REPORT_LINES = 1000;
const MAX_REPORT_VALUES = 100_000;

/**
 * Cuts the bytes of one stream into whole events, so that comments, or an error, can follow at any time, and keys are
 * found wherever the network cut them.
 */
export class EventRelay {
  readonly #target: AnswerRelay;
  readonly #rules: RelayRules;
  readonly #mask: (bytes: Uint8Array) => Uint8Array;
  readonly #markers: readonly Buffer[];
  /** The beginning of an event. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;

  /** @param mask Removes keys. */
  constructor(target: AnswerRelay, rules: RelayRules, mask: (bytes: Uint8Array) => Uint8Array) {
    this.#target = target;
    this.#rules = rules;
    this.#mask = mask;
    this.#markers = rules.hidden?.markers.map((marker) => Buffer.from(marker)) ?? [];
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Whether there are events that the caller has not taken. */
  get hasEvents(): boolean {
    return this.#target.hasBytes;
  }

  /**
   * Takes bytes that were decoded.
   * @param shown Whole events without a marker, in their order. Default: none are known.
   */
  push(chunk: Uint8Array, shown: readonly ByteRange[] = []): void {
    const end = findEventsEnd(chunk, this.#getSeam());
    if (end > 0) this.#relay(chunk.subarray(0, end), shown);
    if (end < chunk.byteLength) this.#hold(chunk.subarray(end));
  }

  /** Discards the bytes, which are not events. The caller gets the answer in its translated form. */
  drop(): void {
    this.#join(NOTHING);
    this.#target.restart();
  }

  /** Ends a complete stream: relays also an event without a blank line at its end. */
  end(): void {
    this.#relay(NOTHING, []);
  }

  /**
   * Ends a complete stream whose last event is followed by other bytes, which are dropped: no client expects any after
   * the end.
   * @param chunk The bytes with the last event.
   * @param decodedEvents Number of events in them, up to the last one.
   */
  endWithin(chunk: Uint8Array, decodedEvents: number): void {
    const bytes = this.#join(chunk);
    const reader = new EventReader();
    let end = 0;
    for (let events = 0; events < decodedEvents && end < bytes.byteLength; ) {
      const start = end;
      end = findFirstEventEnd(bytes, start);
      if (reader.read(bytes.subarray(start, end)) !== undefined) events += 1;
    }
    this.#relay(bytes.subarray(0, end), []);
  }

  /**
   * Ends a stream that has failed. Relays the events up to the one in which the provider reports why. If there is none,
   * relays the events that were decoded.
   * @param chunk The bytes whose decoding failed.
   * @param decodedEvents Number of events that were decoded before that. Default 0.
   */
  fail(chunk: Uint8Array, decodedEvents = 0): void {
    const bytes = this.#join(chunk);
    const reader = new EventReader();
    let decodedEnd = 0;
    let events = 0;
    for (let start = 0; start < bytes.byteLength; ) {
      const end = findFirstEventEnd(bytes, start);
      const text = bytes.subarray(start, end);
      const isLong = hasMoreLines(text, MAX_REPORT_LINES);
      const event = isLong ? undefined : reader.read(text);
      if (event !== undefined && this.#isReport(event)) {
        this.#relay(bytes.subarray(0, end), []);
        return this.#rules.isThrown?.(event) === false ? undefined : this.#target.fail();
      }
      if (event !== undefined || isLong) events += 1;
      // The error that follows would become a part of an event without a blank line.
      if (events <= decodedEvents && endsBlankLine(bytes, end - 1, NO_SEAM)) decodedEnd = end;
      start = end;
    }
    this.#relay(bytes.subarray(0, decodedEnd), []);
  }

  #isReport(event: SseEvent): boolean {
    return (
      countJsonValues(event.data, MAX_REPORT_VALUES) <= MAX_REPORT_VALUES && this.#rules.reportsFailure(event)
    );
  }

  /** Relays the bytes that are held, and these. */
  #relay(bytes: Uint8Array, shown: readonly ByteRange[]): void {
    const held = this.#heldBytes;
    this.#target.add(this.#mask(this.#withoutHidden(this.#join(bytes), shown, held)));
  }

  /**
   * Returns events without the hidden ones. Decodes only events that have a marker, since decoding all of them a second
   * time would cost too much.
   * @param offset Added to the indices in `shown`.
   */
  #withoutHidden(events: Uint8Array, shown: readonly ByteRange[], offset: number): Uint8Array {
    const { hidden } = this.#rules;
    if (hidden === undefined) return events;
    const kept: Uint8Array[] = [];
    let from = 0;
    for (const gap of getGaps(shown, offset, events.byteLength)) {
      const bytes = toBuffer(events).subarray(0, gap.end);
      const searches = this.#markers.map((marker) => new MarkerSearch(bytes, marker, gap.start));
      let begin = gap.start;
      for (let at = getFirst(searches); at < Number.POSITIVE_INFINITY; at = getFirst(searches)) {
        const start = begin + findEventsEnd(bytes.subarray(begin, at), NO_SEAM);
        begin = findFirstEventEnd(bytes, at);
        const event = new EventReader().read(bytes.subarray(start, begin));
        if (event !== undefined && hidden.isHidden(event)) {
          kept.push(bytes.subarray(from, start));
          from = begin;
        }
        for (const search of searches) search.moveTo(begin);
      }
    }
    return from === 0 ? events : Buffer.concat([...kept, events.subarray(from)]);
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.byteLength;
  }

  #join(bytes: Uint8Array): Uint8Array {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held.length === 0 ? bytes : Buffer.concat([...held, bytes]);
  }

  /** Returns the last two bytes that are held: a blank line may begin there. */
  #getSeam(): Seam {
    const last = this.#held.at(-1) ?? NOTHING;
    const older = last.byteLength > 1 ? last : (this.#held.at(-2) ?? NOTHING);
    return { last: last.at(-1), older: older.at(last === older ? -2 : -1) };
  }
}

/**
 * Returns the parts before, between and after ranges, which are in their order.
 * @param offset Added to their indices.
 */
function getGaps(ranges: readonly ByteRange[], offset: number, length: number): ByteRange[] {
  const ends = [0, ...ranges.map(({ end }) => end + offset)];
  const gaps = ends.map((start, index) => ({
    start,
    end: (ranges[index]?.start ?? length - offset) + offset,
  }));
  return gaps.filter(({ start, end }) => start < end);
}

/** The next occurrence of a marker. Each byte is searched once. */
class MarkerSearch {
  at: number;
  readonly #bytes: Buffer;
  readonly #marker: Buffer;

  constructor(bytes: Buffer, marker: Buffer, from: number) {
    this.#bytes = bytes;
    this.#marker = marker;
    this.at = this.#find(from);
  }

  /** Advances to the first occurrence at or after an index. */
  moveTo(index: number): void {
    if (this.at < index) this.at = this.#find(index);
  }

  #find(from: number): number {
    const at = this.#bytes.indexOf(this.#marker, from);
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  }
}

function getFirst(searches: readonly MarkerSearch[]): number {
  return Math.min(...searches.map(({ at }) => at));
}

/** Reads whole events, one at a time, of any size: their bytes are held already. */
class EventReader {
  #event: SseEvent | undefined;
  readonly #decoder = new SseDecoder((event) => {
    this.#event = event;
  }, Number.POSITIVE_INFINITY);

  /** Returns the event; undefined if the text is only a comment. */
  read(bytes: Uint8Array): SseEvent | undefined {
    this.#event = undefined;
    this.#decoder.push(bytes);
    this.#decoder.end();
    return this.#event;
  }
}

/** The two bytes before a chunk. */
interface Seam {
  readonly last: number | undefined;
  readonly older: number | undefined;
}

const NO_SEAM: Seam = { last: undefined, older: undefined };

/** Returns the index after the last blank line; 0 if there is none. */
function findEventsEnd(bytes: Uint8Array, seam: Seam): number {
  for (let index = bytes.byteLength - 1; index >= 0; index -= 1)
    if (endsBlankLine(bytes, index, seam)) return index + 1;
  return 0;
}

/** Returns the index after the first blank line; the end of the bytes if there is none. */
function findFirstEventEnd(bytes: Uint8Array, start: number): number {
  for (let index = start; index < bytes.byteLength; index += 1)
    if (endsBlankLine(bytes, index, NO_SEAM)) return bytes[index + 1] === LF ? index + 2 : index + 1;
  return bytes.byteLength;
}

function hasMoreLines(bytes: Uint8Array, max: number): boolean {
  let lines = 0;
  for (const end of [LF, CR])
    for (let at = bytes.indexOf(end); at >= 0 && lines <= max; at = bytes.indexOf(end, at + 1)) lines += 1;
  return lines > max;
}

/** A line ends with LF, CR or both. */
function endsBlankLine(bytes: Uint8Array, index: number, { last, older }: Seam): boolean {
  const byte = bytes[index];
  if (byte !== LF && byte !== CR) return false;
  const before = index > 0 ? bytes[index - 1] : last;
  if (byte === LF && before === CR) return isLineEnd(index > 1 ? bytes[index - 2] : index > 0 ? last : older);
  return isLineEnd(before);
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
