import { EmbeddingService } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import { CallsInProgress } from "../calls/call-context.ts";
import { createService, type Service } from "../calls/service.ts";
import { ServiceCall } from "../calls/service-call.ts";

/** Creates EmbeddingService over a client. Independent of the protocol that carries a call. */
export function createEmbeddingService(client: ModelClient): Service {
  const calls = new CallsInProgress();
  const parts = { client, calls };
  return createService(
    EmbeddingService,
    {
      async embed(request, context) {
        const call = new ServiceCall(parts, context);
        const { signal, deadline } = call;
        try {
          return await call.record.embed(request, { signal, deadline });
        } catch (thrown) {
          throw call.fail(thrown);
        } finally {
          call.end();
        }
      },
    },
    { cutOff: () => calls.cutOff() },
  );
}
