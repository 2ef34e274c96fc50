/**
 * Carries the provider state of an answer's parts through a client that knows OpenAI's items alone. Such clients return
 * reasoning items as they got them, but drop the ids of items and all fields that they do not know. So a reasoning item
 * has the state in its `encrypted_content`: its own, or that of other parts of the same message, in an item that follows
 * them.
 */
import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
  ProviderStateSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import { countJsonValues } from "../../kit/json/count-values.ts";
import { asObject, asString, type JsonObject, tryParseJson, without } from "../../kit/json/json.ts";

/** Begins what this API writes. Anything else is OpenAI's own. */
const MARK = "or1.";

/** Values in the JSON of one item's state, not those of the providers' JSON texts in it. An answer has at most so many parts. */
const MAX_VALUES = 100_000;

const DIGEST_CHARS = 16;

/** Kinds of state that belongs to the item itself. */
const REASONING = "reasoning";
const REDACTED = "redacted";

/** State that an item carries. */
export interface CarriedState {
  /** The part that it belongs to. Undefined: the reasoning item itself. */
  readonly part: PartReference | undefined;
  readonly state: ProviderState;
  /** Text of the reasoning: some clients return a reasoning item without it. Empty where the state has it. */
  readonly text: string;
  /** Whether the provider withholds the text of the reasoning. */
  readonly redacted: boolean;
}

const NO_REASONING = { text: "", redacted: false };

/** Names a part by what clients keep. */
export interface PartReference {
  readonly kind: "tool_call" | "text" | "image" | "native";
  /** Id of the call; digest of the content of other parts, empty where that has no bytes. */
  readonly key: string;
}

/** `encrypted_content` of the item of a reasoning part: null where there is nothing that a provider needs back. */
export function encodeReasoning({ part, providerState }: ContentPart): string | null {
  if (part.case !== "reasoning" || providerState === undefined) return null;
  const { text, redacted } = part.value;
  const item = itemIn(providerState);
  if (item === undefined) return encode([{ part: undefined, state: providerState, text, redacted }]);
  return encode([{ part: undefined, state: withoutId(providerState, item), text: "", redacted }]);
}

/**
 * `encrypted_content` of a reasoning item that follows the items of a message, with the state of its parts that are no
 * reasoning. Null where none of them needs it: most have no state, and what OpenAI's items show themselves need not be
 * carried.
 */
export function encodeOtherParts(content: readonly ContentPart[]): string | null {
  const needsIds = content.some(isReasoningById);
  const carried = content.flatMap((part): CarriedState[] => {
    const reference = referenceTo(part);
    const { providerState: state } = part;
    if (reference === undefined || state === undefined) return [];
    // An image is found by its id alone.
    const isShown = itemIn(state) !== undefined && !needsIds && reference.kind !== "image";
    return isShown ? [] : [{ part: reference, state, ...NO_REASONING }];
  });
  return carried.length === 0 ? null : encode(carried);
}

/** Reads `encrypted_content`. Undefined where this API did not write it, or it was changed. */
export function decodeStates(encrypted: string): readonly CarriedState[] | undefined {
  if (!encrypted.startsWith(MARK)) return undefined;
  const text = Buffer.from(encrypted.slice(MARK.length), "base64url").toString();
  if (countJsonValues(text, MAX_VALUES) > MAX_VALUES) return undefined;
  const rows = tryParseJson(text);
  if (!Array.isArray(rows)) return undefined;
  const states = rows.map(stateOf);
  return states.every((state) => state !== undefined) ? states : undefined;
}

/** Whether this API wrote it. */
export function isCarried(encrypted: string): boolean {
  return encrypted.startsWith(MARK);
}

