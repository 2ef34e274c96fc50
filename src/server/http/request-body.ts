import { constants } from "node:http2";
import type { HttpRequest } from "../listen/http-types.ts";

/** What may end the reading of a body early. */
export interface BodyReader {
  /** Aborted when the call is over, or its deadline. May be set while the body is read. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The bytes of a body, until it ends or the reader's signal is aborted: a client that stalls is not waited for beyond
 * the deadline. Leaving the iteration early does not destroy the request, unlike `for await` over the request: on
 * HTTP/1.1 that would close the connection before the error response is sent.
 */
export async function* readBody(request: HttpRequest, reader: BodyReader): AsyncGenerator<Uint8Array> {
  while (!request.readableEnded) {
    const chunk: Uint8Array | null = request.read();
    if (chunk === null) await nextRead(request, reader.signal);
    else yield chunk;
  }
}

/** Discards the rest of a body that a peer is still sending though it has its response. */
export function discardBody(request: HttpRequest): void {
  if (request.complete) return;
  // Tells the peer to stop; it would otherwise wait for a window that never opens (RFC 9113 §8.1).
  if ("stream" in request) request.stream.close(constants.NGHTTP2_NO_ERROR);
  // The connection is free again once the rest has been read.
  else request.resume();
}

/** Resolves when there is more to read, or the end. Rejects when the request breaks or the signal is aborted. */
function nextRead(request: HttpRequest, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      request.off("readable", onRead).off("end", onRead).off("error", onError);
      signal?.removeEventListener("abort", onAbort);
    };
    const onRead = () => {
      stop();
      resolve();
    };
    const onError = (error: Error) => {
      stop();
      reject(error);
    };
    const onAbort = () => onError(signal?.reason);
    request.on("readable", onRead).on("end", onRead).on("error", onError);
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted) onAbort();
  });
}
