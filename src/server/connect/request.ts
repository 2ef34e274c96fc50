import { Code, createContextValues } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { HttpRequest, HttpResponse } from "../listen/http-types.ts";
import { type Call, callKey } from "../telemetry/call.ts";
import { withoutEndlessDeadline } from "./deadline.ts";

/** The request as Connect's handlers take it, with the call in its context values. */
export function universalRequestOf(
  call: Call,
  request: HttpRequest,
  response: HttpResponse,
): UniversalServerRequest {
  return {
    httpVersion: request.httpVersion,
    method: request.method ?? "",
    // Only path and query are read; the authority is the caller's to choose.
    url: new URL(request.url ?? "/", "http://localhost").href,
    header: withoutEndlessDeadline(headersOf(request)),
    body: { [Symbol.asyncIterator]: () => readBody(request, call) },
    signal: departureOf(call, response),
    contextValues: createContextValues().set(callKey, call),
  };
}

function headersOf({ headers }: HttpRequest): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    for (const each of typeof value === "string" ? [value] : value) result.append(name, each);
  }
  return result;
}

/** A signal that is aborted when the peer leaves before all was said, which is noted in the call. */
function departureOf(call: Call, response: HttpResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (response.writableEnded) return;
    call.abandoned = true;
    call.code = Code.Canceled;
    controller.abort();
  });
  return controller.signal;
}

/**
 * The bytes of a body, until it ends or the call does: a sender who stalls is not waited for
 * beyond the deadline. Leaving early does not destroy the request, unlike `for await` over it:
 * on HTTP/1.1 the connection would go with it, and the answer that says what was wrong.
 */
async function* readBody(request: HttpRequest, call: Call): AsyncGenerator<Uint8Array> {
  while (!request.readableEnded) {
    const chunk: Uint8Array | null = request.read();
    if (chunk === null) await nextRead(request, call.signal);
    else yield chunk;
  }
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
