/**
 * Tool calls while their pieces arrive (provider documentation: "Chat completion chunk object",
 * `delta.tool_calls`). Servers leave out index, id or name, repeat them, send the name in pieces
 * or after the arguments, or send the whole call at once.
 */
import {
  asInt32,
  asObject,
  isJson,
  type JsonObject,
  objectIn,
  objectsIn,
  textIn,
  without,
} from "../../kit/json/json.ts";
import type { StreamWriter, ToolCallBlock, ToolInputKind } from "../../kit/stream/stream-writer.ts";
import type { StateWriter } from "./state.ts";

/** One entry of `tool_calls`, as far as it is there. */
interface Piece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly input: string;
  readonly inputKind: ToolInputKind;
  /** What the entry says beside, for instance `extra_content` with a thought signature (Gemini); mostly nothing. */
  readonly rest: JsonObject | undefined;
}

/** A call, as far as it has arrived. */
interface Call {
  id: string;
  name: string;
  /** What came before the call began to be written. */
  held: string;
  rest: JsonObject;
  readonly inputKind: ToolInputKind;
  /** Undefined until name and arguments have begun. */
  block: ToolCallBlock | undefined;
}

/** Puts the pieces of tool calls together and writes them. */
export class ToolCallReader {
  readonly #writer: StreamWriter;
  readonly #states: StateWriter;
  readonly #calls: Call[] = [];
  readonly #byIndex = new Map<number, Call>();

  constructor(writer: StreamWriter, states: StateWriter) {
    this.#writer = writer;
    this.#states = states;
  }

  /** Whether any call has arrived, as far as its name or arguments. */
  get any(): boolean {
    return this.#calls.some(hasContent);
  }

  /** Takes the `tool_calls` of a delta or message. */
  push(entries: unknown): void {
    objectsIn(entries).forEach((entry, position) => {
      this.#take(pieceOf(entry), position);
    });
  }

  /** Ends all calls. They stay open until then, since some servers add to a call after the next one began. */
  end(): void {
    for (const call of this.#calls) {
      // What was cut before its name came is no call.
      if (!hasContent(call)) continue;
      const block = call.block ?? this.#start(call);
      block.end({ providerState: this.#states.ofCall(call.rest) });
    }
  }

  #take(piece: Piece, position: number): void {
    const known = this.#find(piece, position);
    if (known === undefined && isBlank(piece)) return;
    const call = known ?? this.#add(piece);
    if (piece.rest !== undefined) call.rest = { ...call.rest, ...piece.rest };
    if (call.block !== undefined) return call.block.append(piece.input);
    call.id ||= piece.id;
    call.name = joinedName(call.name, piece.name);
    call.held += piece.input;
    if (call.name !== "" && call.held !== "") this.#start(call);
  }

  /** The call that a piece belongs to; undefined where it begins one. */
  #find(piece: Piece, position: number): Call | undefined {
    const call = this.#callAt(piece, position);
    return call === undefined || isAnother(call, piece) ? undefined : call;
  }

  #callAt({ index, id, name }: Piece, position: number): Call | undefined {
    if (index !== undefined) return this.#byIndex.get(index);
    const last = this.#calls.at(-1);
    if (id !== "") return this.#calls.findLast((call) => call.id === id) ?? (name === "" ? last : undefined);
    // Without index and id, what comes next in the same list is the next call.
    return position > 0 && name !== "" ? undefined : last;
  }

  #add({ index, id, inputKind }: Piece): Call {
    // Calls keep the order in which they came.
    for (const earlier of this.#calls)
      if (earlier.block === undefined && earlier.name !== "") this.#start(earlier);
    const call: Call = { id, name: "", held: "", rest: {}, inputKind, block: undefined };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }

  #start(call: Call): ToolCallBlock {
    const block = this.#writer.startToolCall(call);
    call.block = block;
    block.append(call.held);
    return block;
  }
}

function pieceOf(entry: JsonObject): Piece {
  const kind = entry.type === "custom" || asObject(entry.custom) !== undefined ? "custom" : "function";
  const said = objectIn(entry[kind]);
  return {
    index: asInt32(entry.index),
    id: textIn(entry.id),
    name: textIn(said.name),
    input: inputOf(kind === "custom" ? said.input : said.arguments),
    inputKind: kind === "custom" ? "text" : "argumentsJson",
    rest: restOf(entry, said, kind),
  };
}

const OUTER_KEYS: readonly string[] = ["index", "id", "type", "function", "custom"];
const INNER_KEYS: readonly string[] = ["name", "arguments", "input"];

function restOf(entry: JsonObject, said: JsonObject, kind: "function" | "custom"): JsonObject | undefined {
  const hasInner = Object.keys(said).some((key) => !INNER_KEYS.includes(key));
  if (!hasInner && Object.keys(entry).every((key) => OUTER_KEYS.includes(key))) return undefined;
  const outer = without(entry, ...OUTER_KEYS);
  return hasInner ? { ...outer, [kind]: without(said, ...INNER_KEYS) } : outer;
}

/** Arguments are JSON text; some servers send the object itself. */
function inputOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/**
 * Whether a named piece is another call than the one in whose place it comes: servers count every
 * call as number 0, or give all calls one id. A repeated name alone does not make another call.
 */
function isAnother(call: Call, { index, id, name, input }: Piece): boolean {
  if (name === "" || call.name === "") return false;
  if (id !== "" && call.id !== "" && id !== call.id) return true;
  if (index === undefined && id === "" && name !== call.name) return true;
  return input !== "" && isJson(call.block?.text ?? call.held);
}

function hasContent({ name, held }: Call): boolean {
  return name !== "" || held !== "";
}

function isBlank({ id, name, input }: Piece): boolean {
  return id === "" && name === "" && input === "";
}

/** A name comes whole, in pieces, again, or longer each time. */
function joinedName(known: string, piece: string): string {
  return piece.startsWith(known) ? piece : known + piece;
}
