/** The items of an answer that a later request sends back as input. The types come from OpenAI's SDK. */
import type {
  ResponseCustomToolCall as SDKCustomToolCall,
  ResponseFunctionToolCall as SDKFunctionCall,
  ResponseOutputMessage as SDKOutputMessage,
  ResponseOutputText as SDKOutputText,
  ResponseReasoningItem as SDKReasoningItem,
  ResponseOutputRefusal as SDKRefusal,
} from "openai/resources/responses/responses";

/** A message of the model ("The response object", `output`, "Output message"). */
export type OutputMessage = SDKOutputMessage;

/** A text of the model. */
export type OutputText = SDKOutputText;

/** The text of a refusal. */
export type Refusal = SDKRefusal;

/** Reasoning ("The response object", `output`, "Reasoning"). */
export type ReasoningItem = SDKReasoningItem;

/** A part of a reasoning item: of its summary, or of the reasoning itself. */
export type ReasoningPart = SDKReasoningItem.Summary | SDKReasoningItem.Content;

/** A function call, as output and as input ("Function calling"). */
export type FunctionCall = SDKFunctionCall;

/** A call of a custom tool, as output and as input ("Function calling", "Custom tools"). */
export interface CustomToolCall extends SDKCustomToolCall {
  /** Whether the call is complete, in output. */
  status?: NonNullable<FunctionCall["status"]>;
}
