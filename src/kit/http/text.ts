import { StreamError } from "../../core/errors.ts";
import { getContentEncoding } from "./content-encoding.ts";
import type { HttpHeaders } from "./headers.ts";

/** Decodes whole texts, so it keeps no state between them. */
const WHOLE_TEXT = new TextDecoder();

/** A body that is to be read whole. */
export interface WholeBody {
  readonly body: AsyncIterable<Uint8Array>;
  readonly headers: HttpHeaders;
  readonly maxBytes: number;
  /** Takes memory until the body has that many bytes, before they are held. */
  readonly reserve?: ((bytes: number) => Promise<void> | undefined) | undefined;
  /** Host and port, for the error. */
  readonly peer: string;
}

/**
 * Reads a whole body as UTF-8, without its byte order mark; invalid bytes become U+FFFD. Throws StreamError, not
 * retryable, if it is larger than `maxBytes`: by its content-length with the first bytes, else by the bytes so far.
 */
export async function readText({ body, headers, maxBytes, peer, reserve }: WholeBody): Promise<string> {
  // The length of an encoded body says nothing about its text.
  const isEncoded = getContentEncoding(headers.get("content-encoding")) !== "identity";
  const announced = isEncoded ? 0 : Number(headers.get("content-length") ?? 0);
  let utf8: InstanceType<typeof TextDecoder> | undefined;
  let text = "";
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (Math.max(bytes, announced) > maxBytes) throw tooLarge(peer, maxBytes);
    const waiting = reserve?.(Math.max(bytes, announced));
    if (waiting !== undefined) await waiting;
    // Decoded piece by piece, so that the bytes and their text are never both whole in memory.
    if (bytes === announced && utf8 === undefined) text = WHOLE_TEXT.decode(chunk);
    else {
      utf8 ??= new TextDecoder();
      text += utf8.decode(chunk, { stream: true });
    }
  }
  return utf8 === undefined ? text : text + utf8.decode();
}

function tooLarge(peer: string, maxBytes: number): StreamError {
  return new StreamError(
    `the answer of ${peer} is larger than ${maxBytes} bytes, the limit max_answer_bytes`,
    { retryable: false },
  );
}
