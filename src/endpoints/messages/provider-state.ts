/**
 * Reasoning with its signature, and the state of other parts, in blocks of the Messages API. Clients return `thinking`
 * and `redacted_thinking` blocks unchanged, so for models of other providers their `signature` and `data` hold the
 * state of the answer.
 */
import { parseJsonText } from "../../core/json-text.ts";
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import { asObject, asString, type JsonObject } from "../../kit/json/json.ts";
import type { Fields } from "../openai/fields.ts";
import { type CarriedState, encodeReasoning, isCarried } from "../responses/provider-state.ts";
import { createPart } from "../responses/read-content.ts";
import { createPartWithState } from "../stateless/part-with-state.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";

/** Reports whether the provider of the model speaks the Messages API itself. */
export function isAnthropic({ served }: ReadingContext): boolean {
  return served.api === "anthropic-messages";
}

/** Creates the state of a block that Anthropic wrote. It is never sent to other providers. */
export function createBlockState(block: JsonObject, context: ReadingContext): ProviderState {
  return context.createState({ block }, isAnthropic(context) ? context.served.provider : "anthropic");
}

/** Returns the fields of Anthropic's block that are not in the part itself; undefined for parts of other providers. */
function getAnthropicBlock({ providerState }: Pick<ContentPart, "providerState">): JsonObject | undefined {
  return asObject(dataOfState(providerState).block);
}

/** Converts a reasoning part. */
export function writeThinking(part: ContentPart): JsonObject {
  const { text, redacted } = part.part.case === "reasoning" ? part.part.value : { text: "", redacted: false };
  const block = getAnthropicBlock(part);
  if (block !== undefined) return redacted ? block : { ...block, type: "thinking", thinking: text };
  const state = encodeReasoning(part) ?? "";
  return text === "" ? writeCarried(state) : { type: "thinking", thinking: text, signature: state };
}

/** Creates the block with the state of other parts, which user interfaces do not show. */
export function writeCarried(data: string): JsonObject {
  return { type: "redacted_thinking", data };
}

/** A block of reasoning that a client returned. */
export interface ReadThinking {
  /** Undefined if the block only carried the state of other parts. */
  readonly part: ContentPart | undefined;
  readonly carried: readonly CarriedState[];
}

/** Reads a `thinking` or a `redacted_thinking` block. */
export function readThinking(fields: Fields, context: ReadingContext): ReadThinking {
  const isRedacted = fields.get("type") === "redacted_thinking";
  const field = isRedacted ? "data" : "signature";
  const opaque = fields.string(field) ?? "";
  const text = isRedacted ? "" : (fields.string("thinking") ?? "");
  if (!isCarried(opaque)) {
    const { thinking: _, ...block } = fields.value;
    const state = opaque === "" ? undefined : createBlockState(block, context);
    const value = { text, redacted: isRedacted };
    return { part: createPartWithState({ case: "reasoning", value }, state), carried: [] };
  }
  const states = context.readCarried(opaque, fields.at(field));
  const reasoning = states.find(({ part }) => part === undefined);
  return {
    part: reasoning && toReasoningPart(reasoning, text),
    carried: states.filter(({ part }) => part !== undefined),
  };
}

function toReasoningPart({ text: kept, redacted, state }: CarriedState, text: string): ContentPart {
  const value = { text: kept || text, redacted };
  return createPart({ part: { case: "reasoning", value }, providerState: state });
}

/** Returns the fields of a call other than its id, name and input, for instance its `caller`. */
export function getCallExtras(providerState: ContentPart["providerState"]): JsonObject {
  return getAnthropicBlock(providerState === undefined ? {} : { providerState }) ?? {};
}

/** Returns the native block of Anthropic's API that a part holds; undefined for other parts. */
export function readNativeBlock({ part }: ContentPart, provider: string): JsonObject | undefined {
  if (part.case !== "native" || part.value.provider !== provider) return undefined;
  const block: unknown = parseJsonText(part.value.dataJson);
  const object = asObject(block);
  return asString(object?.type) === undefined ? undefined : object;
}
