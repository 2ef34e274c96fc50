import type { GenerateContentRequest, GenerationConfig } from "../../src/wire/gemini/request.ts";
import { invalidArgument, invalidField, Problem } from "./problem.ts";
import { readMessage } from "./proto-json.ts";
import { generateContentRequest } from "./request-message.ts";

const mimeTypes = ["text/plain", "application/json", "application/xml", "application/yaml", "text/x.enum"];

const maxStopSequences = 5;

/** Reads and checks the settings of a body. Throws the error that Google returns. */
export function checkGenerateRequest(body: unknown): GenerateContentRequest {
  const request = readMessage<GenerateContentRequest>(generateContentRequest, body);
  const { generationConfig = {} } = request;
  checkRanges(generationConfig);
  checkFormat(generationConfig);
  checkThinking(generationConfig);
  checkServerState(request);
  return request;
}

function checkRanges(config: GenerationConfig): void {
  checkRange("temperature", config.temperature, 0, 2);
  checkRange("top_p", config.topP, 0, 1);
  if ((config.topK ?? 1) <= 0) throw invalidSetting("top_k", "top_k must be positive.");
  if ((config.maxOutputTokens ?? 1) <= 0) {
    throw invalidSetting("max_output_tokens", "max_output_tokens must be positive.");
  }
  if ((config.candidateCount ?? 1) !== 1) {
    throw invalidArgument("Multiple candidates is not enabled for this model");
  }
  if ((config.stopSequences ?? []).length > maxStopSequences) {
    throw invalidSetting(
      "stop_sequences",
      `the number of stop_sequences must not exceed ${maxStopSequences}.`,
    );
  }
}

function checkRange(name: string, value: number | undefined, min: number, max: number): void {
  if (value === undefined || (value >= min && value <= max)) return;
  throw invalidSetting(name, `${name} must be in the range [${min.toFixed(1)}, ${max.toFixed(1)}].`);
}

function checkFormat(config: GenerationConfig): void {
  const { responseMimeType: type = "text/plain", responseSchema, responseJsonSchema } = config;
  if (!mimeTypes.includes(type)) {
    const allowed = mimeTypes.map((each) => `\`${each}\``);
    throw invalidSetting(
      "response_mime_type",
      `allowed mimetypes are ${allowed.slice(0, -1).join(", ")} and ${allowed.at(-1)}.`,
    );
  }
  if (responseSchema !== undefined && responseJsonSchema !== undefined) {
    throw invalidSetting(
      "response_json_schema",
      "response_schema and response_json_schema cannot both be set.",
    );
  }
  const hasSchema = responseSchema !== undefined || responseJsonSchema !== undefined;
  if (hasSchema && type !== "application/json" && type !== "text/x.enum") {
    throw invalidSetting(
      "response_schema",
      "only allowed for mimetypes `application/json` and `text/x.enum`.",
    );
  }
}

function checkThinking({ thinkingConfig: { thinkingBudget, thinkingLevel } = {} }: GenerationConfig): void {
  if (thinkingBudget !== undefined && thinkingLevel !== undefined) {
    throw invalidArgument("You can only set only one of thinking budget and thinking level.");
  }
}

/** Server-side state of earlier requests is not simulated. */
function checkServerState({ cachedContent, continuationToken }: GenerateContentRequest): void {
  if (cachedContent !== undefined) {
    const message = "CachedContent not found (or permission denied)";
    throw new Problem({ code: 403, message, status: "PERMISSION_DENIED" });
  }
  if (continuationToken !== undefined) {
    throw invalidArgument("The simulator does not know how to honour 'continuation_token'.");
  }
}

function invalidSetting(name: string, message: string): Problem {
  return invalidField(`generation_config.${name}`, message);
}
