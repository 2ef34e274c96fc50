/**
 * Writes to responses so that each has at most one unflushed write. Waiting only when Node's buffer is full by bytes
 * would cost a megabyte of bookkeeping for a reader that leaves a thousand small events unread.
 */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { HttpResponse } from "../base/http-types.ts";
import { PeerClosedError } from "./flushed-response.ts";

/**
 * Writes bytes. Resolves when they are flushed: HTTP/2's flow control has let them pass, and the kernel has them.
 * @throws PeerClosedError
 */
export function writePaced(response: HttpResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new PeerClosedError());
    response.once("close", onClose);
    response.write(bytes, (error?: Error | null) => {
      response.off("close", onClose);
      if (error) reject(new PeerClosedError({ cause: error }));
      else resolve();
    });
  });
}

/** Ends a response. Resolves when its last bytes are flushed, or the peer has disconnected. */
export function endPaced(response: HttpResponse, last?: Uint8Array | string): Promise<void> {
  if (isClosed(response)) return Promise.resolve();
  return new Promise((resolve) => {
    // Over HTTP/1.1, `close` follows the last bytes.
    response.once("close", resolve);
    if ("stream" in response) onHttp2End(response.stream, resolve);
    response.end(last);
  });
}

/** Ends a response of status 200 with its headers. On HTTP/2 that is a single HEADERS frame with END_STREAM. */
export function endWithHeaders(response: HttpResponse, headers: OutgoingHttpHeaders): void {
  // Not writeHead: it sends the headers before the end is known, and an empty DATA frame would follow.
  response.statusCode = 200;
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) response.setHeader(name, value);
  }
  response.end();
}

/** Like `endWithHeaders`. Resolves when the frame is handed to HTTP/2, or the peer has disconnected. */
export function endWithHeadersPaced(
  response: HttpResponse,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  if (isClosed(response)) return Promise.resolve();
  return new Promise((resolve) => {
    response.once("close", resolve);
    if ("stream" in response) response.stream.once("finish", () => setImmediate(resolve));
    endWithHeaders(response, headers);
  });
}

/**
 * Calls `callback` when the whole response is handed to HTTP/2. The "finish" event is too late: it waits until the peer
 * has ended its request, too.
 */
function onHttp2End(stream: ServerHttp2Stream, callback: () => void): void {
  // Emitted after the last bytes. The end of the stream follows within the same turn of the event loop.
  stream.once("wantTrailers", () => setImmediate(callback));
}

/**
 * Reports whether the event "close" was emitted or is about to be: a listener that is added now may never be called.
 */
function isClosed(response: HttpResponse): boolean {
  return "stream" in response ? response.stream.destroyed : response.destroyed;
}
