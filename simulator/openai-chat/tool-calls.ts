import type { ToolCallDelta } from "../../src/wire/openai-chat/message.ts";
import type { ToolCall, ToolCallExtensions } from "../../src/wire/openai-chat/parts.ts";
import type { MessageParam } from "../../src/wire/openai-chat/request.ts";
import type { ModelOptions } from "../model-options.ts";
import { splitDeltas } from "../script/deltas.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type { ToolCallPart, Turn } from "../script/turn.ts";
import { signCall } from "./signatures.ts";

/** A tool call with its index and id. */
export interface NumberedCall {
  readonly part: ToolCallPart;
  /** Its index among the calls of the answer, from 0. */
  readonly index: number;
  readonly id: string;
}

/** A piece of a tool call in a stream. */
export interface CallPiece {
  /** The entry of `tool_calls`. */
  readonly entry: ToolCallDelta;
  readonly tokens: number;
}

/** The name and input in one piece. */
interface NameAndInput {
  readonly name?: string;
  readonly input: string;
}

/** Numbers the tool calls of an answer. Ids consist of the numbers of the request, of the choice and of the call. */
export function numberedCalls(turn: Turn, requestNumber: number, choice: number): NumberedCall[] {
  const calls = turn.parts.filter((part) => part.kind === "tool_call");
  return calls.map((part, index) => ({ part, index, id: toId(turn.callIds, requestNumber, choice, index) }));
}

function toId(style: Turn["callIds"], requestNumber: number, choice: number, index: number): string {
  if (style === "empty") return "";
  const number = style === "repeated" ? 1 : index + 1;
  return `call_${hex(requestNumber, 12)}${hex(choice, 4)}${hex(number, 8)}`;
}

/** Creates a call in a whole message. Some quirks leave out fields that the API always has. */
export function wholeCall(call: NumberedCall, options: ModelOptions): ToolCall {
  const { part, id } = call;
  const entry: ToolCallDelta = {
    ...(options.id_style === "missing" ? {} : { id }),
    type: getType(part),
    ...getBody(part, { name: part.name, input: part.input }, options),
    ...toExtensions(call, options),
  };
  return entry as ToolCall;
}

/**
 * Yields the pieces of a call in a stream. Each has the index of the call; only the first has its id, type and name.
 */
export function* callPieces(
  call: NumberedCall,
  options: ModelOptions,
  halfSurrogates: boolean,
): Generator<CallPiece> {
  let isFirst = true;
  for (const piece of splitPieces(call.part, options, halfSurrogates)) {
    const entry: ToolCallDelta = {
      ...(options.no_index === true ? {} : { index: call.index }),
      ...(isFirst ? toHead(call, options) : repeatedHead(call, options)),
      ...getBody(call.part, piece, options),
      ...(isFirst ? toExtensions(call, options) : {}),
    };
    yield { entry, tokens: countCallTokens(piece) };
    isFirst = false;
  }
}

function* splitPieces(
  part: ToolCallPart,
  options: ModelOptions,
  halfSurrogates: boolean,
): Generator<NameAndInput> {
  const { name, input, firstDelta } = part;
  if (options.whole_calls === true || options.object_arguments === true) {
    yield { name, input };
    return;
  }
  const { heads, repeats } = namePieces(name, options.name_style ?? "first");
  yield* heads;
  for (const delta of splitDeltas(input, { firstDelta, halfSurrogates })) {
    yield repeats ? { name, input: delta } : { input: delta };
  }
}

/** Returns the pieces before the arguments, and whether the others repeat the name. */
function namePieces(
  name: string,
  style: NonNullable<ModelOptions["name_style"]>,
): { readonly heads: readonly NameAndInput[]; readonly repeats: boolean } {
  const half = Math.ceil(name.length / 2);
  switch (style) {
    case "first":
      return { heads: [{ name, input: "" }], repeats: false };
    case "same":
      return { heads: [{ name, input: "" }], repeats: true };
    case "split":
      return {
        heads: [
          { name: name.slice(0, half), input: "" },
          { name: name.slice(half), input: "" },
        ],
        repeats: false,
      };
    case "late":
      return { heads: [{ input: "" }, { name, input: "" }], repeats: false };
    default:
      return style satisfies never;
  }
}

function toHead({ part, id }: NumberedCall, { id_style }: ModelOptions): ToolCallDelta {
  const type = getType(part);
  return id_style === "missing" ? { type } : { id, type };
}

function repeatedHead({ part, id }: NumberedCall, { id_style }: ModelOptions): ToolCallDelta {
  if (id_style === "same") return { id, type: getType(part) };
  return id_style === "blank" ? { id: "", type: getType(part) } : {};
}

function getBody(part: ToolCallPart, { name, input }: NameAndInput, options: ModelOptions): ToolCallDelta {
  const named = name === undefined ? {} : { name };
  if (part.freeform) return { custom: { ...named, input } };
  return { function: { ...named, arguments: options.object_arguments === true ? parsed(input) : input } };
}

/** Parses arguments to an object; returns the text if it was cut off. */
function parsed(input: string): object | string {
  try {
    return JSON.parse(input) as object;
  } catch {
    return input;
  }
}

/** Gemini signs the first of several calls. */
function toExtensions(
  { part, index, id }: NumberedCall,
  { thought_signatures }: ModelOptions,
): ToolCallExtensions {
  if (thought_signatures !== true || index > 0) return {};
  return { extra_content: { google: { thought_signature: signCall(id, part.name) } } };
}

function getType({ freeform }: ToolCallPart): "custom" | "function" {
  return freeform ? "custom" : "function";
}

function countCallTokens({ name, input }: NameAndInput): number {
  return (name === undefined ? 0 : countTokens(name)) + (input === "" ? 0 : countDeltaTokens(input));
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

/** Returns the tool calls of a message; undefined if it has none. */
export function getToolCalls(message: MessageParam | undefined): readonly ToolCall[] | undefined {
  return message?.role === "assistant" ? message.tool_calls : undefined;
}

/** Returns the input of a call that is sent back. */
export function callInput(call: ToolCall): unknown {
  return call.type === "custom" ? call.custom.input : call.function.arguments;
}
