/**
 * Reasoning with its signature, and the signatures of calls: a provider needs them back, and Chat Completions has no
 * fields for them. They travel in the fields that clients know from other servers: `reasoning_content` (DeepSeek),
 * `reasoning_details` (OpenRouter), `thinking_blocks` (LiteLLM) and `extra_content` (Gemini).
 */
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import { asObject, asString, type JsonObject, objectsIn } from "../../kit/json/json.ts";
import type { Fields } from "../openai/fields.ts";
import {
  type CarriedState,
  createEmptyPart,
  encodeOtherParts,
  encodeReasoning,
  isCarried,
  StateAttacher,
} from "../responses/provider-state.ts";
import { createPart } from "../responses/read-content.ts";
import { createPartWithState } from "../stateless/part-with-state.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";

/** `format` of the details in which the state of every provider travels. */
const FORMAT = "outrigger-v1";

/** Reasoning of an earlier answer, and the state of its other parts. */
export interface ReadReasoning {
  readonly parts: readonly ContentPart[];
  readonly carried: readonly CarriedState[];
}

/** Returns the fields of a message that hold its reasoning. Empty if it has none. */
export function writeReasoning(content: readonly ContentPart[]): JsonObject {
  const texts = content.flatMap(({ part }) => (part.case === "reasoning" ? [part.value.text] : []));
  const text = texts.filter((each) => each !== "").join("\n\n");
  const details = writeDetails(content);
  return {
    ...(text === "" ? {} : { reasoning_content: text }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  };
}

/** Returns the entries of `reasoning_details`: one for each reasoning part with state, and one for all other parts. */
function writeDetails(content: readonly ContentPart[]): JsonObject[] {
  const reasoning = content.map(encodeReasoningState);
  const states = [...reasoning, encodeOtherParts(content)].filter((state) => state !== null);
  return states.map(createDetail);
}

/** Returns the state of a reasoning part; null if its text in `reasoning_content` is enough. */
export function encodeReasoningState(part: ContentPart): string | null {
  const { model: _, field, ...rest } = dataOfState(part.providerState);
  const isPlainField = field !== undefined && Object.keys(rest).length === 0;
  return isPlainField ? null : encodeReasoning(part);
}

/** Creates an entry of `reasoning_details`. @param data Encoded state. */
export function createDetail(data: string, index: number): JsonObject {
  return { type: "reasoning.encrypted", data, format: FORMAT, id: null, index };
}

/** Returns the `extra_content` of a call, in which clients of Gemini expect the signature. */
export function writeCallExtras(state: ProviderState | undefined): JsonObject {
  const { part, call } = dataOfState(state);
  const signature = asString(asObject(part)?.thoughtSignature);
  if (signature !== undefined) return writeExtras(signature);
  const extras = asObject(call)?.extra_content;
  return extras === undefined ? {} : { extra_content: extras };
}

/** Returns the state of a call that its client returned in `extra_content`; undefined if there is none. */
export function readCallExtras(call: Fields, context: ReadingContext): ProviderState | undefined {
  const signature = call.object("extra_content")?.object("google")?.string("thought_signature");
  if (signature === undefined) return undefined;
  switch (context.served.api) {
    case "gemini":
      return context.createState({ part: { thoughtSignature: signature } });
    case "openai-chat":
      return context.createState({ call: writeExtras(signature) });
    default:
      return undefined;
  }
}

function writeExtras(signature: string): JsonObject {
  return { extra_content: { google: { thought_signature: signature } } };
}

/** Reads the reasoning of an earlier answer, in the first of its forms that holds any. */
export function readReasoning(fields: Fields, context: ReadingContext): ReadReasoning {
  const states = readCarried(fields, context);
  if (states.length > 0) {
    const parts = states.filter(({ part }) => part === undefined).map(toReasoningPart);
    return { parts, carried: states.filter(({ part }) => part !== undefined) };
  }
  return { parts: readForeign(fields, context), carried: [] };
}

/**
 * Gives the parts of a message the state that was carried for them.
 * @returns Parts for the remaining states: clients do not return empty texts, which may have state.
 */
export function restoreStates(
  parts: readonly ContentPart[],
  carried: readonly CarriedState[],
): readonly ContentPart[] {
  const rest = new StateAttacher().attach(parts, carried);
  return rest.map(createEmptyPart).filter((part) => part !== undefined);
}

function readCarried(fields: Fields, context: ReadingContext): readonly CarriedState[] {
  const details = fields.list("reasoning_details") ?? [];
  return details.flatMap(({ value, path }) => {
    const data = asString(asObject(value)?.data);
    return data === undefined || !isCarried(data) ? [] : context.readCarried(data, `${path}.data`);
  });
}

function toReasoningPart({ text, redacted, state }: CarriedState): ContentPart {
  return createPart({ part: { case: "reasoning", value: { text, redacted } }, providerState: state });
}

/** Fields with the text of reasoning, by the servers that use them. */
const TEXT_FIELDS = ["reasoning_content", "reasoning", "reasoning_text"] as const;

/** Reads reasoning that another server wrote, or whose client returned only its text. */
function readForeign(fields: Fields, context: ReadingContext): ContentPart[] {
  const details = objectsIn<JsonObject>(fields.get("reasoning_details")).map(
    (detail) => asObject(detail) ?? {},
  );
  const blocks = (fields.list("thinking_blocks") ?? []).map(({ value }) => asObject(value) ?? {});
  const field = TEXT_FIELDS.find((name) => typeof fields.get(name) === "string");
  const text = field === undefined ? "" : (fields.string(field) ?? "");
  if (context.served.api === "openai-chat") {
    if (text === "" && details.length === 0 && blocks.length === 0) return [];
    const providerState = context.createState({ field: field ?? "", details, thinkingBlocks: blocks });
    return [createPart({ part: { case: "reasoning", value: { text } }, providerState })];
  }
  if (blocks.length > 0) return blocks.map((block) => toThinkingPart(block, context));
  return text === "" ? [] : [createPart({ part: { case: "reasoning", value: { text } } })];
}

/** Reads reasoning that is a part of the content (Mistral). Its server gets the part back as it was. */
export function readThinkPart(fields: Fields, context: ReadingContext): ContentPart {
  const { thinking } = fields.value;
  const text =
    asString(thinking) ??
    objectsIn(thinking)
      .map((inner) => asString(inner.text) ?? "")
      .join("");
  const state =
    context.served.api === "openai-chat" ? context.createState({ chunk: fields.value }) : undefined;
  return createPartWithState({ case: "reasoning", value: { text } }, state);
}

/** Converts a block of Anthropic's API, as LiteLLM passes it on. */
function toThinkingPart(block: JsonObject, context: ReadingContext): ContentPart {
  const text = asString(block.thinking) ?? "";
  const redacted = block.type === "redacted_thinking";
  const part = createPart({ part: { case: "reasoning", value: { text, redacted } } });
  const isSigned = asString(block.signature) !== undefined || redacted;
  if (context.served.api === "anthropic-messages" && isSigned)
    part.providerState = context.createState({ block });
  return part;
}
