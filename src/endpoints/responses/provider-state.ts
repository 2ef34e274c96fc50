/**
 * Carries the provider state of an answer's parts through a client that knows only OpenAI's items. Such clients return
 * reasoning items unchanged, but drop the ids of items and all fields that they do not know. So the state is in the
 * `encrypted_content` of reasoning items: a part of reasoning has its state in its own item, and the other parts of a
 * message have theirs in one item that follows them.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { create } from "@bufbuild/protobuf";
import { countJsonValues } from "../../core/json-text.ts";
import {
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
  ProviderStateSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import {
  asObject,
  asString,
  type JsonObject,
  type JsonValue,
  tryParseJson,
  without,
} from "../../kit/json/json.ts";

/** Prefix of content that this API writes. Content without it comes from OpenAI. */
const MARK = "or1.";

const DIGEST_CHARS = 16;

/** Kinds of state that belong to the item itself. */
const REASONING = "reasoning";
const REDACTED = "redacted";

/** State that an item carries. */
export interface CarriedState {
  /** The part that it belongs to. Undefined: the reasoning item itself. */
  readonly part: PartReference | undefined;
  readonly state: ProviderState;
  /** Text of the reasoning: some clients return a reasoning item without it. Empty if the state has it. */
  readonly text: string;
  /** Whether the provider withholds the text of the reasoning. */
  readonly redacted: boolean;
}

const NO_REASONING = { text: "", redacted: false };

/** Identifies a part by the fields that clients return. */
export interface PartReference {
  readonly kind: "tool_call" | "text" | "image" | "native";
  /** Id of a call, or digest of another part's content. Empty if the content is empty. */
  readonly key: string;
  /** Digest of a call's name and input: items of MCP servers do not show the id. Empty for other parts. */
  readonly alias: string;
}

/** Returns the `encrypted_content` of a reasoning part's item; null if its provider needs nothing back. */
export function encodeReasoning(part: ContentPart): string | null {
  return encode(getReasoningStates(part));
}

/**
 * Returns the `encrypted_content` of a reasoning item that follows the items of a message, with the state of the
 * message's other parts. Null if no part needs it: most have no state, and data that OpenAI's items show themselves is
 * not carried.
 */
export function encodeOtherParts(content: readonly ContentPart[]): string | null {
  return encode(getOtherStates(content));
}

/**
 * Encodes the state of reasoning together with the state of other parts. Null if there is none.
 * @param content As in `encodeOtherParts`.
 */
export function encodeTogether(
  reasoning: readonly ContentPart[],
  content: readonly ContentPart[],
): string | null {
  return encode([...reasoning.flatMap(getReasoningStates), ...getOtherStates(content)]);
}

function getReasoningStates({ part, providerState }: ContentPart): readonly CarriedState[] {
  if (part.case !== "reasoning" || providerState === undefined) return [];
  const { text, redacted } = part.value;
  const item = getItem(providerState);
  if (item === undefined) return [{ part: undefined, state: providerState, text, redacted }];
  return [{ part: undefined, state: withoutId(providerState, item), text: "", redacted }];
}

function getOtherStates(content: readonly ContentPart[]): readonly CarriedState[] {
  if (!content.some(isWorthCarrying)) return [];
  const needsIds = content.some(isReasoningById);
  return content.flatMap((part): CarriedState[] => {
    const { providerState: state } = part;
    if (state === undefined) return [];
    // An image can be found only by its id.
    if (getItem(state) !== undefined && !needsIds && part.part.case !== "image") return [];
    const reference = referenceTo(part);
    return reference === undefined ? [] : [{ part: reference, state, ...NO_REASONING }];
  });
}

/**
 * Reads `encrypted_content`. Undefined if this API did not write it, if it was changed, or if it has too many values.
 * @param maxValues The most JSON values that it may have, without those in the providers' JSON texts.
 */
export function decodeStates(encrypted: string, maxValues: number): readonly CarriedState[] | undefined {
  if (!encrypted.startsWith(MARK)) return undefined;
  const text = Buffer.from(encrypted.slice(MARK.length), "base64url").toString();
  if (countJsonValues(text, maxValues) > maxValues) return undefined;
  const rows = tryParseJson(text);
  if (!Array.isArray(rows)) return undefined;
  const states = rows.map(toState);
  return states.every((state) => state !== undefined) ? states : undefined;
}

/** Counts the JSON values of a carried state: its fields, and the values in the JSON text that its provider wrote. */
export function countStateValues({ state }: CarriedState, max: number): number {
  return ROW_VALUES + countJsonValues(state.dataJson, max);
}

/** JSON values of one encoded state: a list with its elements. */
const ROW_VALUES = 8;

/** Reports whether this API wrote the `encrypted_content` of an item. */
export function isCarried(encrypted: string): boolean {
  return encrypted.startsWith(MARK);
}

/** Restores the carried state of the parts of a conversation. */
export class StateAttacher {
  /** The parts of the span that have no state, by the keys in carried states, latest first. */
  #open = new Map<string, ContentPart[]>();
  #span: readonly ContentPart[] = [];
  /** Number of parts of the span that were examined, each once. */
  #seen = 0;

  /**
   * Restores the state of parts. Among equal parts, the earliest one gets the first state.
   * @param span The model's parts since the last message of another role. Each span is a separate, append-only list.
   * @returns The state that belongs to none of the parts.
   */
  attach(span: readonly ContentPart[], carried: readonly CarriedState[]): readonly CarriedState[] {
    this.#index(span);
    return carried.filter(({ part: reference, state }) => {
      const part = reference === undefined ? undefined : this.#take(reference);
      if (part !== undefined) part.providerState = state;
      return part === undefined;
    });
  }

