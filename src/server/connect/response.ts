/**
 * The response side of Connect's handlers. Connect's own adapter waits only when Node's buffer
 * is full by bytes; a thousand small events of a reader who does not read cost it a megabyte
 * of bookkeeping. Here a stream has at most one write that has not left.
 */
import type { ServerHttp2Stream } from "node:http2";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { endWithHeaders } from "../http/end-with-headers.ts";
import type { HttpResponse } from "../listen/http-types.ts";
import { readableTrailers } from "../status/grpc-message.ts";

/** The peer closed the stream before all was said. */
export class PeerClosedError extends Error {
  constructor(options?: ErrorOptions) {
    super("the peer closed the stream", options);
  }
}

/** What the writer of a response asks about its call. */
export interface Flow {
  /** Whether the next frame is ready too, so that both should leave together. */
  moreReady(): boolean;
  /** Whether the peer is gone. Writing would then never come to an end. */
  hasLeft(): boolean;
}

/**
 * Writes a response to its end. Headers leave with the first frame of the body.
 * @throws PeerClosedError, after which the body is not read any further, which ends the call. What the body throws.
 */
export async function sendResponse(
  { status, header, body, trailer }: UniversalServerResponse,
  response: HttpResponse,
  flow: Flow,
): Promise<void> {
  const headers = Object.fromEntries(header ?? []);
  const begin = () => response.writeHead(status, headers);
  const hasBody = body !== undefined && (await sendBody(body, response, flow, begin));
  if (flow.hasLeft()) throw new PeerClosedError();
  const trailers = trailer === undefined ? {} : readableTrailers(trailer);
  if (!hasBody && isGrpcFailure(trailers)) return sendTrailersOnly(response, { ...headers, ...trailers });
  if (!hasBody) begin();
  response.addTrailers(trailers);
  await end(response);
}

/** Frames that are ready together are joined up to this size. */
const MAX_JOINED_BYTES = 64 * 1024;

/** Sends the frames of a body, the headers before the first one. Gives false where there was none. */
async function sendBody(
  body: AsyncIterable<Uint8Array>,
  response: HttpResponse,
  flow: Flow,
  begin: () => void,
): Promise<boolean> {
  let hasBegun = false;
  let frames: Uint8Array[] = [];
  let bytes = 0;
  for await (const frame of body) {
    if (flow.hasLeft()) throw new PeerClosedError();
    if (!hasBegun) begin();
    hasBegun = true;
    frames.push(frame);
    bytes += frame.byteLength;
    if (flow.moreReady() && bytes < MAX_JOINED_BYTES) continue;
    await write(response, frames);
    frames = [];
    bytes = 0;
  }
  if (frames.length > 0) response.write(joined(frames));
  return hasBegun;
}

function joined(frames: readonly Uint8Array[]): Uint8Array {
  const [only] = frames;
  return frames.length === 1 && only !== undefined ? only : Buffer.concat(frames);
}

/** Resolves when the bytes have left: they are with the kernel, and HTTP/2's flow control let them go. */
function write(response: HttpResponse, frames: readonly Uint8Array[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new PeerClosedError());
    response.once("close", onClose);
    response.write(joined(frames), (error?: Error | null) => {
      response.off("close", onClose);
      if (error) reject(new PeerClosedError({ cause: error }));
      else resolve();
    });
  });
}

function isGrpcFailure({ "grpc-status": status = "0" }: Readonly<Record<string, string>>): boolean {
  return status !== "0";
}

/**
 * Answers a gRPC call that failed before its first message: one HEADERS frame, which leaves the call to the retry
 * policy of the client. Resolves when the frame is with HTTP/2, or the peer is gone.
 */
function sendTrailersOnly(response: HttpResponse, headers: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve) => {
    response.once("close", resolve);
    if ("stream" in response) response.stream.once("finish", () => setImmediate(resolve));
    else response.once("finish", resolve);
    endWithHeaders(response, headers);
  });
}

/** Resolves when the last bytes have left, or the peer is gone. */
function end(response: HttpResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once("close", resolve);
    if ("stream" in response) onHttp2End(response.stream, resolve);
    else response.once("finish", resolve);
    response.end();
  });
}

/**
 * Calls back when all of a response is with HTTP/2. Its "finish" will not do: it waits until
 * the peer has ended its request, too.
 */
function onHttp2End(stream: ServerHttp2Stream, callback: () => void): void {
  // Asked for after the last bytes. The end of the stream follows within the same turn of the loop.
  stream.once("wantTrailers", () => setImmediate(callback));
}
