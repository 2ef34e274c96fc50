/** Requests of Anthropic's Messages API: the body of `POST /v1/messages`, with the parts that are in beta. */
import type {
  BetaCacheControlEphemeral,
  BetaContentBlockParam,
  BetaMessageParam,
  BetaRequestDocumentBlock,
  BetaToolUnion,
  MessageCreateParamsNonStreaming,
} from "@anthropic-ai/sdk/resources/beta/messages";

export type {
  /** A point up to which the prompt is cached (documentation: "Prompt caching", "Cache breakpoints"). */
  BetaCacheControlEphemeral as CacheControl,
  /** A content block of a message (documentation: "Create a message", `messages[].content`). */
  BetaContentBlockParam as ContentBlockParam,
  /** An image block (documentation: "Vision"). */
  BetaImageBlockParam as ImageBlockParam,
  /** The schema of an answer (documentation: "Structured outputs", `output_config.format`). */
  BetaJSONOutputFormat as OutputFormat,
  /** `metadata` (documentation: "Create a message"). */
  BetaMetadata as Metadata,
  /** The effort and the format of an answer (documentation: "Create a message", `output_config`). */
  BetaOutputConfig as OutputConfig,
  /** A document block (documentation: "PDF support" and "Citations"). */
  BetaRequestDocumentBlock as DocumentBlockParam,
  /** A text block (documentation: "Create a message", `messages[].content`). */
  BetaTextBlockParam as TextBlockParam,
  /** A citation that goes back with its text (documentation: "Citations"). */
  BetaTextCitationParam as TextCitationParam,
  /** The thinking of a model (documentation: "Extended thinking" and "Adaptive thinking", `thinking`). */
  BetaThinkingConfigParam as ThinkingConfig,
  /** A tool of the caller (documentation: "Tool use", "Defining tools"). */
  BetaTool as CustomTool,
  /** Which tools the model may call (documentation: "Tool use", `tool_choice`). */
  BetaToolChoice as ToolChoice,
  /** The result of a tool call (documentation: "Tool use", "Handling tool results"). */
  BetaToolResultBlockParam as ToolResultBlockParam,
  /** A tool of the caller or of the provider (documentation: "Create a message", `tools`). */
  BetaToolUnion as Tool,
  /** A tool call of an earlier answer (documentation: "Create a message", `messages[].content`). */
  BetaToolUseBlockParam as ToolUseBlockParam,
  /** The result of a web search (documentation: "Web search tool"). */
  BetaWebSearchToolResultBlockParam as WebSearchToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/beta/messages";

/** Parameters that the SDK sends as headers, or that select the form of the answer. */
type HeaderParam = "betas" | "stream" | "user_profile_id" | "workspace_id";

/** The body of a request (documentation: "Create a message", body parameters). */
export interface MessageCreateParams extends Omit<MessageCreateParamsNonStreaming, HeaderParam> {
  /** Whether the answer is a stream of events (documentation: "Streaming messages"). */
  stream?: boolean;
  /** 0 to 1; until version 2026-10-21 (documentation: "API versions"). */
  temperature?: number;
  /** Until version 2026-10-21 (documentation: "API versions"). */
  top_k?: number;
  /** 0 to 1; until version 2026-10-21 (documentation: "API versions"). */
  top_p?: number;
}

/** A message of the conversation (documentation: "Create a message", `messages`). */
export type MessageParam = BetaMessageParam;

/** The author of a message (documentation: "Create a message", `messages[].role`; `system`: "System messages"). */
export type MessageRole = BetaMessageParam["role"];

/** The source of an image's or a document's data (documentation: "Vision" and "PDF support", `source`). */
export type MediaSource =
  | Extract<BetaContentBlockParam, { type: "image" }>["source"]
  | BetaRequestDocumentBlock["source"];

/** A block that can have a cache breakpoint (documentation: "Prompt caching", "What can be cached"). */
export type CacheableBlock = (BetaContentBlockParam | BetaToolUnion) & {
  cache_control?: BetaCacheControlEphemeral | null;
};

/** Media types of images that the API accepts (documentation: "Vision"). */
export const IMAGE_MEDIA_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

/** Maximum number of cache breakpoints of a request (documentation: "Prompt caching", "Cache limitations"). */
export const MAX_CACHE_BREAKPOINTS = 4;

/** Path below the base URL ("Create a message"). */
export const MESSAGES_PATH = "/v1/messages";

/** Header with the names of beta features (documentation: "Beta headers"). */
export const BETA_HEADER = "anthropic-beta";

/** The first version of the API without sampling parameters (documentation: "API versions"). */
export const FIRST_VERSION_WITHOUT_SAMPLING = "2026-10-21";

/** The beta of `thinking.block_binding` (documentation: "Preserved thinking", "Prefix checks"). */
export const THINKING_BINDING_BETA = "thinking-binding-controls-2026-08-01";
