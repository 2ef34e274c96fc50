import { boundedText } from "./bounded-text.ts";
import { enumHint } from "./enum-hint.ts";

/**
 * What a status says of a request that Connect or protobuf-es could not read: their words, at most
 * 384 bytes of them, without the texts that they quote. Where a list of parts belongs, a text
 * is most often the prompt. A value that is no value of an enum is shown, with those that are.
 */
export function protocolMessage(message: string): string {
  const [, size, limit] = TOO_LARGE.exec(message) ?? [];
  if (limit !== undefined) return describeSize(size, limit);
  return boundedText(withoutQuotes(message), MAX_BYTES) + enumHint(message);
}

const MAX_BYTES = 384;

// As Connect words it, before and after it decompresses.
const TOO_LARGE = /^message (?:size )?(\d+ )?is larger than configured readMaxBytes (\d+)/;

function describeSize(size: string | undefined, limit: string): string {
  const found = size === undefined ? "more" : `${size.trim()} bytes`;
  return `the message is too large: expected at most ${limit} bytes (limits.max_message_bytes), found ${found}`;
}

// As V8 words it: with what stands around the token.
const SYNTAX_ERROR = /from JSON: Unexpected token .*$/s;

// As protobuf-es words it: a text of at most 30 characters, at the end or before a reason.
const QUOTED_VALUE = /(from JSON: |got |map entry |map key )"(.*)"/s;

const ENUM_VALUE = /^cannot decode enum [\w.]+ from JSON: "[\w-]*"$/;

function withoutQuotes(message: string): string {
  if (ENUM_VALUE.test(message)) return message;
  return message
    .replace(SYNTAX_ERROR, "from JSON: it is not valid JSON")
    .replace(QUOTED_VALUE, (_, before: string, text: string) => `${before}a string of length ${text.length}`);
}
