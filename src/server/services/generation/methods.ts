/** The methods of GenerationService, which are loaded when the first one is called. */
export { continueTools } from "./continue-tools.ts";
export { generate, streamGenerate } from "./generate.ts";
export { generateObject, streamObject } from "./generate-object.ts";
export { runTools } from "./run-tools.ts";
