import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { endPaced, endWithHeadersPaced, writePaced } from "../http/paced-writer.ts";
import { PeerClosedError } from "../http/peer-closed-error.ts";
import type { HttpResponse } from "../listen/http-types.ts";
import { readableTrailers } from "../status/grpc-message.ts";

/** What the sender of a response needs to know of its call. */
export interface Flow {
  /** Whether the body is one message, which leaves together with the end. */
  readonly isUnary: boolean;
  /** Whether the peer is gone. A write would then never be flushed. */
  isDisconnected(): boolean;
}

/**
 * Sends a response of one of Connect's handlers to its end. Headers leave with the first frame of the body.
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
  if (flow.isDisconnected()) throw new PeerClosedError();
  const trailers = trailer === undefined ? {} : readableTrailers(trailer);
  // Trailers-Only: a gRPC call that failed before its first message is left to the retry policy of its client.
  if (!hasBody && isGrpcFailure(trailers)) return endWithHeadersPaced(response, { ...headers, ...trailers });
  if (!hasBody) begin();
  response.addTrailers(trailers);
  await endPaced(response);
}

/** Sends the frames of a body, the headers before the first one. Returns false where there was none. */
async function sendBody(
  body: AsyncIterable<Uint8Array>,
  response: HttpResponse,
  flow: Flow,
  begin: () => void,
): Promise<boolean> {
  let hasBegun = false;
  for await (const frame of body) {
    if (flow.isDisconnected()) throw new PeerClosedError();
    if (!hasBegun) begin();
    hasBegun = true;
    if (flow.isUnary) response.write(frame);
    else await writePaced(response, frame);
  }
  return hasBegun;
}

function isGrpcFailure({ "grpc-status": status = "0" }: Readonly<Record<string, string>>): boolean {
  return status !== "0";
}
