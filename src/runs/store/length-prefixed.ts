/** Several messages in one body: each after its length, as a varint. */
import { InternalError } from "../../core/errors.ts";

const CONTINUATION = 0x80;
const BITS_PER_BYTE = 7;

/** One buffer with all of them. */
export function joinWithLengths(messages: readonly Uint8Array[]): Uint8Array {
  const size = messages.reduce((sum, { byteLength }) => sum + getVarintLength(byteLength) + byteLength, 0);
  const joined = Buffer.allocUnsafe(size);
  let at = 0;
  for (const message of messages) {
    let rest = message.byteLength;
    for (; rest >= CONTINUATION; rest = Math.floor(rest / CONTINUATION)) {
      joined[at++] = (rest % CONTINUATION) | CONTINUATION;
    }
    joined[at++] = rest;
    joined.set(message, at);
    at += message.byteLength;
  }
  return joined;
}

/** The messages in a buffer, as views of it. */
export function splitByLengths(joined: Uint8Array): Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (let at = 0; at < joined.byteLength; ) {
    let length = 0;
    for (let unit = 1; ; unit *= CONTINUATION) {
      const byte = joined[at++];
      if (byte === undefined) throw new InternalError("the last message of a body is cut off");
      length += (byte % CONTINUATION) * unit;
      if (byte < CONTINUATION) break;
    }
    if (at + length > joined.byteLength) throw new InternalError("the last message of a body is cut off");
    messages.push(joined.subarray(at, at + length));
    at += length;
  }
  return messages;
}

function getVarintLength(value: number): number {
  return Math.max(1, Math.ceil((32 - Math.clz32(value)) / BITS_PER_BYTE));
}