  #index(span: readonly ContentPart[]): void {
    if (span !== this.#span) {
      this.#span = span;
      this.#open = new Map();
      this.#seen = 0;
    }
    for (const part of span.slice(this.#seen).reverse()) this.#add(part);
    this.#seen = span.length;
  }

  #add(part: ContentPart): void {
    const reference = part.providerState === undefined ? referenceTo(part) : undefined;
    for (const key of reference === undefined ? [] : getKeys(reference)) {
      const parts = this.#open.get(key);
      if (parts === undefined) this.#open.set(key, [part]);
      else parts.push(part);
    }
  }

  /** Returns a part that has no state yet. A call may already have been found by its other key. */
  #take(reference: PartReference): ContentPart | undefined {
    for (const key of getKeys(reference)) {
      const parts = this.#open.get(key) ?? [];
      for (let part = parts.pop(); part !== undefined; part = parts.pop())
        if (part.providerState === undefined) return part;
    }
    return undefined;
  }
}

/** Returns the part of a carried state if it is an empty text, for which clients neither get nor return an item. */
export function createEmptyPart({ part, state }: CarriedState): ContentPart | undefined {
  if (part?.kind !== "text" || part.key !== "") return undefined;
  return create(ContentPartSchema, { part: { case: "text", value: "" }, providerState: state });
}

function encode(states: readonly CarriedState[]): string | null {
  if (states.length === 0) return null;
  const rows = states.map(({ part, state, text, redacted }) => [
    part?.kind ?? (redacted ? REDACTED : REASONING),
    part?.key ?? "",
    state.provider,
    state.model,
    state.dataJson,
    text,
    part?.alias ?? "",
  ]);
  return MARK + Buffer.from(JSON.stringify(rows)).toString("base64url");
}

function toState(row: unknown): CarriedState | undefined {
  if (!Array.isArray(row)) return undefined;
  const [kind, key, provider, model, dataJson, text, alias] = row.map(asString);
  if (key === undefined || provider === undefined || model === undefined) return undefined;
  if (dataJson === undefined || text === undefined || alias === undefined) return undefined;
  const state = create(ProviderStateSchema, { provider, model, dataJson });
  if (kind === REASONING || kind === REDACTED)
    return { part: undefined, state, text, redacted: kind === REDACTED };
  return isKind(kind) ? { part: { kind, key, alias }, state, ...NO_REASONING } : undefined;
}

function isKind(kind: string | undefined): kind is PartReference["kind"] {
  return kind === "tool_call" || kind === "text" || kind === "image" || kind === "native";
}

function referenceTo({ part }: ContentPart): PartReference | undefined {
  switch (part.case) {
    case "toolCall": {
      const { id, name, input } = part.value;
      return { kind: "tool_call", key: id, alias: hashText(`${name}\n${input.value ?? ""}`) };
    }
    case "text":
      return { kind: "text", key: hashText(part.value), alias: "" };
    case "native":
      return { kind: "native", key: hashText(part.value.dataJson), alias: "" };
    case "image":
      return { kind: "image", key: hashText(part.value.source.value ?? ""), alias: "" };
    default:
      return undefined;
  }
}

function hashText(content: string | Uint8Array): string {
  if (content.length === 0) return "";
  return createHash("sha256").update(content).digest("hex").slice(0, DIGEST_CHARS);
}

/** Returns the keys by which a part is found, the safer one first. */
function getKeys({ kind, key, alias }: PartReference): string[] {
  return alias === "" ? [`${kind} ${key}`] : [`${kind} ${key}`, `alias ${alias}`];
}

/** Returns the item in a state of OpenAI's Responses API. The items of this API show its data themselves. */
function getItem({ dataJson }: ProviderState): JsonObject | undefined {
  return asObject(asObject(tryParseJson(dataJson))?.item);
}

/**
 * Reports whether a reasoning part has no content that could be sent back, so that the provider finds it only by ids.
 */
function isReasoningById({ part, providerState }: ContentPart): boolean {
  if (part.case !== "reasoning" || providerState === undefined) return false;
  const item = getItem(providerState);
  return item !== undefined && typeof item.encrypted_content !== "string";
}

/**
 * Reports whether the state of a part other than reasoning has more than the part itself and its API's default values.
 */
function isWorthCarrying({ part, providerState }: ContentPart): boolean {
  if (part.case === "reasoning" || providerState === undefined) return false;
  const { block, part: wirePart, ...rest } = without(dataOfState(providerState), "model");
  if (Object.keys(rest).length > 0) return true;
  const id = part.case === "toolCall" ? part.value.id : undefined;
  const hasOnlyCaller = isDeepStrictEqual(block ?? {}, { caller: { type: "direct" } });
  const hasOnlyId = isDeepStrictEqual(wirePart ?? {}, { functionCall: { id } });
  return !(isEmpty(block) || hasOnlyCaller) || !(isEmpty(wirePart) || hasOnlyId);
}

function isEmpty(value: JsonValue | undefined): boolean {
  return isDeepStrictEqual(value ?? {}, {});
}

/**
 * Encrypted reasoning is sent back without its id: the ids of the items around it are not carried, and the provider
 * refuses reasoning with an id alongside items without.
 */
function withoutId(state: ProviderState, item: JsonObject): ProviderState {
  if (typeof item.encrypted_content !== "string") return state;
  const data = asObject(tryParseJson(state.dataJson)) ?? {};
  const dataJson = JSON.stringify({ ...data, item: without(item, "id") });
  return create(ProviderStateSchema, { provider: state.provider, model: state.model, dataJson });
}
