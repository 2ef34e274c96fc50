/**
 * The body of `generateContent` and `streamGenerateContent`, as far as the simulator reads it, once it has been checked:
 * with the names of JSON for all fields, and without those that were null.
 */
export interface GenerateRequest {
  readonly contents?: readonly Content[];
  readonly systemInstruction?: Content;
  readonly tools?: readonly Tool[];
  readonly toolConfig?: ToolConfig;
  readonly generationConfig?: GenerationConfig;
  readonly cachedContent?: string;
  readonly continuationToken?: string;
}

/** One of `contents`. */
export interface Content {
  readonly role?: string;
  readonly parts?: readonly Part[];
}

/** One of `parts`. It holds one kind of data. */
export interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly inlineData?: { readonly mimeType?: string; readonly data?: string };
  readonly fileData?: { readonly mimeType?: string; readonly fileUri?: string };
  readonly functionCall?: FunctionCall;
  readonly functionResponse?: FunctionResponse;
}

/** A call of a tool that the caller runs. */
export interface FunctionCall {
  readonly id?: string;
  readonly name?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** What such a tool gave back. */
interface FunctionResponse {
  readonly id?: string;
  readonly name?: string;
  readonly response?: Readonly<Record<string, unknown>>;
  readonly parts?: readonly Part[];
}

/** One of `tools`: functions of the caller, or a tool of the provider. */
export interface Tool {
  readonly functionDeclarations?: readonly FunctionDeclaration[];
  readonly googleSearch?: object;
  readonly googleSearchRetrieval?: object;
  readonly [tool: string]: unknown;
}

/** A function of the caller. */
export interface FunctionDeclaration {
  readonly name?: string;
  /** A schema in Google's own dialect. */
  readonly parameters?: object;
  /** A JSON Schema. */
  readonly parametersJsonSchema?: unknown;
}

/** How tools may be used. */
interface ToolConfig {
  readonly functionCallingConfig?: {
    readonly mode?: "MODE_UNSPECIFIED" | "AUTO" | "ANY" | "NONE" | "VALIDATED";
    readonly allowedFunctionNames?: readonly string[];
  };
  readonly includeServerSideToolInvocations?: boolean;
}

/** How the answer is made. */
export interface GenerationConfig {
  readonly candidateCount?: number;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stopSequences?: readonly string[];
  readonly responseMimeType?: string;
  /** A schema in Google's own dialect. */
  readonly responseSchema?: object;
  /** A JSON Schema. */
  readonly responseJsonSchema?: unknown;
  readonly responseModalities?: readonly string[];
  readonly thinkingConfig?: ThinkingConfig;
}

/** How much the model thinks, and whether that shows. */
interface ThinkingConfig {
  readonly includeThoughts?: boolean;
  readonly thinkingBudget?: number;
  readonly thinkingLevel?: "THINKING_LEVEL_UNSPECIFIED" | "MINIMAL" | "LOW" | "MEDIUM" | "HIGH" | "XHIGH";
}

/** A part of an answer. */
export type AnswerPart = Readonly<Record<string, unknown>>;
