import type { ServerHttp2Stream } from "node:http2";
import { GrowingBuffer } from "../requests/growing-buffer.ts";

/**
 * Joins the DATA frames of a stream that arrive in one turn of the event loop. Node makes an object of a few hundred
 * bytes of each, and a frame can have a single byte.
 * @param isSingle Called for each frame: whether it is passed on by itself and at once.
 */
export function joinData(stream: ServerHttp2Stream, isSingle: () => boolean): void {
  const { push } = stream;
  const held = new GrowingBuffer();
  const flush = () => {
    if (held.length > 0) push.call(stream, held.take());
  };
  stream.push = (chunk: Buffer | null, encoding) => {
    if (chunk === null) flush();
    if (chunk === null || (isSingle() && held.length === 0)) return push.call(stream, chunk, encoding);
    if (held.length === 0) setImmediate(flush);
    held.append(chunk);
    return true;
  };
}
