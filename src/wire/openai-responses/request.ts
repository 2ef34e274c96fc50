/**
 * Requests of the Responses API: the body of `POST /responses` and its parts. The types come from OpenAI's SDK; values
 * that callers and other servers add to its enumerations are added here.
 */
import type {
  ResponseCreateParamsBase as SDKCreateParams,
  CustomTool as SDKCustomTool,
  ResponseCustomToolCallOutput as SDKCustomToolCallOutput,
  FunctionTool as SDKFunctionTool,
  ResponseInputFileContent as SDKInputFile,
  ResponseInputImageContent as SDKInputImage,
  ResponseInputItem as SDKInputItem,
  ResponseInputTextContent as SDKInputText,
  NamespaceTool as SDKNamespaceTool,
  ResponseFormatTextConfig as SDKTextFormat,
  Tool as SDKTool,
  ToolChoiceAllowed as SDKToolChoiceAllowed,
} from "openai/resources/responses/responses";
import type { FieldName } from "../untrusted.ts";
import type {
  CustomToolCall,
  FunctionCall,
  OutputMessage,
  OutputText,
  ReasoningItem,
  Refusal,
} from "./items.ts";

/** The body of `POST /responses` ("Create a model response"). */
export interface CreateRequest
  extends Omit<SDKCreateParams, "background_options" | "input" | "reasoning" | "tool_choice"> {
  /** The conversation: a user's text, or items. */
  input?: string | readonly InputItem[];
  /** How much a reasoning model thinks, and how much of that it shows. */
  reasoning?: ReasoningSettings | null;
  /** Which tools the model uses. */
  tool_choice?: "none" | "auto" | "required" | NamedToolChoice | null;
  /** When a background response may be executed ("Background mode"). The provider accepts it with `background` only. */
  background_options?: { completion_window?: string; continuation_id?: string } | null;
}

/** `reasoning` ("Reasoning models"). */
export interface ReasoningSettings extends Omit<NonNullable<SDKCreateParams["reasoning"]>, "effort"> {
  /** The values of the SDK, and those that models add. */
  effort?: string | null;
}

/** `tool_choice` if it is an object: one tool, or the allowed tools ("Function calling", "Tool choice"). */
export interface NamedToolChoice {
  /** Type of the tool, or `allowed_tools`. */
  type: string;
  /** Name of a function or custom tool. */
  name?: string | null;
  /** Label of an MCP server. */
  server_label?: string;
  /** With `allowed_tools`: whether the model has to use one. */
  mode?: SDKToolChoiceAllowed["mode"];
  /** With `allowed_tools`: the tools that are allowed. */
  tools?: readonly Pick<NamedToolChoice, "type" | "name" | "server_label">[];
}

/** An item of `input` ("Create a model response", `input`). */
export type InputItem = SDKInputItem;

/** A message of the user, the system or the developer ("Create a model response", `input`). */
export interface InputMessage extends Omit<SDKInputItem.Message, "content"> {
  /** A text, or the parts of the message. */
  content: string | readonly InputContent[];
}

/** A message of the assistant as input: an output message, whose id and status may be left out. */
export interface AssistantMessage extends Pick<OutputMessage, "type" | "role"> {
  /** The parts of the message. */
  content: readonly (OutputText | Refusal)[];
}

/** A part of a message or of a tool's result ("Create a model response", `input`). */
export type InputContent = InputText | InputImage | InputFile;

/** A text as input. */
export type InputText = SDKInputText;

/** An image as input: by its URL, which can be a data: URL, or by its id ("Images and vision"). */
export interface InputImage extends Omit<SDKInputImage, "detail"> {
  /** How closely the model looks at it. The values of the SDK, and those that models add. */
  detail?: string | null;
}

/** A file as input: by its id, by its URL, or its data with a name ("File inputs"). */
export type InputFile = SDKInputFile;

/** The result of a function call ("Function calling"). */
export type FunctionCallOutput = SDKInputItem.FunctionCallOutput;

/** The result of a call of a custom tool ("Function calling", "Custom tools"). */
export type CustomToolCallOutput = SDKCustomToolCallOutput;

/** An image that the model generated, sent back ("Image generation", "Multi-turn editing"). */
export type ImageGenerationInput = SDKInputItem.ImageGenerationCall;

/** An item of an earlier response by its id ("Conversation state"). */
export type ItemReference = SDKInputItem.ItemReference;

/** The items of a conversation except the items of hosted tools ("Create a model response", `input`). */
export type ConversationItem =
  | InputMessage
  | OutputMessage
  | ReasoningItem
  | FunctionCall
  | FunctionCallOutput
  | CustomToolCall
  | CustomToolCallOutput
  | ItemReference;

/** One of `tools` ("Using tools"). */
export type Tool = SDKTool;

/** A tool that the caller runs, with JSON arguments ("Function calling"). */
export type FunctionTool = SDKFunctionTool;

/** A tool that the caller runs, with text as its input ("Function calling", "Custom tools"). */
export type CustomTool = SDKCustomTool;

/** A function in a group of tools ("Tool search", "Namespaces"). */
export type GroupedFunction = SDKNamespaceTool.Function;

/** The grammar that the input of a custom tool follows ("Function calling", "Context-free grammars"). */
export type CustomToolGrammar = Extract<SDKCustomTool["format"], { type: "grammar" }>;

/** `text.format`: the format of the answer ("Structured model outputs"). */
export type TextFormat = SDKTextFormat;

/** The fields of all members of a union, for code that does not know yet which member it has. */
export type AnyMember<Union> = { readonly [Field in FieldName<Union>]?: FieldValue<Union, Field> };

/** The values that a field has in the members of a union that have it. */
type FieldValue<Union, Field extends PropertyKey> = Union extends { [Key in Field]?: unknown }
  ? Union[Field]
  : never;
