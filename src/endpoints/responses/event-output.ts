/** Events as text: numbered, and framed for the transport that carries them. */

/** Receives the events of a stream, in order. */
export interface EventSink {
  /**
   * @param start The beginning of each event of its type.
   * @param number Its `sequence_number`.
   * @param rest The rest of its JSON text.
   */
  write(start: EventStart, number: number, rest: string): void;
}

/** The beginning of the events of one type, up to their number. */
export interface EventStart {
  /** In a body of `text/event-stream`. */
  readonly sse: string;
  /** As JSON text. */
  readonly json: string;
}

/** The common beginning of all deltas of one item. */
export interface DeltaStart {
  readonly start: EventStart;
  /** From the comma after the number to the delta. */
  readonly members: string;
}

/** @param members Members of the events other than their type, number and delta, as JSON text without braces. */
export function createDeltaStart(type: string, members: string): DeltaStart {
  return { start: getStart(type), members: `,${members},"delta":` };
}

const starts = new Map<string, EventStart>();

/** Returns the beginning of the events of a type. There are only a few types, OpenAI's. */
function getStart(type: string): EventStart {
  const known = starts.get(type);
  if (known !== undefined) return known;
  const json = `{"type":"${type}","sequence_number":`;
  const start = { json, sse: `event: ${type}\ndata: ${json}` };
  starts.set(type, start);
  return start;
}

/** Options for writing the events of a stream. */
export interface EventOptions {
  /** Number of the last event that the caller has: events up to it are counted but not written. -1 if there is none. */
  readonly startingAfter: number;
  /** Whether deltas are padded, so that the size of an event does not reveal the size of its delta. */
  readonly pads: boolean;
}

/** Sizes of padded deltas in UTF-16 units are multiples of this. */
const PADDED_UNITS = 16;

/** Numbers the events of one stream. */
export class EventOutput {
  readonly #sink: EventSink;
  readonly #options: EventOptions;
  #next: number;

  /** @param next Number of the first event. */
  constructor(sink: EventSink, options: EventOptions, next = 0) {
    this.#sink = sink;
    this.#options = options;
    this.#next = next;
  }

  /** Number of the next event. */
  get next(): number {
    return this.#next;
  }

  /** @param members Members of the event other than its type and its number, as JSON text without braces. */
  emit(type: string, members: string): void {
    if (!this.#skip()) this.#sink.write(getStart(type), this.#next - 1, `,${members}}`);
  }

  /**
   * Emits an event that a replay does not have. It repeats the number of the previous event, so that resuming after
   * this number skips nothing.
   */
  emitUnnumbered(type: string, members: string): void {
    const number = Math.max(this.#next - 1, this.#options.startingAfter);
    this.#sink.write(getStart(type), number, `,${members}}`);
  }

  /** Emits an event with a delta. */
  emitDelta({ start, members }: DeltaStart, delta: string): void {
    if (this.#skip()) return;
    const end = this.#options.pads ? `,"obfuscation":"${getPadding(delta)}"}` : "}";
    this.#sink.write(start, this.#next - 1, members + JSON.stringify(delta) + end);
  }

  /** Counts the next event. Returns whether the caller already has it. */
  #skip(): boolean {
    this.#next += 1;
    return this.#next - 1 <= this.#options.startingAfter;
  }
}

/**
 * Returns padding that depends on the delta alone: random padding would make each replay different and hide no more.
 */
function getPadding(delta: string): string {
  return "0".repeat(PADDED_UNITS - 1 - ((delta.length + PADDED_UNITS - 1) % PADDED_UNITS));
}

/** Collects events as a body of `text/event-stream`. */
export class SseSink implements EventSink {
  #text = "";

  /** Whether there is nothing to take. */
  get isEmpty(): boolean {
    return this.#text === "";
  }

  write({ sse }: EventStart, number: number, rest: string): void {
    this.#text += `${sse}${number}${rest}\n\n`;
  }

  /** Ends the body with a line that is not an event. */
  writeLine(line: string): void {
    this.#text += `${line}\n\n`;
  }

  /** Returns everything since the last call, for one write. Empty if there is nothing. */
  take(): Buffer {
    return Buffer.from(this.takeText());
  }

  /** Like `take`, as text. */
  takeText(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}

/** Collects events as separate messages. */
export class MessageSink implements EventSink {
  #messages: string[] = [];

  write({ json }: EventStart, number: number, rest: string): void {
    this.#messages.push(`${json}${number}${rest}`);
  }

  /** Returns all messages since the last call. */
  take(): readonly string[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }
}
