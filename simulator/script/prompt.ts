import { estimatePromptTokens } from "./tokens.ts";

/** A request as a script sees it, independent of any provider's wire format. */
export interface Prompt {
  /** Text of the last message of the user; empty if the request has none. */
  readonly question: string;
  /** Everything the model reads, in the order in which it is cached: tools, instructions, conversation. */
  readonly segments: readonly string[];
  /** The provider's way of caching the prompt. */
  readonly caching: Caching;
  /** Images, documents and audio of the request. */
  readonly attachments: readonly Attachment[];
  /** Tools that the caller executes. */
  readonly tools: readonly CallableTool[];
  /** Tools that the provider executes. */
  readonly hostedTools: readonly HostedTool[];
  /** Which tools the answer may or must call. */
  readonly toolChoice: ToolChoice;
  /** Whether one answer may call more than one tool. */
  readonly parallelToolCalls: boolean;
  /** Tool results after the model's last answer. */
  readonly toolResults: readonly ToolResult[];
  /** Number of rounds of tool results since the last user message. */
  readonly toolRounds: number;
  /** The format that the answer's text must have. */
  readonly answerFormat: AnswerFormat;
  /** Maximum number of tokens of the answer, including reasoning; unset for no limit. */
  readonly maxOutputTokens: number | undefined;
  /** Stop sequences: the answer ends before the first one that occurs. */
  readonly stopSequences: readonly string[];
  /** How much the model should reason before it answers. */
  readonly effort: Effort;
}

/** How a provider caches prompts: automatically by prefix, or up to the breakpoints of the request. */
export type Caching =
  | {
      readonly kind: "prefix";
      /** Minimum number of tokens of an entry. */
      readonly minimumTokens: number;
    }
  | {
      readonly kind: "breakpoints";
      readonly minimumTokens: number;
      readonly breakpoints: readonly CacheBreakpoint[];
    };

/** A position up to which a request asks for its prompt to be cached. */
export interface CacheBreakpoint {
  /** Index of the last segment before it. */
  readonly segment: number;
  /** Whether the entry should live for an hour instead of minutes. */
  readonly long: boolean;
}

/** Content of a prompt that is not text. */
export interface Attachment {
  readonly kind: "image" | "document" | "audio";
  /** Its name or source, which the answer mentions; limited in length by the reader. */
  readonly label: string;
  /** Tokens that it adds to the prompt. */
  readonly tokens: number;
}

/** A tool that the caller executes. */
export interface CallableTool {
  readonly name: string;
  /** Name of the tool's group; unset if the API has no groups, or the tool is in none. */
  readonly namespace?: string;
  /** JSON Schema of the arguments; unset for a tool that takes free text. */
  readonly parameters: unknown;
  /** Whether the tool takes free text instead of JSON. */
  readonly freeform: boolean;
}

/** A tool that the provider executes. */
export type HostedTool =
  | { readonly kind: "web_search" }
  | { readonly kind: "image_generation"; readonly partialImages: number };

/** Which tools an answer may or must call. */
export type ToolChoice =
  | { readonly mode: "auto" | "none" | "required" }
  | { readonly mode: "named"; readonly name: string };

/** The result of a tool call. */
export interface ToolResult {
  /** Name of the tool; empty if the request does not give it. */
  readonly name: string;
  /** Text of the result; other content is named in brackets. */
  readonly text: string;
}

/** The format that the text of an answer must have. */
type AnswerFormat =
  | { readonly type: "text" | "json_object" }
  | { readonly type: "json_schema"; readonly schema: unknown };

/** How much a model should reason. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Counts the tokens of a prompt, including attachments. */
export function countPromptTokens({ segments, attachments }: Prompt): number {
  const text = estimatePromptTokens(segments.join("\n"));
  return attachments.reduce((sum, { tokens }) => sum + tokens, text);
}
