import { type Batches, BatchStream, lazyBatches } from "../../core/batches.ts";
import { GenerationService } from "../../gen/outrigger/v1/generation_service_pb.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import { CallsInProgress } from "../calls/call-context.ts";
import { createService, type Service } from "../calls/service.ts";

/** Limits of GenerationService. */
export interface GenerationServiceLimits {
  /** Calls of the model in one generation, whatever its caller asks for. Default 100. */
  readonly maxGenerationSteps: number;
}

/** The limits of a service that is created without limits. */
const DEFAULT_GENERATION_LIMITS: GenerationServiceLimits = { maxGenerationSteps: 100 };

/** Creates GenerationService over a client. Independent of the protocol that carries a call. */
export function createGenerationService(
  client: ModelClient,
  limits: Partial<GenerationServiceLimits> = {},
): Service {
  const calls = new CallsInProgress();
  const { maxGenerationSteps } = { ...DEFAULT_GENERATION_LIMITS, ...limits };
  const parts = { client, calls, bounds: { maxSteps: maxGenerationSteps } };
  return createService(
    GenerationService,
    {
      generate: async (request, context) => (await loadMethods()).generate(parts, request, context),
      streamGenerate: (request, context) =>
        lazyStream(async () => (await loadMethods()).streamGenerate(parts, request, context)),
      runTools: (requests, context) =>
        lazyStream(async () => (await loadMethods()).runTools(parts, requests, context)),
      continueTools: (request, context) =>
        lazyStream(async () => (await loadMethods()).continueTools(parts, request, context)),
      generateObject: async (request, context) =>
        (await loadMethods()).generateObject(parts, request, context),
      streamObject: (request, context) =>
        lazyStream(async () => (await loadMethods()).streamObject(parts, request, context)),
    },
    { cutOff: () => calls.cutOff() },
  );
}

/** A sidecar whose callers use only InferenceService never loads the rest, which saves memory and startup time. */
function loadMethods() {
  return import("./generation/methods.ts");
}

function lazyStream<Message>(open: () => Promise<Batches<Message>>): BatchStream<Message> {
  return new BatchStream(lazyBatches(open));
}
