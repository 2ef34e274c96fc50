import { BatchStream, lazyBatches } from "../../core/batches.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import { CallsInProgress } from "../calls/call-context.ts";
import { createService, type Service } from "../calls/service.ts";
import { ServiceCall } from "../calls/service-call.ts";

/** Creates InferenceService over a client. Independent of the protocol that carries a call. */
export function createInferenceService(client: ModelClient): Service {
  const calls = new CallsInProgress();
  const parts = { client, calls };
  return createService(
    InferenceService,
    {
      async complete(request, context) {
        const call = new ServiceCall(parts, context);
        const { signal, deadline } = call;
        try {
          return await call.record.complete(request, { signal, deadline });
        } catch (thrown) {
          throw call.fail(thrown);
        } finally {
          call.end();
        }
      },
      async countTokens(request, context) {
        const call = new ServiceCall(parts, context);
        const { signal, deadline } = call;
        try {
          return await call.record.countTokens(request, { signal, deadline });
        } catch (thrown) {
          throw call.fail(thrown);
        } finally {
          call.end();
        }
      },
      stream: (request, context) =>
        new BatchStream(
          lazyBatches(() => {
            const call = new ServiceCall(parts, context);
            const { signal, deadline } = call;
            return call.record.stream(
              request,
              { signal, deadline },
              { onFailure: (thrown) => call.fail(thrown), onEnd: () => call.end() },
            );
          }),
        ),
    },
    { cutOff: () => calls.cutOff() },
  );
}
