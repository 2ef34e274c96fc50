/**
 * The message of an answer: whole ("The chat completion object"), or in pieces ("The chat completion chunk object").
 */
import type {
  ChatCompletionChunk,
  ChatCompletionMessage,
} from "openai/resources/chat/completions/completions";
import type {
  GeneratedImage,
  ReasoningParam,
  RefusalPart,
  SignatureParam,
  TextPart,
  ThinkPart,
  ToolCall,
  ToolCallExtensions,
} from "./parts.ts";

/** The content of a choice: the message of a whole answer, or the delta of a chunk. */
export type AnyMessage = Message | Delta;

/** The model's output ("The chat completion object", `message`). */
export interface Message
  extends Omit<ChatCompletionMessage, "annotations" | "content" | "tool_calls">,
    MessageExtensions {
  /** A text; from Mistral ("Reasoning") also a list of parts, from Cloudflare ("JSON mode") also a JSON object. */
  content: string | AnswerPart[] | object | null;
  /** Sources that the text refers to. */
  annotations?: Annotation[];
  /** The tool calls of the model. */
  tool_calls?: ToolCall[];
}

/**
 * The addition of a chunk to a message ("The chat completion chunk object", `delta`). Some servers send null for
 * "nothing".
 */
export interface Delta
  extends Omit<ChatCompletionChunk.Choice.Delta, "content" | "role" | "tool_calls">,
    MessageExtensions {
  /** A piece of text; from Mistral ("Reasoning") also a list of parts. */
  content?: string | AnswerPart[] | null;
  /** Role of the author, in the first chunk. */
  role?: ChatCompletionChunk.Choice.Delta["role"] | null;
  /** Sources that the text refers to (OpenRouter documentation: "Web search"). */
  annotations?: Annotation[];
  /** Pieces of tool calls. */
  tool_calls?: ToolCallDelta[] | null;
}

/** Fields that servers other than OpenAI have in a message and in a delta alike. */
export interface MessageExtensions extends ReasoningParam, SignatureParam {
  /** The reasoning, as GitHub Copilot names it. */
  reasoning_text?: string | null;
  /** Images that the model made (OpenRouter documentation: "Image generation"). */
  images?: GeneratedImage[];
  /** The documents that were found (Azure documentation: "Use your data"). */
  context?: MessageContext;
}

/** `context` of a message (Azure documentation: "Use your data"). */
export interface MessageContext {
  /** The documents to which the text refers by their numbers: `[doc1]`. */
  citations?: FoundDocument[];
}

/** A document of `context` (Azure documentation: "Use your data"). */
export interface FoundDocument {
  /** Text of the part that was found. */
  content?: string;
  /** Title of the document. */
  title?: string | null;
  /** Its address. */
  url?: string | null;
  /** Its path. */
  filepath?: string | null;
}

/** A part of the content if it is a list (Mistral documentation: "Reasoning"). */
export type AnswerPart = string | TextPart | RefusalPart | ThinkPart;

/** One of `annotations` ("The chat completion object", `annotations`). Its data is in the field that its type names. */
export interface Annotation {
  /** `url_citation`; servers add others. */
  type: string;
  /** A page of the web. */
  url_citation?: UrlCitation;
}

/** A page of the web that the text cites ("The chat completion object", `annotations`). */
export interface UrlCitation extends ChatCompletionMessage.Annotation.URLCitation {
  /** Text of the page (OpenRouter documentation: "Web search"). */
  content?: string;
}

/** A file that the text cites ("Responses API", `file_citation`; proxies pass it on in annotations). */
export interface FileCitation {
  /** Id of the file. */
  file_id?: string;
  /** Its name. */
  filename?: string;
}

/** A piece of a tool call ("The chat completion chunk object", `delta.tool_calls`). */
export interface ToolCallDelta
  extends Omit<ChatCompletionChunk.Choice.Delta.ToolCall, "function" | "index">,
    ToolCallExtensions {
  /** Position of the call that the piece belongs to. Some servers omit it. */
  index?: number;
  /** Name and a piece of the arguments. Arguments are JSON text; some servers send the object itself. */
  function?: { name?: string; arguments?: string | object };
}

/** The call of a function before there were tools ("The chat completion object", `function_call`, deprecated). */
export type FunctionCall = ChatCompletionMessage.FunctionCall;

/** Audio of an answer, whole or in pieces ("The chat completion chunk object"; "Audio and speech"). */
export type AudioDelta = ChatCompletionChunk.Choice.Delta.Audio;
