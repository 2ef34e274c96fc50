import type { ServerHttp2Stream } from "node:http2";
import { GrowingBuffer } from "../requests/growing-buffer.ts";

/**
 * Joins the DATA frames of a stream that arrive in one turn of the event loop. Node creates an object of a few hundred
 * bytes for each, and a frame can have a single byte.
 * @param isSingle Called for each frame: whether it is passed on separately and at once.
 */
export function joinData(stream: ServerHttp2Stream, isSingle: () => boolean): void {
  const { push } = stream;
  /** Created for the first frame that is held. */
  let held: GrowingBuffer | undefined;
  const flush = () => {
    const bytes = held?.take();
    held = undefined;
    if (bytes !== undefined) push.call(stream, bytes);
  };
  stream.push = (chunk: Buffer | null, encoding) => {
    if (chunk === null) {
      if (held !== undefined) flush();
      return push.call(stream, null);
    }
    if (isSingle() && held === undefined) return push.call(stream, chunk, encoding);
    if (held === undefined) {
      held = new GrowingBuffer();
      setImmediate(flush);
    }
    held.append(chunk);
    return true;
  };
}
