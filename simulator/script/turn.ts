/** One answer of a model, as a script wrote it, independent of any provider's wire format. */
export interface Turn {
  /** Its content, in order. */
  readonly parts: readonly Part[];
  /** The reason why it stops. */
  readonly stop: StopReason;
  /** The stop sequence at which it ended; undefined if there was none. */
  readonly stopSequence: string | undefined;
  /** The tokens that it consumed. */
  readonly usage: TurnUsage;
  /** The ids of tool calls: unique, all the same, or empty. */
  readonly callIds: "unique" | "repeated" | "empty";
  /** Whether deltas split the two surrogates of a character outside the Basic Multilingual Plane. */
  readonly halfSurrogates: boolean;
  /** Whether the event that opens a stream is sent twice. */
  readonly repeatsStart: boolean;
}

/** The reason why an answer ends. */
export type StopReason = "end" | "length" | "content_filter";

/** Tokens of one answer. */
interface TurnUsage {
  /** All tokens of the prompt. */
  readonly inputTokens: number;
  /** Prompt tokens that were read from the cache. */
  readonly cachedTokens: number;
  /** Prompt tokens that were written to the cache. */
  readonly cacheWriteTokens: number;
  /** Prompt tokens that were written to the cache for an hour instead of minutes. */
  readonly longCacheWriteTokens: number;
  /** All tokens of the answer. */
  readonly outputTokens: number;
  /** Answer tokens that were spent on reasoning. */
  readonly reasoningTokens: number;
}

/** One part of an answer. */
export type Part = ReasoningPart | TextPart | RefusalPart | ToolCallPart | WebSearchPart | ImagePart;

/** Reasoning before or between answers. */
export interface ReasoningPart {
  readonly kind: "reasoning";
  /** The text of the reasoning, by paragraph; empty if it was truncated at its start. */
  readonly paragraphs: readonly string[];
  /** Whether the text is hidden from the caller and only sent encrypted. */
  readonly redacted: boolean;
  /** Tokens of the reasoning, more than the paragraphs have. */
  readonly tokens: number;
}

/** Text of the answer. */
export interface TextPart {
  readonly kind: "text";
  readonly text: string;
  /** Sources of the text, in the order of their positions. */
  readonly citations: readonly Citation[];
  /** Whether this is the answer, or a comment before it. */
  readonly phase: "commentary" | "final_answer";
  /** Minimum length of the first delta, in UTF-16 units. */
  readonly firstDelta: number;
  /** Whether the token limit truncated it. */
  readonly cut: boolean;
}

/** The source of a span of text. */
export interface Citation {
  /** Start of the span, in UTF-16 units. */
  readonly start: number;
  /** End of the span (exclusive), in UTF-16 units. */
  readonly end: number;
  readonly url: string;
  readonly title: string;
}

/** A refusal to answer. */
export interface RefusalPart {
  readonly kind: "refusal";
  readonly text: string;
}

/** A call of a tool that the caller executes. */
export interface ToolCallPart {
  readonly kind: "tool_call";
  readonly name: string;
  /** Name of the tool's group; unset if it is in none. */
  readonly namespace?: string;
  /** JSON text, or free text for a freeform tool. Not valid JSON if it was truncated. */
  readonly input: string;
  readonly freeform: boolean;
  /** Minimum length of the first delta, in UTF-16 units. */
  readonly firstDelta: number;
  /** Whether the token limit truncated it. */
  readonly cut: boolean;
}

/** A web search that the provider ran. */
export interface WebSearchPart {
  readonly kind: "web_search";
  readonly query: string;
  readonly sources: readonly { readonly url: string; readonly title: string }[];
}

/** An image that the provider generated. */
export interface ImagePart {
  readonly kind: "image";
  /** Base64 of a PNG. */
  readonly data: string;
  /** Width and height in pixels. */
  readonly size: { readonly width: number; readonly height: number };
  /** The prompt of the image. */
  readonly prompt: string;
  /** Number of partial images that are sent before it. */
  readonly previews: number;
}
