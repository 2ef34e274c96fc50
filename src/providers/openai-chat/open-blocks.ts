/**
 * Tool calls while their pieces arrive (provider documentation: "Chat completion chunk object", `delta.tool_calls`).
 * Servers leave out index, id or name, repeat them, send the name in pieces or after the arguments, or send the whole
 * call at once.
 */

import { measureMemory } from "../../core/memory-pool.ts";
import { GrowingText } from "../../core/text.ts";
import {
  asInt32,
  asObject,
  hasOnly,
  isJson,
  type JsonObject,
  objectIn,
  textIn,
  toText,
  without,
} from "../../kit/json/json.ts";
import type { StreamWriter, ToolCallBlock, ToolInputKind } from "../../kit/stream/stream-writer.ts";
import type { ToolCallDelta } from "../../wire/openai-chat/message.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { StateWriter } from "./state.ts";

/** The fields of one entry of `tool_calls`, empty if the entry lacks them. */
interface Piece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly input: string;
  readonly inputKind: ToolInputKind;
  /** Further fields of the entry, for instance `extra_content` with a thought signature (Gemini); usually none. */
  readonly rest: JsonObject | undefined;
}

/** A call that is being written. */
interface OpenCall {
  id: string;
  name: string;
  /** Input that came before the call was started. */
  readonly held: GrowingText;
  rest: JsonObject;
  inputKind: ToolInputKind;
  /** Index in the message; undefined until there is a name or some input. */
  partIndex: number | undefined;
  /** Number of characters of input that were checked for completeness. */
  checkedChars: number;
  /** Undefined until there is a name and some input. */
  block: ToolCallBlock | undefined;
}

/** Joins the pieces of tool calls and writes them. */
export class ToolCallReader {
  readonly #writer: StreamWriter;
  readonly #states: StateWriter;
  readonly #calls: OpenCall[] = [];
  /** Index of the first call that may not have been started, so that many calls take linear time. */
  #firstWaiting = 0;
  /** The latest call with an id. */
  readonly #byId = new Map<string, OpenCall>();
  readonly #byIndex = new Map<number, OpenCall>();

  constructor(writer: StreamWriter, states: StateWriter) {
    this.#writer = writer;
    this.#states = states;
  }

  /** Whether any call with a name or arguments has arrived. */
  get any(): boolean {
    return this.#calls.some(hasContent);
  }

  /** Adds the `tool_calls` of a delta or message. */
  push(entries: readonly Untrusted<ToolCallDelta>[]): void {
    let position = 0;
    for (const entry of entries) {
      this.#add(getPiece(entry), position);
      position += 1;
    }
  }

  /**
   * Ends all calls. They stay open until then, since some servers add to a call after the next one began.
   * @param isStopped Whether the answer was stopped before the model had ended it.
   */
  end(isStopped: boolean): void {
    // A call that was cut before its name does not count.
    const calls = this.#calls.filter(hasContent);
    for (const call of calls) {
      const block = call.block ?? this.#start(call);
      const isUnfinished = isStopped && call === calls.at(-1);
      block.end({ providerState: this.#states.ofCall(call.rest), isUnfinished });
    }
  }

  #add(piece: Piece, position: number): void {
    const known = this.#find(piece, position);
    if (known === undefined && isBlank(piece)) return;
    const call = known ?? this.#open(piece);
    // Not a copy, which would be repeated for each of many pieces.
    if (piece.rest !== undefined) this.#writer.hold(measureMemory(piece.rest));
    Object.assign(call.rest, piece.rest);
    if (call.block !== undefined) return call.block.append(piece.input);
    if (!hasContent(call)) call.inputKind = piece.inputKind;
    if (call.id === "" && piece.id !== "") this.#identify(call, piece.id);
    this.#writer.hold(piece.name.length + piece.input.length);
    call.name = joinedName(call.name, piece.name);
    call.held.append(piece.input);
    // The name can continue in the next piece, but the server has begun to answer.
    if (hasContent(call)) call.partIndex ??= this.#writer.reserve();
    if (call.name !== "" && call.held.value !== "") this.#start(call);
  }

  /** Returns the call that a piece belongs to; undefined if it begins a call. */
  #find(piece: Piece, position: number): OpenCall | undefined {
    const call = this.#callAt(piece, position);
    return call === undefined || isAnother(call, piece) ? undefined : call;
  }

