/** Answers of Anthropic's Messages API: a Message object, with the fields that are in beta. */
export type {
  /** Tokens written to the cache by their lifetime (documentation: "Prompt caching", "1-hour cache duration"). */
  BetaCacheCreation as CacheCreation,
  /** The container in which the provider ran code (documentation: "Code execution tool", `container`). */
  BetaContainer as Container,
  /** A content block of an answer (documentation: "Create a message", response, `content`). */
  BetaContentBlock as ContentBlock,
  /** The content that context editing removed (documentation: "Context editing", `context_management`). */
  BetaContextManagementResponse as ContextManagement,
  /** A change that the API made to the input (documentation: "Create a message", `input_transformations`). */
  BetaInputTransformation as InputTransformation,
  /** A whole answer (documentation: "Create a message", response). */
  BetaMessage as Message,
  /** The answer of a count (documentation: "Count tokens in a message", response). */
  BetaMessageTokensCount as MessageTokensCount,
  /** The parts of `output_tokens` (documentation: "Create a message", `usage`). */
  BetaOutputTokensDetails as OutputTokensDetails,
  /** Why a request was refused (documentation: "Stop reasons", "Refusal", `stop_details`). */
  BetaRefusalStopDetails as StopDetails,
  /** Why the model stopped (documentation: "Stop reasons"). */
  BetaStopReason as StopReason,
  /** A text block (documentation: "Create a message", response, `content`). */
  BetaTextBlock as TextBlock,
  /** A citation of a text block (documentation: "Citations", "Response structure"). */
  BetaTextCitation as TextCitation,
  /** The caller of a tool (documentation: "Programmatic tool calling", `caller`). */
  BetaToolUseCaller as ToolCaller,
  /** Token counts (documentation: "Create a message", response, `usage`). */
  BetaUsage as Usage,
} from "@anthropic-ai/sdk/resources/beta/messages";
