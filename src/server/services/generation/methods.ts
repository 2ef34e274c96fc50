import type { GenerationService } from "../../../gen/outrigger/v1/generation_service_pb.ts";
import type { Methods } from "../../calls/service-methods.ts";
import { continueTools } from "./continue-tools.ts";
import { generate, streamGenerate } from "./generate.ts";
import { generateObject, streamObject } from "./generate-object.ts";
import type { GenerationCall } from "./generation-call.ts";
import { runTools } from "./run-tools.ts";

export { GenerationCall } from "./generation-call.ts";

/** The methods of GenerationService, loaded at the first call. */
export const generationMethods: Methods<typeof GenerationService, GenerationCall> = {
  generate,
  streamGenerate,
  runTools,
  continueTools,
  generateObject,
  streamObject,
};
