import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ConformancePayload,
  ConformancePayloadSchema,
  ConformancePayload_RequestInfoSchema as RequestInfoSchema,
  type StreamResponseDefinition,
} from "../gen/connectrpc/conformance/v1/service_pb.ts";
import { announceMetadata, getError, readRequestInfo, wait } from "./answer.ts";

/** The responses that the first request of a stream asks for. */
export interface Replies {
  /** Whether there is one left. */
  hasNext(): boolean;
  /**
   * The next one, after the requested delay. The first has all facts of the call, the others only
   * the requests that they answer.
   */
  next(requests: Any[]): Promise<ConformancePayload>;
  /** The remaining ones, and then the requested error. */
  rest(requests: Any[]): AsyncGenerator<ConformancePayload>;
}

/** Sets headers and trailers, and prepares the responses. */
export function createReplies(
  definition: StreamResponseDefinition | undefined,
  context: HandlerContext,
): Replies {
  announceMetadata(definition, context);
  const { responseData = [], responseDelayMs, error } = definition ?? {};
  let sent = 0;
  const next = async (requests: Any[]): Promise<ConformancePayload> => {
    const requestInfo = sent === 0 ? readRequestInfo(context, requests) : requestsOnly(requests);
    const data = responseData[sent++] ?? new Uint8Array();
    await wait(responseDelayMs, context.signal);
    return create(ConformancePayloadSchema, requestInfo === undefined ? { data } : { data, requestInfo });
  };
  return {
    hasNext: () => sent < responseData.length,
    next,
    async *rest(requests) {
      while (sent < responseData.length) yield await next(sent === 0 ? requests : []);
      if (error === undefined) return;
      throw getError(error, sent === 0 ? readRequestInfo(context, requests) : undefined);
    },
  };
}

function requestsOnly(requests: Any[]) {
  return requests.length === 0 ? undefined : create(RequestInfoSchema, { requests });
}
