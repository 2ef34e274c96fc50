import type { HandlerContext } from "@connectrpc/connect";
import { type Batches, BatchStream, lazyBatches } from "../../core/batches.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import { CallSignals, errorOfCall, getDeadline } from "../calls/call-signal.ts";
import type { Inference } from "../calls/inference.ts";
import { InferenceRecord } from "../calls/inference-record.ts";
import { recordComplete, recordStream } from "../calls/recorded-calls.ts";
import { createService, type Service } from "../calls/service.ts";
import { answerMemory } from "../requests/request-memory.ts";
import { createRecorder } from "../telemetry/call-recorder.ts";

/** Creates InferenceService over an inference. Independent of the protocol that carries a call. */
export function createInferenceService(inference: Inference): Service {
  const signals = new CallSignals();
  return createService(
    InferenceService,
    {
      complete: (request, context) => complete(inference, signals, request, context),
      stream: (request, context) => new BatchStream(stream(inference, signals, request, context)),
    },
    { cutOff: () => signals.cutOff() },
  );
}

async function complete(
  inference: Inference,
  signals: CallSignals,
  request: Request,
  context: HandlerContext,
): Promise<Response> {
  const record = new InferenceRecord(inference, createRecorder(context), answerMemory(context));
  const { signal, release } = signals.open(context.signal);
  try {
    return await recordComplete(record, inference, request, {
      signal,
      deadline: getDeadline(context),
    });
  } catch (thrown) {
    throw record.fail(errorOfCall(thrown, signal));
  } finally {
    release();
    record.end(signal);
  }
}

function stream(
  inference: Inference,
  signals: CallSignals,
  request: Request,
  context: HandlerContext,
): Batches<StreamEvent> {
  return lazyBatches(() => {
    const record = new InferenceRecord(inference, createRecorder(context), answerMemory(context));
    const { signal, release } = signals.open(context.signal);
    return recordStream(
      record,
      inference,
      request,
      { signal, deadline: getDeadline(context) },
      {
        onFailure: (thrown) => record.fail(errorOfCall(thrown, signal)),
        onEnd() {
          release();
          record.end(signal);
        },
      },
    );
  });
}