/** Gives parts back the state that was carried for them. Returns what belongs to none of the parts. */
export function attachStates(
  content: readonly ContentPart[],
  carried: readonly CarriedState[],
): readonly CarriedState[] {
  const open = new Map<string, ContentPart[]>();
  for (const part of content) {
    const reference = part.providerState === undefined ? referenceTo(part) : undefined;
    if (reference === undefined) continue;
    const key = keyOf(reference);
    const parts = open.get(key);
    if (parts === undefined) open.set(key, [part]);
    else parts.push(part);
  }
  // The latest part comes last; of equal parts the earliest one has the first state.
  for (const parts of open.values()) parts.reverse();
  return carried.filter(({ part: reference, state }) => {
    const part = reference === undefined ? undefined : open.get(keyOf(reference))?.pop();
    if (part !== undefined) part.providerState = state;
    return part === undefined;
  });
}

/** The part of a carried state whose item clients do not get or return: a text without characters. */
export function emptyPartOf({ part, state }: CarriedState): ContentPart | undefined {
  if (part?.kind !== "text" || part.key !== "") return undefined;
  return create(ContentPartSchema, { part: { case: "text", value: "" }, providerState: state });
}

function encode(states: readonly CarriedState[]): string {
  const rows = states.map(({ part, state, text, redacted }) => [
    part?.kind ?? (redacted ? REDACTED : REASONING),
    part?.key ?? "",
    state.provider,
    state.model,
    state.dataJson,
    text,
  ]);
  return MARK + Buffer.from(JSON.stringify(rows)).toString("base64url");
}

function stateOf(row: unknown): CarriedState | undefined {
  if (!Array.isArray(row)) return undefined;
  const [kind, key, provider, model, dataJson, text] = row.map(asString);
  if (key === undefined || provider === undefined || model === undefined) return undefined;
  if (dataJson === undefined || text === undefined) return undefined;
  const state = create(ProviderStateSchema, { provider, model, dataJson });
  if (kind === REASONING || kind === REDACTED)
    return { part: undefined, state, text, redacted: kind === REDACTED };
  return isKind(kind) ? { part: { kind, key }, state, ...NO_REASONING } : undefined;
}

function isKind(kind: string | undefined): kind is PartReference["kind"] {
  return kind === "tool_call" || kind === "text" || kind === "image" || kind === "native";
}

function referenceTo({ part }: ContentPart): PartReference | undefined {
  switch (part.case) {
    case "toolCall":
      return { kind: "tool_call", key: part.value.id };
    case "text":
      return { kind: "text", key: digestOf(part.value) };
    case "native":
      return { kind: "native", key: digestOf(part.value.dataJson) };
    case "image":
      return { kind: "image", key: digestOf(part.value.source.value ?? "") };
    default:
      return undefined;
  }
}

function digestOf(content: string | Uint8Array): string {
  if (content.length === 0) return "";
  return createHash("sha256").update(content).digest("hex").slice(0, DIGEST_CHARS);
}

function keyOf({ kind, key }: PartReference): string {
  return `${kind} ${key}`;
}

/** The item of a state that OpenAI's own adapter wrote: what the items of this API show themselves. */
function itemIn({ dataJson }: ProviderState): JsonObject | undefined {
  return asObject(asObject(tryParseJson(dataJson))?.item);
}

/** Whether a reasoning part has no content that could be sent back, so that the provider finds it by ids alone. */
function isReasoningById({ part, providerState }: ContentPart): boolean {
  if (part.case !== "reasoning" || providerState === undefined) return false;
  const item = itemIn(providerState);
  return item !== undefined && typeof item.encrypted_content !== "string";
}

/**
 * Encrypted reasoning is sent back without its id: the ids of the items around it are not carried, and the provider
 * refuses reasoning with an id beside items without.
 */
function withoutId(state: ProviderState, item: JsonObject): ProviderState {
  if (typeof item.encrypted_content !== "string") return state;
  const data = asObject(tryParseJson(state.dataJson)) ?? {};
  const dataJson = JSON.stringify({ ...data, item: without(item, "id") });
  return create(ProviderStateSchema, { provider: state.provider, model: state.model, dataJson });
}
