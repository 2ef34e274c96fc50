/** What a request asks of a model, as a script sees it: free of any provider's wire format. */
export interface Prompt {
  /** Text of the last message of the user; empty when the request has none. */
  readonly question: string;
  /** Everything the model reads, in the order in which it is cached: tools, instructions, conversation. */
  readonly segments: readonly string[];
  /** How the provider caches it. */
  readonly caching: Caching;
  /** Pictures, documents and sounds of the request. */
  readonly attachments: readonly Attachment[];
  /** Tools that the caller runs. */
  readonly tools: readonly CallableTool[];
  /** Tools that the provider runs. */
  readonly hostedTools: readonly HostedTool[];
  /** Which tools the answer may or must call. */
  readonly toolChoice: ToolChoice;
  /** Whether one answer may call more than one tool. */
  readonly parallelToolCalls: boolean;
  /** Results that arrived after the model's last answer. */
  readonly toolResults: readonly ToolResult[];
  /** How often tool results were handed in since the user last spoke. */
  readonly toolRounds: number;
  /** The form that the answer's text must have. */
  readonly answerFormat: AnswerFormat;
  /** Most tokens that the answer may have, reasoning included; unset for no limit. */
  readonly maxOutputTokens: number | undefined;
  /** Texts right before which the answer ends. */
  readonly stopSequences: readonly string[];
  /** How much the model should think before it answers. */
  readonly effort: Effort;
}

/** How a provider caches prompts: the beginning of each by itself, or up to where the request says. */
export type Caching =
  | {
      readonly kind: "prefix";
      /** Least tokens that are worth an entry. */
      readonly minimumTokens: number;
    }
  | {
      readonly kind: "breakpoints";
      readonly minimumTokens: number;
      readonly breakpoints: readonly CacheBreakpoint[];
    };

/** A place up to which a request wants its prompt cached. */
export interface CacheBreakpoint {
  /** Index of the last segment in front of it. */
  readonly segment: number;
  /** Whether the entry is to last for an hour instead of minutes. */
  readonly long: boolean;
}

/** Something in a prompt that is not text. */
export interface Attachment {
  readonly kind: "image" | "document" | "audio";
  /** What it is called or where it is from, for the answer to name; bounded by the reader. */
  readonly label: string;
  /** Tokens that it adds to the prompt. */
  readonly tokens: number;
}

/** A tool that the caller runs. */
export interface CallableTool {
  readonly name: string;
  /** JSON Schema of the arguments; unset for a tool that takes free text. */
  readonly parameters: unknown;
  /** Whether the tool takes free text instead of JSON. */
  readonly freeform: boolean;
}

/** A tool that the provider runs. */
export type HostedTool =
  | { readonly kind: "web_search" }
  | { readonly kind: "image_generation"; readonly partialImages: number };

/** Which tools an answer may or must call. */
export type ToolChoice =
  | { readonly mode: "auto" | "none" | "required" }
  | { readonly mode: "named"; readonly name: string };

/** What a tool gave back. */
export interface ToolResult {
  /** Name of the tool, empty when the request does not say. */
  readonly name: string;
  /** Text of the result; other content is named in brackets. */
  readonly text: string;
}

/** The form that the text of an answer must have. */
type AnswerFormat =
  | { readonly type: "text" | "json_object" }
  | { readonly type: "json_schema"; readonly schema: unknown };

/** How much a model should think. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Tokens that the attachments of a prompt count. */
export function countAttachmentTokens(prompt: Prompt): number {
  return prompt.attachments.reduce((sum, attachment) => sum + attachment.tokens, 0);
}
