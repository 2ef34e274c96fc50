/** Forms in which TypeScript programs describe tools. */
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import type { Tool } from "../gen/outrigger/v1/tool_pb.ts";
import type { JsonObject } from "./parse-json.ts";
import type { JsonSchema, StandardSchema } from "./schema.ts";

/** A function that the model may call. */
export interface FunctionToolInput {
  /** At most 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** Description of the tool for the model. */
  readonly description?: string | undefined;
  /** JSON Schema of the arguments, an object at its root. A tool without arguments needs none. */
  readonly parameters?: JsonSchema | undefined;
  /** Asks the provider to guarantee that arguments match the schema. Default false. */
  readonly strict?: boolean | undefined;
}

/** A tool whose input is free text. */
export interface CustomToolInput {
  readonly name: string;
  /** Description of the tool for the model. */
  readonly description?: string | undefined;
  /** A grammar that the input must match. Any text by default. */
  readonly grammar?: { readonly syntax: "lark" | "regex"; readonly definition: string } | undefined;
}

/** A tool that a provider executes itself. */
export interface HostedToolInput {
  /** Name of the provider that has the tool. */
  readonly provider: string;
  /** The tool in the form of the provider's API, for instance `{ type: "web_search" }`. */
  readonly config: object;
}

/** The context of a tool call, without its input. */
export interface ToolContext {
  /** Id of the call. */
  readonly toolCallId: string;
  /** The conversation, including the assistant message with the call. It grows later on: copy it to keep it. */
  readonly messages: readonly Message[];
  /** Aborted when the generation ends without an answer, and when the tool's time limit expires. */
  readonly signal: AbortSignal;
}

/** The function of a tool. */
export interface Executable {
  /**
   * Executes a call. May return a text, a part or several (images, documents), an Error, or any other value, which is
   * sent as JSON; or a promise. A thrown error is sent to the model as an error result.
   */
  execute(input: unknown, context: ToolContext): unknown;
}

/** How much the model learns about the failure of a tool. */
export interface ToolErrorOptions {
  /**
   * Sends the model "the tool failed" instead of the message of the thrown error, which may hold addresses, paths or
   * data of others. Problems of the arguments are sent all the same. Default: the client's setting, else false.
   */
  readonly hideErrors?: boolean | undefined;
}

/** A tool whose calls `generate` and `stream` execute. */
export interface ActiveTool extends Executable, ToolErrorOptions {
  /** The tool as the model sees it. */
  readonly definition: Tool;
  /** Checks the arguments of a function tool before it is executed. */
  readonly parameters?: JsonSchema | undefined;
}

/** The type of the arguments by a schema: the output of a Standard Schema, else any JSON object. */
export type ToolArguments<Schema> = Schema extends StandardSchema<infer Output> ? Output : JsonObject;

/** A function tool with its function. */
export interface ActiveFunctionInput<Schema extends JsonSchema> extends FunctionToolInput, ToolErrorOptions {
  readonly parameters?: Schema | undefined;
  /** Executes a call, see {@link Executable}. @param args The arguments, checked by `parameters`. */
  execute(args: ToolArguments<Schema>, context: ToolContext): unknown;
}

/** A custom tool with its function. */
export interface ActiveCustomInput extends CustomToolInput, ToolErrorOptions {
  /** Executes a call, see {@link Executable}. @param text The model's input. */
  execute(text: string, context: ToolContext): unknown;
}
