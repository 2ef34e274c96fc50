/** What a model says in one answer, as a script wrote it: free of any provider's wire format. */
export interface Turn {
  /** What it says, in order. */
  readonly parts: readonly Part[];
  /** Why it stops. */
  readonly stop: StopReason;
  /** The text of the request right before which it ended; undefined where it did not. */
  readonly stopSequence: string | undefined;
  /** What it cost. */
  readonly usage: TurnUsage;
  /** How ids of tool calls are given: each its own, all the same, or none at all. */
  readonly callIds: "unique" | "repeated" | "empty";
  /** Whether deltas fall between the two surrogates of a character beyond the basic plane. */
  readonly halfSurrogates: boolean;
  /** Whether the event that opens a stream comes twice. */
  readonly repeatsStart: boolean;
}

/** Why an answer ends. */
export type StopReason = "end" | "length" | "content_filter";

/** Tokens of one answer. */
interface TurnUsage {
  /** All tokens of the prompt. */
  readonly inputTokens: number;
  /** Those of the prompt that came from the cache. */
  readonly cachedTokens: number;
  /** Those of the prompt that were put into the cache. */
  readonly cacheWriteTokens: number;
  /** Those that were put into it for an hour instead of minutes. */
  readonly longCacheWriteTokens: number;
  /** All tokens of the answer. */
  readonly outputTokens: number;
  /** Those of the answer that were spent on reasoning. */
  readonly reasoningTokens: number;
}

/** One thing that a model says or does. */
export type Part = ReasoningPart | TextPart | RefusalPart | ToolCallPart | WebSearchPart | ImagePart;

/** Thinking before or between answers. */
export interface ReasoningPart {
  readonly kind: "reasoning";
  /** What the thinking says, paragraph by paragraph; empty when it was cut off before it said anything. */
  readonly paragraphs: readonly string[];
  /** Whether what it says is hidden from the caller, and only comes encrypted. */
  readonly redacted: boolean;
  /** Tokens that the thinking cost, which are more than the paragraphs show. */
  readonly tokens: number;
}

/** Text of the answer. */
export interface TextPart {
  readonly kind: "text";
  readonly text: string;
  /** Sources of the text, in the order of their places. */
  readonly citations: readonly Citation[];
  /** Whether this is the answer, or a word on the way to it. */
  readonly phase: "commentary" | "final_answer";
  /** Length in UTF-16 units that the first delta has at least. */
  readonly firstDelta: number;
  /** Whether the limit of tokens cut it off. */
  readonly cut: boolean;
}

/** A source of a stretch of text. */
export interface Citation {
  /** Where the stretch begins, in UTF-16 units. */
  readonly start: number;
  /** Where the stretch ends (exclusive), in UTF-16 units. */
  readonly end: number;
  readonly url: string;
  readonly title: string;
}

/** A refusal to answer. */
export interface RefusalPart {
  readonly kind: "refusal";
  readonly text: string;
}

/** A call of a tool that the caller runs. */
export interface ToolCallPart {
  readonly kind: "tool_call";
  readonly name: string;
  /** JSON text, or free text for a freeform tool. Does not parse when it was cut off. */
  readonly input: string;
  readonly freeform: boolean;
  /** Length in UTF-16 units that the first delta has at least. */
  readonly firstDelta: number;
  /** Whether the limit of tokens cut it off. */
  readonly cut: boolean;
}

/** A search of the web that the provider ran. */
export interface WebSearchPart {
  readonly kind: "web_search";
  readonly query: string;
  readonly sources: readonly { readonly url: string; readonly title: string }[];
}

/** A picture that the provider drew. */
export interface ImagePart {
  readonly kind: "image";
  /** Base64 of a PNG. */
  readonly data: string;
  /** Width and height in pixels. */
  readonly size: { readonly width: number; readonly height: number };
  /** What was drawn. */
  readonly prompt: string;
  /** How many previews of the picture are shown while it is drawn. */
  readonly previews: number;
}
