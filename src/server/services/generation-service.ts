import { GenerationService } from "../../gen/outrigger/v1/generation_service_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { CallsInProgress } from "../calls/call-context.ts";
import type { Service } from "../calls/service.ts";
import { createLazyService } from "../calls/service-methods.ts";

/** Limits of GenerationService. */
export interface GenerationServiceLimits {
  /** Calls of the model in one generation, whatever its caller asks for. Default 100. */
  readonly maxGenerationSteps: number;
}

/** Creates GenerationService over a client. Independent of the protocol that carries a call. */
export function createGenerationService(
  client: ModelClient,
  { maxGenerationSteps: maxSteps = 100 }: Partial<GenerationServiceLimits> = {},
): Service {
  const calls: CallsInProgress = new Set();
  return createLazyService(GenerationService, calls, async () => {
    const { GenerationCall, generationMethods } = await import("./generation/methods.ts");
    const parts = { client, calls, bounds: { maxSteps } };
    return { methods: generationMethods, createCall: (context) => new GenerationCall(parts, context) };
  });
}
