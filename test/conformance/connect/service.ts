/** ConformanceService: responds to every call as its request says, and returns what it received. */
import { create } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type BidiStreamRequest,
  BidiStreamRequestSchema,
  type BidiStreamResponse,
  BidiStreamResponseSchema,
  type ClientStreamRequest,
  ClientStreamRequestSchema,
  type ClientStreamResponse,
  ClientStreamResponseSchema,
  type ConformancePayload,
  ConformancePayloadSchema,
  type ConformanceService,
  IdempotentUnaryRequestSchema,
  IdempotentUnaryResponseSchema,
  type ServerStreamRequest,
  ServerStreamRequestSchema,
  type ServerStreamResponse,
  ServerStreamResponseSchema,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
  UnaryResponseSchema,
} from "../gen/connectrpc/conformance/v1/service_pb.ts";
import { announceMetadata, getError, readRequestInfo, wait } from "./answer.ts";
import { createReplies, type Replies } from "./replies.ts";

/** The service without its method Unimplemented, which the transports must refuse. */
export function createConformanceService(): Partial<ServiceImpl<typeof ConformanceService>> {
  return {
    async unary(request, context) {
      const requests = [anyPack(UnaryRequestSchema, request)];
      const payload = await answerOnce(request.responseDefinition, requests, context);
      return create(UnaryResponseSchema, { payload });
    },
    async idempotentUnary(request, context) {
      const requests = [anyPack(IdempotentUnaryRequestSchema, request)];
      const payload = await answerOnce(request.responseDefinition, requests, context);
      return create(IdempotentUnaryResponseSchema, { payload });
    },
    clientStream,
    serverStream,
    bidiStream,
  };
}

async function clientStream(
  incoming: AsyncIterable<ClientStreamRequest>,
  context: HandlerContext,
): Promise<ClientStreamResponse> {
  const requests: ClientStreamRequest[] = [];
  for await (const request of incoming) requests.push(request);
  const payload = await answerOnce(
    requests[0]?.responseDefinition,
    requests.map((request) => anyPack(ClientStreamRequestSchema, request)),
    context,
  );
  return create(ClientStreamResponseSchema, { payload });
}

async function* serverStream(
  request: ServerStreamRequest,
  context: HandlerContext,
): AsyncGenerator<ServerStreamResponse> {
  const replies = createReplies(request.responseDefinition, context);
  for await (const payload of replies.rest([anyPack(ServerStreamRequestSchema, request)])) {
    yield create(ServerStreamResponseSchema, { payload });
  }
}

/** Full duplex: a response to each request, then the rest. Half duplex: all after the last request. */
async function* bidiStream(
  incoming: AsyncIterable<BidiStreamRequest>,
  context: HandlerContext,
): AsyncGenerator<BidiStreamResponse> {
  let replies: Replies | undefined;
  let fullDuplex = false;
  let unanswered: Any[] = [];
  for await (const request of incoming) {
    fullDuplex = replies === undefined ? request.fullDuplex : fullDuplex;
    replies ??= createReplies(request.responseDefinition, context);
    unanswered.push(anyPack(BidiStreamRequestSchema, request));
    if (!fullDuplex) continue;
    if (!replies.hasNext()) break;
    yield create(BidiStreamResponseSchema, { payload: await replies.next(unanswered) });
    unanswered = [];
  }
  if (replies === undefined) return;
  for await (const payload of replies.rest(unanswered)) yield create(BidiStreamResponseSchema, { payload });
}

async function answerOnce(
  definition: UnaryResponseDefinition | undefined,
  requests: Any[],
  context: HandlerContext,
): Promise<ConformancePayload> {
  announceMetadata(definition, context);
  const requestInfo = readRequestInfo(context, requests);
  await wait(definition?.responseDelayMs, context.signal);
  const response = definition?.response;
  switch (response?.case) {
    case "error":
      throw getError(response.value, requestInfo);
    case "responseData":
      return create(ConformancePayloadSchema, { data: response.value, requestInfo });
    case undefined:
      return create(ConformancePayloadSchema, { requestInfo });
  }
}
