/** The part of protobuf's wire format that the minimal server needs. */

/** Writes fields one after another into a buffer that grows. */
export class ProtoWriter {
  #buffer = Buffer.allocUnsafe(16 * 1024);
  #at = 0;

  /** Returns a copy of the written bytes, and resets the writer. */
  take(): Buffer {
    const written = Buffer.allocUnsafe(this.#at);
    this.#buffer.copy(written, 0, 0, this.#at);
    this.#at = 0;
    return written;
  }

  /** Begins a gRPC message. Pass the result to `endFrame`. */
  beginFrame(): number {
    this.#reserve(FRAME_PREFIX_BYTES);
    this.#at += FRAME_PREFIX_BYTES;
    return this.#at;
  }

  endFrame(start: number): void {
    this.#buffer[start - FRAME_PREFIX_BYTES] = 0;
    this.#buffer.writeUInt32BE(this.#at - start, start - FRAME_PREFIX_BYTES + 1);
  }

  /** Begins a message field. Pass the result to `end`. */
  begin(field: number): number {
    this.#reserve(MAX_HEAD_BYTES);
    this.#putVarint((field << 3) | LENGTH_DELIMITED);
    this.#at += 1;
    return this.#at;
  }

  /** Writes the length of a message, and moves the message if the length takes more than a byte. */
  end(start: number): void {
    const length = this.#at - start;
    const extra = varintSize(length) - 1;
    if (extra > 0) {
      this.#reserve(extra);
      this.#buffer.copyWithin(start + extra, start, this.#at);
    }
    this.#at = start - 1;
    this.#putVarint(length);
    this.#at += length;
  }

  /** Writes a non-negative integer field. */
  number(field: number, value: number): void {
    this.#reserve(MAX_HEAD_BYTES);
    this.#putVarint(field << 3);
    this.#putVarint(value);
  }

  /** Writes a string field; omitted if it is empty. */
  text(field: number, value: string): void {
    if (value === "") return;
    this.#reserve(MAX_HEAD_BYTES + value.length * 3);
    this.#putVarint((field << 3) | LENGTH_DELIMITED);
    if (value.length < SHORT_TEXT && this.#putShortAscii(value)) return;
    const length = Buffer.byteLength(value);
    this.#putVarint(length);
    this.#buffer.write(value, this.#at, "utf8");
    this.#at += length;
  }

  /** Copies short ASCII without leaving JavaScript. Returns false, without effect, if the text is something else. */
  #putShortAscii(value: string): boolean {
    const start = this.#at;
    this.#buffer[this.#at++] = value.length;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) {
        this.#at = start;
        return false;
      }
      this.#buffer[this.#at++] = code;
    }
    return true;
  }

  #putVarint(value: number): void {
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.#buffer[this.#at++] = (rest % 128) | 0x80;
    this.#buffer[this.#at++] = rest;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + bytes));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

/** Reads the fields of a message: `take` gets a field's number and its value, a number or bytes. */
export function readFields(message: Buffer, take: (field: number, value: number | Buffer) => void): void {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = message[at++] ?? 0;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    if ((tag & 7) === LENGTH_DELIMITED) {
      const length = varint();
      take(tag >>> 3, message.subarray(at, at + length));
      at += length;
    } else if ((tag & 7) === VARINT) take(tag >>> 3, varint());
    else at += (tag & 7) === FIXED64 ? 8 : 4;
  }
}

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FRAME_PREFIX_BYTES = 5;
/** A tag and a number or length. */
const MAX_HEAD_BYTES = 15;
/** From here on one call of native code is cheaper than a loop; lengths below take one byte. */
const SHORT_TEXT = 32;

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size++;
  return size;
}
