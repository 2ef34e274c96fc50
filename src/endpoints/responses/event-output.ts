/** Events as text: numbered, and framed for the transport that carries them. */

/** Takes the events of a stream, in order. */
export interface EventSink {
  /** @param data The event as JSON text. */
  write(type: string, data: string): void;
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

  /** @param members Members of the event besides its type and its number, as JSON text without braces. */
  emit(type: string, members: string): void {
    if (!this.#skip()) this.#write(type, members);
  }

  /**
   * Emits an event that a replay does not have. It repeats the number of the previous event, so that resuming after
   * this number skips nothing.
   */
  emitUnnumbered(type: string, members: string): void {
    const number = Math.max(this.#next - 1, this.#options.startingAfter);
    this.#sink.write(type, `{"type":"${type}","sequence_number":${number},${members}}`);
  }

  /** Emits an event with a delta. @param members Its other members, followed by a comma. */
  emitDelta(type: string, members: string, delta: string): void {
    if (this.#skip()) return;
    const padding = this.#options.pads ? `,"obfuscation":"${getPadding(delta)}"` : "";
    this.#write(type, `${members}"delta":${JSON.stringify(delta)}${padding}`);
  }

  /** Counts the next event. Returns whether the caller already has it. */
  #skip(): boolean {
    this.#next += 1;
    return this.#next - 1 <= this.#options.startingAfter;
  }

  /** Writes the event that was counted last. */
  #write(type: string, members: string): void {
    this.#sink.write(type, `{"type":"${type}","sequence_number":${this.#next - 1},${members}}`);
  }
}

/** Returns equal padding for equal deltas: random characters would make each replay different and hide no more. */
function getPadding(delta: string): string {
  return "0".repeat(PADDED_UNITS - 1 - ((delta.length + PADDED_UNITS - 1) % PADDED_UNITS));
}

/** Collects events as a body of `text/event-stream`. */
export class SseSink implements EventSink {
  #text = "";

  write(type: string, data: string): void {
    this.#text += `event: ${type}\ndata: ${data}\n\n`;
  }

  /** Returns everything since the last call, for one write. Empty if there is nothing. */
  take(): Buffer {
    const bytes = Buffer.from(this.#text);
    this.#text = "";
    return bytes;
  }
}

/** Collects events as messages, each by itself. */
export class MessageSink implements EventSink {
  #messages: string[] = [];

  write(_type: string, data: string): void {
    this.#messages.push(data);
  }

  /** Returns all messages since the last call. */
  take(): readonly string[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }
}
