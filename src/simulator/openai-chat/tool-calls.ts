import type { ModelOptions } from "../model-options.ts";
import { deltasOf } from "../script/deltas.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type { ToolCallPart, Turn } from "../script/turn.ts";
import { signCall } from "./signatures.ts";
import type { Fields } from "./wire.ts";

/** A tool call and where it stands. */
export interface PlacedCall {
  readonly part: ToolCallPart;
  /** Its place among the calls of the answer, from 0. */
  readonly index: number;
  readonly id: string;
}

/** A piece of a tool call on its way. */
export interface CallPiece {
  readonly fields: Fields;
  readonly tokens: number;
}

/** What of a call one piece brings. */
interface Said {
  readonly name?: string;
  readonly input: string;
}

/** Numbers the tool calls of an answer. Ids are made of the numbers of the request, of the choice and of the call. */
export function placeCalls(turn: Turn, requestNumber: number, choice: number): PlacedCall[] {
  const calls = turn.parts.filter((part) => part.kind === "tool_call");
  return calls.map((part, index) => ({ part, index, id: idOf(turn.callIds, requestNumber, choice, index) }));
}

function idOf(style: Turn["callIds"], requestNumber: number, choice: number, index: number): string {
  if (style === "empty") return "";
  const place = style === "repeated" ? 1 : index + 1;
  return `call_${hex(requestNumber, 12)}${hex(choice, 4)}${hex(place, 8)}`;
}

/** A call as a whole message holds it. */
export function wholeCall(call: PlacedCall, options: ModelOptions): Fields {
  const { part, id } = call;
  return {
    ...(options.id_style === "missing" ? {} : { id }),
    type: typeOf(part),
    ...bodyOf(part, { name: part.name, input: part.input }, options),
    ...extraOf(call, options),
  };
}

/** The pieces in which a stream brings a call. Each says where the call stands; only the first says what it is. */
export function* callPieces(
  call: PlacedCall,
  options: ModelOptions,
  halfSurrogates: boolean,
): Generator<CallPiece> {
  let isFirst = true;
  for (const said of piecesOf(call.part, options, halfSurrogates)) {
    const fields = {
      ...(options.no_index === true ? {} : { index: call.index }),
      ...(isFirst ? headOf(call, options) : repeatedHead(call, options)),
      ...bodyOf(call.part, said, options),
      ...(isFirst ? extraOf(call, options) : {}),
    };
    yield { fields, tokens: tokensOf(said) };
    isFirst = false;
  }
}

function* piecesOf(part: ToolCallPart, options: ModelOptions, halfSurrogates: boolean): Generator<Said> {
  const { name, input, firstDelta } = part;
  if (options.whole_calls === true || options.object_arguments === true) {
    yield { name, input };
    return;
  }
  const { heads, repeats } = namings(name, options.name_style ?? "first");
  yield* heads;
  for (const delta of deltasOf(input, { firstDelta, halfSurrogates })) {
    yield repeats ? { name, input: delta } : { input: delta };
  }
}

/** The pieces that come before the arguments, and whether the others repeat the name. */
function namings(
  name: string,
  style: NonNullable<ModelOptions["name_style"]>,
): { readonly heads: readonly Said[]; readonly repeats: boolean } {
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

function headOf({ part, id }: PlacedCall, { id_style }: ModelOptions): Fields {
  const type = typeOf(part);
  return id_style === "missing" ? { type } : { id, type };
}

function repeatedHead({ part, id }: PlacedCall, { id_style }: ModelOptions): Fields {
  if (id_style === "same") return { id, type: typeOf(part) };
  return id_style === "blank" ? { id: "", type: typeOf(part) } : {};
}

function bodyOf(part: ToolCallPart, { name, input }: Said, options: ModelOptions): Fields {
  const named = name === undefined ? {} : { name };
  if (part.freeform) return { custom: { ...named, input } };
  return { function: { ...named, arguments: options.object_arguments === true ? parsed(input) : input } };
}

/** Arguments as an object; as text where they were cut off. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input) as unknown;
  } catch {
    return input;
  }
}

/** Gemini signs the first of several calls. */
function extraOf({ part, index, id }: PlacedCall, { thought_signatures }: ModelOptions): Fields {
  if (thought_signatures !== true || index > 0) return {};
  return { extra_content: { google: { thought_signature: signCall(id, part.name) } } };
}

function typeOf({ freeform }: ToolCallPart): "custom" | "function" {
  return freeform ? "custom" : "function";
}

function tokensOf({ name, input }: Said): number {
  return (name === undefined ? 0 : countTokens(name)) + (input === "" ? 0 : countDeltaTokens(input));
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}
