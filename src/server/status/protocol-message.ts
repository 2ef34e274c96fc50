import { tooLargeSizes, withoutQuotes } from "../internals/error-texts.ts";
import { boundedText } from "./bounded-text.ts";
import { enumHint } from "./enum-hint.ts";

/**
 * Returns the message for a request that Connect or protobuf-es could not read: their text, at most 384 bytes, without
 * the parts of the request that it quotes, since a text in place of a list of parts usually is the prompt. An unknown
 * enum value is kept, and the known values are added.
 */
export function protocolMessage(message: string): string {
  const sizes = tooLargeSizes(message);
  if (sizes !== undefined) return describeSizes(sizes);
  return boundedText(withoutQuotes(message), MAX_BYTES) + enumHint(message);
}

const MAX_BYTES = 384;

function describeSizes({ size, limit }: { size: string | undefined; limit: string }): string {
  const found = size === undefined ? "more" : `${size} bytes`;
  return `the message is too large: expected at most ${limit} bytes (limits.max_message_bytes), found ${found}`;
}
