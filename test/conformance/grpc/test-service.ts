/**
 * grpc.testing.TestService as gRPC's interop-test-descriptions.md has it: the methods that the interop client calls.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { type Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { EmptySchema } from "../gen/grpc/testing/empty_pb.ts";
import {
  type EchoStatus,
  type Payload,
  PayloadSchema,
  SimpleResponseSchema,
  type StreamingOutputCallRequest,
  type StreamingOutputCallResponse,
  StreamingOutputCallResponseSchema,
} from "../gen/grpc/testing/messages_pb.ts";
import type { TestService } from "../gen/grpc/testing/test_pb.ts";

/** The service. Missing methods are UNIMPLEMENTED, which the client tests, too. */
export function createTestService(): Partial<ServiceImpl<typeof TestService>> {
  return {
    emptyCall: () => create(EmptySchema),
    unaryCall(request, context) {
      echoMetadata(context);
      throwRequestedStatus(request.responseStatus);
      return create(SimpleResponseSchema, { payload: createPayload(request.responseSize) });
    },
    streamingOutputCall: (request) => answersTo(request),
    async streamingInputCall(requests) {
      let aggregatedPayloadSize = 0;
      for await (const { payload } of requests) aggregatedPayloadSize += payload?.body.byteLength ?? 0;
      return { aggregatedPayloadSize };
    },
    async *fullDuplexCall(requests, context) {
      echoMetadata(context);
      for await (const request of requests) {
        throwRequestedStatus(request.responseStatus);
        yield* answersTo(request);
      }
    },
  };
}

const MICROSECONDS_PER_MS = 1000;

async function* answersTo({
  responseParameters,
}: StreamingOutputCallRequest): AsyncGenerator<StreamingOutputCallResponse> {
  for (const { size, intervalUs } of responseParameters) {
    if (intervalUs > 0) await sleep(intervalUs / MICROSECONDS_PER_MS);
    yield create(StreamingOutputCallResponseSchema, { payload: createPayload(size) });
  }
}

function createPayload(size: number): Payload {
  return create(PayloadSchema, { body: new Uint8Array(size) });
}

/** Some cases expect their metadata back, in headers and in trailers. */
function echoMetadata({ requestHeader, responseHeader, responseTrailer }: HandlerContext): void {
  echo("x-grpc-test-echo-initial", requestHeader, responseHeader);
  echo("x-grpc-test-echo-trailing-bin", requestHeader, responseTrailer);
}

function echo(name: string, from: Headers, to: Headers): void {
  const value = from.get(name);
  if (value !== null) to.set(name, value);
}

function throwRequestedStatus(status: EchoStatus | undefined): void {
  // Connect's codes use gRPC's numbers.
  if (status !== undefined && status.code !== 0) throw new ConnectError(status.message, status.code as Code);
}
