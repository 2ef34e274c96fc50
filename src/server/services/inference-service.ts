import { BatchStream } from "../../core/batches.ts";
import { EmbeddingService } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import { abortCalls, type CallsInProgress } from "../calls/call-context.ts";
import { createService, type Service } from "../calls/service.ts";
import { ServiceCall } from "../calls/service-call.ts";
import { answer } from "../calls/service-methods.ts";

/** Creates InferenceService over a client. Independent of the protocol that carries a call. */
export function createInferenceService(client: ModelClient): Service {
  const calls: CallsInProgress = new Set();
  const parts = { client, calls };
  return createService(
    InferenceService,
    {
      complete(request, context) {
        const call = new ServiceCall(parts, context);
        const { signal, deadline } = call;
        return answer(call, call.record.complete(request, { signal, deadline }));
      },
      countTokens(request, context) {
        const call = new ServiceCall(parts, context);
        const { signal, deadline } = call;
        return answer(call, call.record.countTokens(request, { signal, deadline }));
      },
      stream: (request, context) =>
        new BatchStream({
          // The call begins when its events are read.
          [Symbol.asyncIterator]() {
            const call = new ServiceCall(parts, context);
            const { signal, deadline } = call;
            return call.record.read(request, { signal, deadline }, call);
          },
        }),
    },
    { abortCalls: () => abortCalls(calls) },
  );
}

/** Creates EmbeddingService over a client. Independent of the protocol that carries a call. */
export function createEmbeddingService(client: ModelClient): Service {
  const calls: CallsInProgress = new Set();
  const parts = { client, calls };
  return createService(
    EmbeddingService,
    {
      embed(request, context) {
        const call = new ServiceCall(parts, context);
        const { signal, deadline } = call;
        return answer(call, call.record.embed(request, { signal, deadline }));
      },
    },
    { abortCalls: () => abortCalls(calls) },
  );
}
