import type {
  Blob,
  Content,
  FileData,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  GenerateContentRequest,
  GenerationConfig,
  Part,
  Schema,
  ThinkingConfig,
  Tool,
  ToolConfig,
} from "../../src/wire/gemini/request.ts";
import {
  anything,
  bool,
  bytes,
  enumeration,
  type Fields,
  float,
  int32,
  map,
  message,
  type Read,
  repeated,
  string,
  struct,
} from "./proto-json.ts";

const blob = message<Blob>("Blob", () => ({ mimeType: string, data: bytes, displayName: string }));

const part: Read = message<Part>("Part", () => ({
  text: string,
  thought: bool,
  thoughtSignature: bytes,
  inlineData: blob,
  fileData: message<FileData>("FileData", () => ({ mimeType: string, fileUri: string, displayName: string })),
  functionCall: message<FunctionCall>("FunctionCall", () => ({ id: string, name: string, args: struct })),
  functionResponse: message<FunctionResponse>("FunctionResponse", () => ({
    id: string,
    name: string,
    response: struct,
    parts: repeated(part),
    willContinue: bool,
    scheduling: string,
  })),
  executableCode: message<NonNullable<Part["executableCode"]>>("ExecutableCode", () => ({
    id: string,
    language: string,
    code: string,
  })),
  codeExecutionResult: message<NonNullable<Part["codeExecutionResult"]>>("CodeExecutionResult", () => ({
    id: string,
    outcome: string,
    output: string,
  })),
  toolCall: struct,
  toolResponse: struct,
  videoMetadata: struct,
  audioTranscription: struct,
  speechMetadata: struct,
  partMetadata: struct,
  mediaProcessing: anything,
  mediaResolution: anything,
}));

/** Reads a content: the parts of a turn. */
export const content = message<Content>("Content", () => ({ role: string, parts: repeated(part) }));

/** A schema in Google's dialect, a subset of OpenAPI's. */
const schema: Read = message<Schema>("Schema", () => ({
  type: enumeration("Type", [
    "TYPE_UNSPECIFIED",
    "STRING",
    "NUMBER",
    "INTEGER",
    "BOOLEAN",
    "ARRAY",
    "OBJECT",
    "NULL",
  ]),
  format: string,
  title: string,
  description: string,
  nullable: bool,
  enum: repeated(string),
  items: schema,
  minItems: int32,
  maxItems: int32,
  properties: map(schema),
  required: repeated(string),
  propertyOrdering: repeated(string),
  minProperties: int32,
  maxProperties: int32,
  minimum: float,
  maximum: float,
  minLength: int32,
  maxLength: int32,
  pattern: string,
  anyOf: repeated(schema),
  example: anything,
  default: anything,
}));

const functionDeclaration = message<FunctionDeclaration>("FunctionDeclaration", () => ({
  name: string,
  description: string,
  behavior: string,
  parameters: schema,
  parametersJsonSchema: anything,
  response: schema,
  responseJsonSchema: anything,
}));

/** Hosted tools. The simulator does not check their settings. */
const hostedTools: Fields<Tool> = {
  googleSearch: struct,
  googleSearchRetrieval: struct,
  googleMaps: struct,
  urlContext: struct,
  codeExecution: struct,
  computerUse: struct,
  fileSearch: struct,
};

const tool = message<Tool>("Tool", () => ({
  functionDeclarations: repeated(functionDeclaration),
  mcpServers: repeated(struct),
  ...hostedTools,
}));

const modes = ["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"];

const toolConfig = message<ToolConfig>("ToolConfig", () => ({
  functionCallingConfig: message<NonNullable<ToolConfig["functionCallingConfig"]>>(
    "FunctionCallingConfig",
    () => ({
      mode: enumeration("FunctionCallingConfig.Mode", modes),
      allowedFunctionNames: repeated(string),
    }),
  ),
  retrievalConfig: struct,
  includeServerSideToolInvocations: bool,
}));

const levels = ["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"];

const generationConfig = message<GenerationConfig>("GenerationConfig", () => ({
  candidateCount: int32,
  maxOutputTokens: int32,
  temperature: float,
  topP: float,
  topK: float,
  seed: int32,
  stopSequences: repeated(string),
  presencePenalty: float,
  frequencyPenalty: float,
  responseLogprobs: bool,
  logprobs: int32,
  responseMimeType: string,
  responseSchema: schema,
  responseJsonSchema: anything,
  responseModalities: repeated(
    enumeration("GenerationConfig.Modality", ["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO"]),
  ),
  thinkingConfig: message<ThinkingConfig>("ThinkingConfig", () => ({
    includeThoughts: bool,
    thinkingBudget: int32,
    thinkingLevel: enumeration("ThinkingConfig.ThinkingLevel", levels),
  })),
  speechConfig: struct,
  imageConfig: struct,
  audioTranscriptionConfig: struct,
  mediaResolution: string,
  enableEnhancedCivicAnswers: bool,
}));

/** Reads the body of `generateContent`. */
export const generateContentRequest = message<GenerateContentRequest>("GenerateContentRequest", () => ({
  model: string,
  contents: repeated(content),
  systemInstruction: content,
  tools: repeated(tool),
  toolConfig,
  safetySettings: repeated(struct),
  generationConfig,
  cachedContent: string,
  continuationToken: string,
  labels: map(string),
  serviceTier: string,
  store: bool,
}));
