/**
 * Answers of the Responses API: the Response object and its parts. The types come from OpenAI's SDK; fields that only
 * compatible servers send are added here.
 */
import type {
  ResponseOutputItem as SDKOutputItem,
  ResponseOutputText as SDKOutputText,
  Response as SDKResponse,
  ResponseError as SDKResponseError,
  ResponseFunctionShellToolCall as SDKShellCall,
  ResponseUsage as SDKUsage,
  ResponseFunctionWebSearch as SDKWebSearchCall,
} from "openai/resources/responses/responses";
import type { OutputText, Refusal } from "./items.ts";
import type { CreateRequest, ReasoningSettings } from "./request.ts";

/**
 * The body of a whole answer, and `response` in the first and last events of a stream ("The response object"). Without
 * `output_text`, which the SDK adds; with fields that the API sends and does not document.
 */
export interface ResponseObject
  extends Omit<
    SDKResponse,
    "output_text" | "error" | "output" | "reasoning" | "tool_choice" | "usage" | "user"
  > {
  /** Why the answer failed; null if it did not. */
  error: ResponseError | null;
  /** The model's output, in order. */
  output: readonly OutputItem[];
  /** The setting of the request; from mistral.rs the text of the reasoning, which is then not in `output`. */
  reasoning?: ReasoningSettings | string | null;
  /** The setting of the request. */
  tool_choice: NonNullable<CreateRequest["tool_choice"]>;
  /** Null while the answer is being written. */
  usage?: Usage | null;
  /** The setting of the request. */
  user?: string | null;
  /** Who pays. Undocumented; in whole answers only. */
  billing?: { payer: string };
  /** Undocumented: always 0. */
  frequency_penalty?: number;
  /** Undocumented: always 0. */
  presence_penalty?: number;
  /** The setting of the request. Undocumented. */
  store?: boolean | null;
}

/** Why an answer failed ("The response object", `error`). */
export interface ResponseError extends Pick<SDKResponseError, "message"> {
  /** The codes of the SDK, and those that the API adds. */
  code: string;
}

/** Whether an answer is complete ("The response object", `status`). */
export type ResponseStatus = NonNullable<SDKResponse["status"]>;

/** Why an answer is incomplete ("The response object", `incomplete_details`). */
export type IncompleteDetails = SDKResponse.IncompleteDetails;

/** Earlier reasoning that the API left out of the input ("The response object", `input_transformations`). */
export type InputTransformation = SDKResponse.InputTransformation;

/** An item of `output` ("The response object", `output`). */
export type OutputItem = SDKOutputItem;

/** A web search ("The response object", `output`, "Web search tool call"). */
export type WebSearchCall = SDKWebSearchCall;

/** An image that the model generated ("The response object", `output`, "Image generation call"). */
export type ImageGenerationCall = SDKOutputItem.ImageGenerationCall;

/** A part of an output message ("The response object", `output`, "Output message"). */
export type OutputContent = OutputText | Refusal | PlainText;

/** A text, with the type that some compatible servers send. */
export interface PlainText {
  /** Kind of the part. */
  type: "text";
  /** The text. */
  text: string;
}

/** A source that a text cites ("The response object", `output`, "Output message", `annotations`). */
export type Annotation = SDKOutputText["annotations"][number];

/** A web page that a text cites. Its indices count Unicode code points; the end is exclusive. */
export type URLCitation = SDKOutputText.URLCitation;

/** The environment in which a `shell_call` runs ("Shell"). */
export type ShellEnvironment = NonNullable<SDKShellCall["environment"]>;

/** Token counts ("The response object", `usage`), also with their names in Chat Completions. */
export interface Usage extends SDKUsage {
  /** Tokens of the input, from servers that translate Chat Completions. */
  prompt_tokens?: number;
  /** Breakdown of `prompt_tokens`. */
  prompt_tokens_details?: InputTokensDetails;
  /** Tokens of the output, from servers that translate Chat Completions. */
  completion_tokens?: number;
  /** Breakdown of `completion_tokens`. */
  completion_tokens_details?: OutputTokensDetails;
  /** In dollars (OpenRouter documentation: "Usage accounting"). */
  cost?: number;
  /** In 1e-10 dollars (xAI documentation: "Responses"). */
  cost_in_usd_ticks?: number;
}

/** Breakdown of the input tokens ("The response object", `usage`). */
export type InputTokensDetails = SDKUsage.InputTokensDetails;

/** Breakdown of the output tokens ("The response object", `usage`). */
export type OutputTokensDetails = SDKUsage.OutputTokensDetails;
