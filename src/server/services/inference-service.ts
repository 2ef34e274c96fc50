import { create } from "@bufbuild/protobuf";
import type { ConnectError, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { Batched } from "../../core/batches.ts";
import { type SDKError, StreamError } from "../../core/errors.ts";
import { inferenceIdOf } from "../../core/inference-id.ts";
import type { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../gen/outrigger/v1/stream_event_pb.ts";
import { INFERENCE_ID_HEADER } from "../http/id-headers.ts";
import type { Inference } from "../options.ts";
import { boundedText } from "../status/bounded-text.ts";
import { connectErrorOf } from "../status/status.ts";
import { publicError } from "../status/status-details.ts";
import { type Call, callOf } from "../telemetry/call.ts";
import { callSignalOf, failureOf } from "./call-signal.ts";

/** InferenceService over whatever answers it. Knows nothing of the protocol that carries the call. */
export function createInferenceService(inference: Inference): ServiceImpl<typeof InferenceService> {
  return {
    complete: (request, context) => complete(inference, request, context),
    stream: (request, context) => stream(inference, request, context),
  };
}

type Batch = readonly StreamEvent[];

const MAX_NAME_BYTES = 128;

async function complete(inference: Inference, request: Request, context: HandlerContext): Promise<Response> {
  const call = beginCall(request, context);
  const { signal, release } = callSignalOf(context.signal);
  try {
    const response = await inference.complete(request, { signal, inferenceId: call.inferenceId });
    noteResponse(call, response);
    return response;
  } catch (thrown) {
    throw statusOf(call, request, failureOf(thrown, signal));
  } finally {
    release();
  }
}

function stream(inference: Inference, request: Request, context: HandlerContext): Batched<StreamEvent> {
  const call = beginCall(request, context);
  const batches = streamBatches(inference, request, context, call);
  return { batches: () => batches, [Symbol.asyncIterator]: () => oneByOne(batches, call) };
}

/** For a transport that does not ask for batches: tells it what could leave together. */
async function* oneByOne(batches: AsyncIterable<Batch>, call: Call): AsyncGenerator<StreamEvent> {
  for await (const batch of batches) {
    for (const [index, event] of batch.entries()) {
      call.moreReady = index < batch.length - 1;
      yield event;
    }
  }
}

async function* streamBatches(
  inference: Inference,
  request: Request,
  context: HandlerContext,
  call: Call,
): AsyncGenerator<Batch> {
  const { signal, release } = callSignalOf(context.signal);
  let last: StreamEvent | undefined;
  try {
    for await (const batch of inference
      .stream(request, { signal, inferenceId: call.inferenceId })
      .batches()) {
      for (const event of batch) noteEvent(call, event);
      last = batch.at(-1) ?? last;
      yield batch;
    }
    if (!isTerminal(last)) throw new StreamError("the stream ended without finish or error");
  } catch (thrown) {
    const error = failureOf(thrown, signal);
    // Whoever broke off without a word, the caller gets the event before the status.
    if (last !== undefined && !isTerminal(last)) yield [errorEventAfter(last, error)];
    throw statusOf(call, request, error);
  } finally {
    release();
  }
}

function beginCall(request: Request, context: HandlerContext): Call {
  const call = callOf(context);
  call.inferenceId = inferenceIdOf();
  noteTarget(call, request);
  context.responseHeader.set(INFERENCE_ID_HEADER, call.inferenceId);
  return call;
}

function noteResponse(call: Call, response: Response): void {
  noteTarget(call, response);
  call.usage = response.usage;
}

function noteEvent(call: Call, { event }: StreamEvent): void {
  if (event.case === "streamStart") noteTarget(call, event.value);
  else if (event.case === "finish" || event.case === "error") call.usage = event.value.usage;
}

/** Callers choose both names, of any length. */
function noteTarget(call: Call, { provider, model }: { provider: string; model: string }): void {
  if (provider !== "") call.provider = boundedText(provider, MAX_NAME_BYTES);
  if (model !== "") call.model = boundedText(model, MAX_NAME_BYTES);
}

function isTerminal(event: StreamEvent | undefined): boolean {
  return event?.event.case === "finish" || event?.event.case === "error";
}

function errorEventAfter({ sequence, elapsedMs }: StreamEvent, error: SDKError): StreamEvent {
  const event = { case: "error", value: publicError(error) } as const;
  return create(StreamEventSchema, { sequence: sequence + 1, elapsedMs, event });
}

function statusOf(call: Call, request: Request, error: SDKError): ConnectError {
  call.error = error;
  call.usage = error.usage ?? call.usage;
  return connectErrorOf(error, { model: request.model });
}
