/**
 * Reads the error texts of other packages, since these errors have no code. Written for @connectrpc/connect 2.2.0,
 * @bufbuild/protobuf 2.17.0 and V8 13.6 (Node 24); test/server/internals/error-texts.test.ts provokes each of these
 * errors.
 */
import { Code, ConnectError } from "@connectrpc/connect";

const PARSE_FAULT = "parse binary: ";
const JSON_FAULT = /^cannot decode \w+ [\w.]+ from JSON: /;
const WRITE_FAULT = /^(?:serialize binary: |cannot encode )/;

/** Connect: creates the error of a message that does not parse. The gRPC transport uses it too, for the same words. */
export function parseFault(error: unknown): ConnectError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ConnectError(`${PARSE_FAULT}${reason}`, Code.Internal);
}

/** Connect: whether an error says that a message does not parse. */
export function isParseFault({ rawMessage }: ConnectError): boolean {
  return rawMessage.startsWith(PARSE_FAULT);
}

/** protobuf-es: whether an error says that the JSON of a message does not fit its type. */
export function isJsonFault({ rawMessage }: ConnectError): boolean {
  return JSON_FAULT.test(rawMessage);
}

/** Connect and protobuf-es: whether an error says that a message of a service cannot be encoded. */
export function isWriteFault({ rawMessage }: ConnectError): boolean {
  return WRITE_FAULT.test(rawMessage);
}

// Matches the error before and the error after decompression.
const TOO_LARGE = /^message (?:size )?(\d+ )?is larger than configured readMaxBytes (\d+)/;

/** Connect: reads the sizes in an error about a message over `readMaxBytes`; returns undefined for other texts. */
export function tooLargeSizes(message: string): { size: string | undefined; limit: string } | undefined {
  const [, size, limit] = TOO_LARGE.exec(message) ?? [];
  return limit === undefined ? undefined : { size: size?.trim(), limit };
}

// V8 quotes the text around the token.
const SYNTAX_ERROR = /from JSON: Unexpected token .*$/s;

// protobuf-es quotes a text of at most 30 characters, at the end or before a reason.
const QUOTED_VALUE = /(from JSON: |got |map entry |map key )"(.*)"/s;

const ENUM_VALUE = /^cannot decode enum [\w.]+ from JSON: "[\w-]*"$/;

/** protobuf-es and V8: removes the texts of the request that an error about JSON quotes. Enum values are kept. */
export function withoutQuotes(message: string): string {
  if (ENUM_VALUE.test(message)) return message;
  return message
    .replace(SYNTAX_ERROR, "from JSON: it is not valid JSON")
    .replace(QUOTED_VALUE, (_, before: string, text: string) => `${before}a string of length ${text.length}`);
}

const ENUM_ERROR = /^cannot decode enum ([\w.]+) from JSON: /;

/** protobuf-es: returns the type name in an error about an enum value; undefined for other texts. */
export function enumTypeIn(message: string): string | undefined {
  return ENUM_ERROR.exec(message)?.[1];
}
