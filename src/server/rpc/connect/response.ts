import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { HttpResponse } from "../../base/http-types.ts";
import {
  PeerClosedError,
  SLICE_BYTES,
  type UnsentResponse,
  type UnsentResponses,
} from "../../http/flushed-response.ts";
import { encodeBase64, toTextType } from "../../http/grpc-web-text.ts";
import { endPaced, endWithHeadersPaced, writePaced } from "../../http/paced-writer.ts";
import { resetResponse } from "../../http/reset-response.ts";
import { readableTrailers } from "../../status/trailers.ts";

/** The parts of a call that are needed to send its response. */
export interface Flow {
  /** Whether the body is one message, which is sent together with the end. */
  readonly isUnary: boolean;
  /** Reports whether the peer has disconnected. A write would then never be flushed. */
  isDisconnected(): boolean;
  /** Called with the size of the message when its other copies are no longer needed. */
  onMessage(bytes: number): void;
  /** Limits the unsent bytes of all responses together. */
  readonly unsent: UnsentResponses;
}

/**
 * Sends a response of one of Connect's handlers to its end. Headers leave with the first frame of the body.
 * @throws PeerClosedError, after which the body is not read any further, which ends the call. Also throws any error of
 *   the body.
 */
export async function sendResponse(
  { status, header, body, trailer }: UniversalServerResponse,
  response: HttpResponse,
  flow: Flow,
): Promise<void> {
  const headers = Object.fromEntries(header ?? []);
  const begin = () => response.writeHead(status, headers);
  const waiting = { destroy: () => resetResponse(response) };
  const sent = body === undefined ? NOTHING : await sendBody(body, response, { ...flow, waiting }, begin);
  if (flow.isDisconnected()) throw new PeerClosedError();
  const trailers = trailer === undefined ? {} : readableTrailers(trailer);
  // Trailers-Only: a gRPC call that failed before its first message is left to the retry policy of its client.
  if (!sent.hasBegun && isGrpcFailure(trailers))
    return endWithHeadersPaced(response, { ...headers, ...trailers });
  if (!sent.hasBegun) begin();
  response.addTrailers(trailers);
  flow.unsent.add(waiting, sent.unflushedBytes);
  await endPaced(response);
  flow.unsent.remove(waiting);
}

/** The result of sending a body. */
interface SentBody {
  /** Whether a frame was sent, and the headers with it. */
  readonly hasBegun: boolean;
  /** Bytes that must be flushed before the end of the response. */
  readonly unflushedBytes: number;
}

const NOTHING: SentBody = { hasBegun: false, unflushedBytes: 0 };

/** Sends the headers and then the frames of a body. */
async function sendBody(
  body: AsyncIterable<Uint8Array>,
  response: HttpResponse,
  flow: Flow & { readonly waiting: UnsentResponse },
  begin: () => void,
): Promise<SentBody> {
  let hasBegun = false;
  let unflushedBytes = 0;
  for await (const frame of body) {
    if (flow.isDisconnected()) throw new PeerClosedError();
    if (!hasBegun) begin();
    hasBegun = true;
    if (flow.isUnary) {
      flow.onMessage(frame.byteLength);
      const last = await writeAllButLast(frame, response, flow);
      unflushedBytes += last.byteLength;
      response.write(last);
    } else await writePaced(response, frame);
  }
  return { hasBegun, unflushedBytes };
}

/** Writes a large message except its last slice, which it returns. @throws PeerClosedError */
async function writeAllButLast(
  bytes: Uint8Array,
  response: HttpResponse,
  { unsent, waiting }: { readonly unsent: UnsentResponses; readonly waiting: UnsentResponse },
): Promise<Uint8Array> {
  let rest = bytes;
  try {
    while (rest.byteLength > SLICE_BYTES) {
      unsent.add(waiting, rest.byteLength);
      await writePaced(response, rest.subarray(0, SLICE_BYTES));
      rest = rest.subarray(SLICE_BYTES);
    }
  } finally {
    unsent.remove(waiting);
  }
  return rest;
}

function isGrpcFailure({ "grpc-status": status = "0" }: Readonly<Record<string, string>>): boolean {
  return status !== "0";
}

/** Converts a gRPC-Web response to the text form. Returns responses of other protocols unchanged. */
export function toTextResponse(response: UniversalServerResponse): UniversalServerResponse {
  const { header, body } = response;
  const type = header?.get("content-type") ?? "";
  if (!type.startsWith("application/grpc-web")) return response;
  header?.set("content-type", toTextType(type));
  return body === undefined ? response : { ...response, body: encodeBody(body) };
}

async function* encodeBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield encodeBase64(chunk);
}
