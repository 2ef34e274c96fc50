import type {
  Content,
  FunctionDeclaration,
  GenerateContentRequest,
  GenerationConfig,
  Part,
} from "../../src/wire/gemini/request.ts";
import type {
  Caching,
  CallableTool,
  Effort,
  HostedTool,
  Prompt,
  ToolChoice,
  ToolResult,
} from "../script/prompt.ts";
import { joinContents, type ReadContent } from "../script/read-content.ts";
import { hasResponses } from "./conversation.ts";
import { readPart } from "./read-content.ts";
import { toJsonSchema } from "./read-schema.ts";
import { declarationsIn } from "./tool-checks.ts";

/** Google caches the beginning of every prompt of at least this length. */
const caching: Caching = { kind: "prefix", minimumTokens: 2048 };

/** The effort of a reasoning model if the request sets none. */
const defaultEffort: Effort = "medium";

/** Converts a valid request into a prompt, which is independent of Gemini's wire format. */
export function readPrompt(request: GenerateContentRequest, contents: readonly Content[]): Prompt {
  const { generationConfig: config = {}, systemInstruction } = request;
  const lastQuestion = contents.findLastIndex(isQuestion);
  return {
    question: readQuestion(contents.slice(0, lastQuestion + 1)),
    segments: [
      JSON.stringify([request.tools ?? [], request.toolConfig ?? null, toSchema(config) ?? null]),
      read(systemInstruction?.parts ?? []).text,
      ...contents.flatMap(({ role = "user", parts = [] }) =>
        parts.map((part) => `${role}: ${describe(part)}`),
      ),
    ].filter(Boolean),
    caching,
    attachments: contents.flatMap(({ parts = [] }) => read(parts).attachments),
    tools: offeredTools(request).map(readTool),
    hostedTools: readHostedTools(request),
    toolChoice: readToolChoice(request),
    parallelToolCalls: true,
    toolResults: readToolResults(contents),
    toolRounds: contents.slice(lastQuestion + 1).filter(hasResponses).length,
    answerFormat: readFormat(config),
    maxOutputTokens: config.maxOutputTokens,
    stopSequences: config.stopSequences ?? [],
    effort: readEffort(config),
  };
}

/** Reads the user's last contents, which are one turn if nothing of the model is between them. */
function readQuestion(contents: readonly Content[]): string {
  const first = contents.findLastIndex((content) => !isQuestion(content)) + 1;
  return contents
    .slice(first)
    .map(({ parts = [] }) => read(parts.filter(isNoResponse)).text)
    .join("\n");
}

function read(parts: readonly Part[]): ReadContent {
  return joinContents(parts.map(readPart));
}

/** Reports whether a content is the user's and has more than function responses. */
function isQuestion({ role, parts = [] }: Content): boolean {
  return role !== "model" && parts.some(isNoResponse);
}

function isNoResponse({ functionResponse }: Part): boolean {
  return functionResponse === undefined;
}

/** Describes a part as the model reads it. Signatures are left out. */
function describe(part: Part): string {
  const { functionCall, functionResponse } = part;
  if (functionCall !== undefined)
    return `call ${functionCall.name}: ${JSON.stringify(functionCall.args ?? {})}`;
  if (functionResponse !== undefined) return `response ${functionResponse.name}: ${readPart(part).text}`;
  return readPart(part).text;
}

/** Returns the functions that the model may call: all functions, or only the allowed ones. */
function offeredTools(request: GenerateContentRequest): readonly FunctionDeclaration[] {
  const allowed = request.toolConfig?.functionCallingConfig?.allowedFunctionNames ?? [];
  return declarationsIn(request).filter(({ name = "" }) => allowed.length === 0 || allowed.includes(name));
}

function readTool({ name = "", parameters, parametersJsonSchema }: FunctionDeclaration): CallableTool {
  return {
    name,
    parameters: parametersJsonSchema ?? toJsonSchema(parameters) ?? noParameters,
    freeform: false,
  };
}

const noParameters = { type: "object", properties: {} };

function readHostedTools({ tools = [], generationConfig: config }: GenerateContentRequest): HostedTool[] {
  const searches = tools.some((tool) => (tool.googleSearch ?? tool.googleSearchRetrieval) !== undefined);
  const makesImages = config?.responseModalities?.includes("IMAGE") === true;
  return [
    ...(searches ? [{ kind: "web_search" } as const] : []),
    ...(makesImages ? [{ kind: "image_generation", partialImages: 0 } as const] : []),
  ];
}

function readToolChoice({ toolConfig }: GenerateContentRequest): ToolChoice {
  const { mode, allowedFunctionNames: [name, ...others] = [] } = toolConfig?.functionCallingConfig ?? {};
  if (mode === "NONE") return { mode: "none" };
  if (mode !== "ANY") return { mode: "auto" };
  return name !== undefined && others.length === 0 ? { mode: "named", name } : { mode: "required" };
}

/** Reads the function responses after the last content of the model. */
function readToolResults(contents: readonly Content[]): ToolResult[] {
  const lastWritten = contents.findLastIndex(({ role }) => role === "model");
  const parts = contents.slice(lastWritten + 1).flatMap((content) => content.parts ?? []);
  return parts
    .filter((part) => !isNoResponse(part))
    .map((part) => ({ name: part.functionResponse?.name ?? "", text: readPart(part).text }));
}

function readFormat(config: GenerationConfig): Prompt["answerFormat"] {
  if (config.responseMimeType !== "application/json") return { type: "text" };
  const schema = toSchema(config);
  return schema === undefined ? { type: "json_object" } : { type: "json_schema", schema };
}

function toSchema({ responseSchema, responseJsonSchema }: GenerationConfig): unknown {
  return responseJsonSchema ?? toJsonSchema(responseSchema);
}

/** Returns the effort for a thinking level or budget; with the budget -1 the model decides. */
function readEffort({
  thinkingConfig: { thinkingBudget: budget, thinkingLevel: level } = {},
}: GenerationConfig): Effort {
  if (budget !== undefined && budget >= 0) return toEffort(budget);
  switch (level) {
    case "MINIMAL":
      return "minimal";
    case "LOW":
      return "low";
    case "HIGH":
      return "high";
    case "XHIGH":
      return "xhigh";
    default:
      return defaultEffort;
  }
}

function toEffort(tokens: number): Effort {
  if (tokens === 0) return "none";
  if (tokens < 2048) return "low";
  return tokens < 16_384 ? "medium" : "high";
}
