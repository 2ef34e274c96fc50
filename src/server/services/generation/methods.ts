/** The methods of GenerationService, loaded at the first call. */
export { continueTools } from "./continue-tools.ts";
export { generate, streamGenerate } from "./generate.ts";
export { generateObject, streamObject } from "./generate-object.ts";
export { runTools } from "./run-tools.ts";
