/** Requests of `generateContent` and `streamGenerateContent` (provider documentation: "Generating content"). */
import type {
  Blob as SdkBlob,
  Content as SdkContent,
  FileData as SdkFileData,
  FunctionCall as SdkFunctionCall,
  FunctionDeclaration as SdkFunctionDeclaration,
  FunctionResponse as SdkFunctionResponse,
  GenerationConfig as SdkGenerationConfig,
  ImageConfig as SdkImageConfig,
  Part as SdkPart,
  PartialArg as SdkPartialArg,
  SafetySetting as SdkSafetySetting,
  Schema as SdkSchema,
  ThinkingConfig as SdkThinkingConfig,
  Tool as SdkTool,
  ToolConfig as SdkToolConfig,
} from "@google/genai";
import type { JsonForm } from "./json-form.ts";

/** The body (provider documentation: "generateContent", "Request body"). The SDK has no type for its sent form. */
export interface GenerateContentRequest {
  /** Resource name of the model. The path has it too. */
  readonly model?: string;
  readonly contents?: readonly Content[];
  readonly systemInstruction?: Content;
  readonly tools?: readonly Tool[];
  readonly toolConfig?: ToolConfig;
  readonly safetySettings?: readonly JsonForm<SdkSafetySetting>[];
  readonly generationConfig?: GenerationConfig;
  /** Resource name of the cached beginning of the prompt. */
  readonly cachedContent?: string;
  /** Continues an answer that stopped with `CONTINUATION`. */
  readonly continuationToken?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly serviceTier?: string;
  readonly store?: boolean;
}

/** One turn of the conversation (provider documentation: "Content"). */
export interface Content extends Omit<JsonForm<SdkContent>, "parts"> {
  readonly parts?: readonly Part[];
}

/** A part of a turn, which has data of one kind (provider documentation: "Part"). */
export interface Part
  extends Omit<JsonForm<SdkPart>, "functionCall" | "functionResponse" | "mediaResolution"> {
  readonly functionCall?: FunctionCall;
  readonly functionResponse?: FunctionResponse;
  /** A string, since the API adds levels. */
  readonly mediaResolution?: { readonly level?: string; readonly numTokens?: number };
}

/** Bytes in base64 (provider documentation: "Blob"). */
export type Blob = JsonForm<SdkBlob>;

/** A file by its address (provider documentation: "FileData"). */
export type FileData = JsonForm<SdkFileData>;

/** A call of a function that the caller runs (provider documentation: "FunctionCall"). */
export type FunctionCall = JsonForm<SdkFunctionCall>;

/** One value of arguments that arrive value by value (provider documentation: "PartialArg"). */
export type PartialArg = JsonForm<SdkPartialArg>;

/** The result of a function (provider documentation: "FunctionResponse"). */
export interface FunctionResponse extends Omit<JsonForm<SdkFunctionResponse>, "parts"> {
  /** Media of the result; the API accepts the same data as in a part of a turn. */
  readonly parts?: readonly Part[];
}

/** Functions of the caller, or one tool of the provider (provider documentation: "Tool"). */
export interface Tool extends Omit<JsonForm<SdkTool>, "functionDeclarations"> {
  readonly functionDeclarations?: readonly FunctionDeclaration[];
}

/** A function of the caller (provider documentation: "FunctionDeclaration"). */
export type FunctionDeclaration = JsonForm<SdkFunctionDeclaration>;

/** A schema in Google's dialect, a subset of OpenAPI's (provider documentation: "Schema"). */
export type Schema = JsonForm<SdkSchema>;

/** Which tools the model may or must call (provider documentation: "ToolConfig", "FunctionCallingConfig"). */
export type ToolConfig = JsonForm<SdkToolConfig>;

/** Settings of the answer (provider documentation: "GenerationConfig"). */
export interface GenerationConfig extends Omit<JsonForm<SdkGenerationConfig>, "thinkingConfig"> {
  readonly thinkingConfig?: ThinkingConfig;
  /** The SDK lists it among the settings of a call only. */
  readonly imageConfig?: JsonForm<SdkImageConfig>;
}

/** The amount of thinking (provider documentation: "ThinkingConfig"). */
export interface ThinkingConfig extends Omit<JsonForm<SdkThinkingConfig>, "thinkingLevel"> {
  /** The API accepts levels that the SDK does not list, in either case. */
  readonly thinkingLevel?: string;
}
