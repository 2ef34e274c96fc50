import { BatchStream } from "../../core/batches.ts";
import { GenerationService } from "../../gen/outrigger/v1/generation_service_pb.ts";
import { CallSignals } from "./call-signal.ts";
import { continueTools } from "./generation/continue-tools.ts";
import { generate, streamGenerate } from "./generation/generate.ts";
import { generateObject, streamObject } from "./generation/generate-object.ts";
import { runTools } from "./generation/run-tools.ts";
import type { Inference } from "./inference.ts";
import { createService, type Service } from "./service.ts";

/** What GenerationService may use. */
export interface GenerationServiceLimits {
  /** Calls of the model in one generation, whatever its caller asks for. Default 100. */
  readonly maxGenerationSteps: number;
}

/** The limits of a service without settings of its own. */
const DEFAULT_GENERATION_LIMITS: GenerationServiceLimits = { maxGenerationSteps: 100 };

/** GenerationService over what calls the models. Independent of the protocol that carries a call. */
export function createGenerationService(
  inference: Inference,
  limits: Partial<GenerationServiceLimits> = {},
): Service {
  const signals = new CallSignals();
  const { maxGenerationSteps } = { ...DEFAULT_GENERATION_LIMITS, ...limits };
  const parts = { inference, signals, bounds: { maxSteps: maxGenerationSteps } };
  return createService(
    GenerationService,
    {
      generate: (request, context) => generate(parts, request, context),
      streamGenerate: (request, context) => new BatchStream(streamGenerate(parts, request, context)),
      runTools: (requests, context) => new BatchStream(runTools(parts, requests, context)),
      continueTools: (request, context) => new BatchStream(continueTools(parts, request, context)),
      generateObject: (request, context) => generateObject(parts, request, context),
      streamObject: (request, context) => new BatchStream(streamObject(parts, request, context)),
    },
    { cutOff: () => signals.cutOff() },
  );
}
