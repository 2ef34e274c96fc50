import { Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { AbortError, SDKError, StreamError } from "../../core/errors.ts";
import { closeAtOnce } from "../../core/item-iterator.ts";

/** Content encodings that are decoded although no request asks for them: some servers and proxies ignore that. */
const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/**
 * Returns a body without its encoding; undefined if the encoding is unknown. The reader pulls the decompression, so
 * that a small body that expands to a large one takes no more memory than the reader allows. Reading the decoded body
 * throws StreamError if the bytes do not match the encoding.
 * @param encoding Header `content-encoding` of the answer.
 */
export function decodeBody(
  body: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncIterable<Uint8Array> | undefined {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity") return body;
  const createDecoder = DECODERS.get(name);
  return createDecoder === undefined ? undefined : decompressed(body, createDecoder());
}

function decompressed(body: AsyncIterable<Uint8Array>, decoder: Transform): AsyncIterable<Uint8Array> {
  const source = Readable.from(body, { objectMode: false });
  // The error ends a pending read, and closes the body.
  const abort = () => source.destroy(new AbortError("the reader stopped before the end of the answer"));
  return closeAtOnce(pipedThrough(source, decoder), () => void abort());
}

async function* pipedThrough(source: Readable, decoder: Transform): AsyncGenerator<Uint8Array> {
  source.on("error", (error) => decoder.emit("error", error));
  try {
    for await (const chunk of source.pipe(decoder)) yield chunk as Uint8Array;
  } catch (error) {
    throw error instanceof SDKError
      ? error
      : new StreamError("the answer's content encoding is invalid", { cause: error });
  } finally {
    source.destroy();
  }
}