  #callAt({ index, id, name }: Piece, position: number): OpenCall | undefined {
    if (index !== undefined) return this.#byIndex.get(index);
    const last = this.#calls.at(-1);
    if (id !== "") return this.#byId.get(id) ?? (name === "" ? last : undefined);
    // Without index and id, the next entry of the same list is the next call.
    return position > 0 && name !== "" ? undefined : last;
  }

  #open({ index, id, inputKind }: Piece): OpenCall {
    // Calls keep the order in which they came.
    for (const earlier of this.#calls.slice(this.#firstWaiting))
      if (earlier.block === undefined && earlier.name !== "") this.#start(earlier);
    while (this.#calls[this.#firstWaiting]?.block !== undefined) this.#firstWaiting += 1;
    const begun = { id, name: "", held: new GrowingText(), rest: {}, inputKind };
    const call: OpenCall = { ...begun, partIndex: undefined, checkedChars: 0, block: undefined };
    this.#calls.push(call);
    if (id !== "") this.#identify(call, id);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #identify(call: OpenCall, id: string): void {
    call.id = id;
    this.#byId.set(id, call);
  }

  #start(call: OpenCall): ToolCallBlock {
    const block = this.#writer.startToolCall(call, call.partIndex);
    call.block = block;
    block.append(call.held.value);
    return block;
  }
}

/** The fields of an entry that depend on the kind of its tool: of `function` or of `custom`. */
type CallBody = NonNullable<ToolCallDelta["function"]> & NonNullable<ToolCallDelta["custom"]>;

/**
 * Reports whether an entry of `tool_calls`, or a `function_call`, says nothing: some servers send all fields, empty.
 */
export function isEmptyEntry(entry: Untrusted<ToolCallDelta>): boolean {
  return isBlank(getPiece(entry));
}

function getPiece(entry: Untrusted<ToolCallDelta>): Piece {
  const kind = getKind(entry);
  const body = objectIn<CallBody>(entry[kind]);
  return {
    // Some servers write the index as a text, and the id as a number.
    index: asInt32(entry.index) ?? (isDigits(entry.index) ? Number(entry.index) : undefined),
    id: toText(entry.id),
    name: textIn(body.name),
    // Some servers send the object itself.
    input: toText(kind === "custom" ? body.input : body.arguments),
    inputKind: kind === "custom" ? "text" : "argumentsJson",
    rest: getRest(entry, body, kind),
  };
}

function isDigits(value: unknown): boolean {
  return typeof value === "string" && /^\d{1,9}$/.test(value);
}

/** Returns the kind whose fields have content: some servers send the fields of both kinds, one of them empty. */
function getKind({ type, custom, function: called }: Untrusted<ToolCallDelta>): "custom" | "function" {
  const isCustom = holdsSome(custom);
  if (isCustom !== holdsSome(called)) return isCustom ? "custom" : "function";
  if (type === "custom" || type === "function") return type;
  return asObject(custom) !== undefined && asObject(called) === undefined ? "custom" : "function";
}

function holdsSome(value: unknown): boolean {
  const body = objectIn<CallBody>(value);
  return [body.name, body.arguments, body.input].some((field) => (field ?? "") !== "");
}

const ENTRY_KEYS: readonly (keyof ToolCallDelta)[] = ["index", "id", "type", "function", "custom"];
const BODY_KEYS: readonly (keyof CallBody)[] = ["name", "arguments", "input"];

function getRest(
  entry: Untrusted<ToolCallDelta>,
  body: Untrusted<CallBody>,
  kind: "function" | "custom",
): JsonObject | undefined {
  const hasMore = !hasOnly(body, ...BODY_KEYS);
  if (!hasMore && hasOnly(entry, ...ENTRY_KEYS)) return undefined;
  const rest = without(entry, ...ENTRY_KEYS);
  return hasMore ? { ...rest, [kind]: without(body, ...BODY_KEYS) } : rest;
}

/**
 * Reports whether a piece with a name begins a new call, although another has its index or id: servers give every call
 * the index 0, or all calls one id. A repeated name alone does not make another call.
 */
function isAnother(call: OpenCall, { index, id, name, input }: Piece): boolean {
  if (name === "" || call.name === "") return false;
  if (id !== "" && call.id !== "" && id !== call.id) return true;
  if (index === undefined && id === "" && name !== call.name) return true;
  return input !== "" && isComplete(call);
}

/**
 * Characters after which a long input is no longer checked piece by piece, which is quadratic; it counts as incomplete.
 */
const MAX_CHECKED_CHARS = 16 * 1024 * 1024;

function isComplete(call: OpenCall): boolean {
  const input = call.block?.text ?? call.held.value;
  call.checkedChars += input.length;
  return call.checkedChars <= MAX_CHECKED_CHARS && isJson(input);
}

function hasContent({ name, held }: OpenCall): boolean {
  return name !== "" || held.value !== "";
}

function isBlank({ id, name, input, rest }: Piece): boolean {
  return id === "" && name === "" && input === "" && rest === undefined;
}

/** Joins pieces of a name, which arrives whole, in pieces, repeated, or longer each time. */
function joinedName(known: string, piece: string): string {
  return piece.startsWith(known) ? piece : known + piece;
}
