import { StreamError } from "../../core/errors.ts";
import { contentEncodingOf } from "./content-encoding.ts";
import type { HttpHeaders } from "./headers.ts";

/** For whole texts, of which it remembers nothing. */
const utf8 = new TextDecoder();

/** A body that is to be read whole. */
export interface WholeBody {
  readonly body: AsyncIterable<Uint8Array>;
  readonly headers: HttpHeaders;
  readonly maxBytes: number;
  /** Host and port, for the error. */
  readonly peer: string;
}

/**
 * Reads a whole body as UTF-8, without its byte order mark; bytes that are no UTF-8 become
 * U+FFFD. Throws StreamError, not retryable, where it is larger than `maxBytes`: by its
 * content-length with the first bytes, else by what has come.
 */
export async function readText({ body, headers, maxBytes, peer }: WholeBody): Promise<string> {
  // The length of an encoded body says nothing about its text.
  const isEncoded = contentEncodingOf(headers.get("content-encoding")) !== "identity";
  const announced = isEncoded ? 0 : Number(headers.get("content-length") ?? 0);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (Math.max(bytes, announced) > maxBytes) throw tooLarge(peer, maxBytes);
    chunks.push(chunk);
  }
  const [first] = chunks;
  return utf8.decode(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
}

function tooLarge(peer: string, maxBytes: number): StreamError {
  return new StreamError(
    `the answer of ${peer} is larger than ${maxBytes} bytes, the limit max_answer_bytes`,
    { retryable: false },
  );
}
