/** Parts of an assistant's message -> output items. One part is one item. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { isPause } from "../../core/response.ts";
import {
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
  type ToolCall,
} from "../../gen/outrigger/v1/message_pb.ts";
import {
  type FinishReason,
  FinishReason_Reason as Reason,
  type Response,
} from "../../gen/outrigger/v1/response_pb.ts";
import { readCustomInput } from "../../kit/adapter/custom-tool.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import { asObject, asString, type JsonObject, objectIn, textIn, tryParseJson } from "../../kit/json/json.ts";
import { isUnfinished } from "../../runs/status.ts";
import type {
  CustomToolCall,
  FunctionCall,
  OutputMessage,
  ReasoningItem,
} from "../../wire/openai-responses/items.ts";
import type { ImageGenerationCall } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { type ItemLocation, toItemId } from "../openai/ids.ts";
import { isOpenAiItem } from "./item-types.ts";
import { encodeOtherParts, encodeReasoning } from "./provider-state.ts";
import { carriesState, type ResponseSettings } from "./settings.ts";
import { type CallerTool, ToolNames } from "./tool-names.ts";
import { toAnnotations } from "./write-annotations.ts";

/** Whether an item is complete, or was cut off. */
export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** An item of a response, with the fields of its type in OpenAI's API. */
export interface WrittenItem {
  readonly type: string;
  readonly id: string;
  readonly [field: string]: unknown;
}

/** Writes the items of one response. */
export class ItemWriter {
  readonly #names: ToolNames;
  readonly #summarizes: boolean;
  readonly #carriesState: boolean;
  readonly #isStored: boolean;

  constructor(settings: ResponseSettings) {
    const { echoed } = settings;
    this.#names = new ToolNames([...echoed.tools, ...settings.addedTools]);
    this.#summarizes = typeof echoed.reasoning.summary === "string";
    this.#carriesState = carriesState(settings);
    this.#isStored = echoed.store;
  }

  /** Returns the items of a whole answer. @param messageId Id of its message. */
  answer(messageId: string, { message, finishReason }: Response): readonly WrittenItem[] {
    const content = message?.content ?? [];
    const carrier = this.carrier(messageId, content);
    const items = this.getItems(messageId, content, itemStatusAt(finishReason));
    return carrier === undefined ? items : [...items, carrier];
  }

  /** Returns the items of the parts of a message. @param last Status of the last item. */
  getItems(
    messageId: string,
    content: readonly ContentPart[],
    last: ItemStatus = "completed",
  ): readonly WrittenItem[] {
    const items: WrittenItem[] = [];
    for (const [index, part] of content.entries()) {
      const status = index === content.length - 1 ? last : "completed";
      const item = this.#toItem(part, { messageId, part: index }, status);
      if (item !== undefined) items.push(item);
    }
    return items;
  }

  /** Returns the item of a part; undefined for an empty text. */
  #toItem(
    whole: ContentPart,
    { messageId, part: index }: ItemLocation,
    status: ItemStatus,
  ): WrittenItem | undefined {
    const { part } = whole;
    switch (part.case) {
      case "text":
        return part.value === ""
          ? undefined
          : this.message(toItemId("message", messageId, index), status, whole);
      case "reasoning":
        return this.reasoning(toItemId("reasoning", messageId, index), whole);
      case "toolCall": {
        const type = isCustom(part.value, this.callerTool(part.value.name))
          ? "custom_tool_call"
          : "function_call";
        return this.call(toItemId(type, messageId, index), status, part.value, whole.providerState);
      }
      default:
        return this.whole(messageId, index, whole);
    }
  }

  /** The field for the text of reasoning: `summary` if the caller asked for summaries, otherwise `content`. */
  get reasoningField(): "summary" | "content" {
    return this.#summarizes ? "summary" : "content";
  }

  /** Returns the tool of the caller that a call names. */
  callerTool(name: string): CallerTool | undefined {
    return this.#names.findByModelName(name);
  }

  /** Writes a message with one text. */
  message(id: string, status: ItemStatus, part: ContentPart): WrittenItem {
    const { part: content, phase } = getContent(part);
    const phased = phase === undefined ? {} : { phase };
    return { id, type: "message", status, content: [content], ...phased, role: "assistant" };
  }

  /** Writes a message that begins. */
  openMessage(id: string): WrittenItem {
    return {
      id,
      type: "message",
      status: "in_progress",
      content: [],
      role: "assistant",
    } satisfies Untrusted<OutputMessage>;
  }

  /** Writes reasoning. Its state is written if the caller has to return it. */
  reasoning(id: string, part: ContentPart): WrittenItem {
    const text = part.part.case === "reasoning" ? part.part.value.text : "";
    const encrypted_content = this.#carriesState ? encodeReasoning(part) : null;
    const encrypted = encrypted_content === null ? {} : { encrypted_content };
    return { ...this.#createReasoning(id, text), ...encrypted };
  }

  /** Writes reasoning that begins. */
  openReasoning(id: string): WrittenItem {
    return { id, type: "reasoning", summary: [] } satisfies Untrusted<ReasoningItem>;
  }

  #createReasoning(id: string, text: string): WrittenItem {
    if (text === "") return this.openReasoning(id);
    if (this.#summarizes)
      return {
        id,
        type: "reasoning",
        summary: [{ type: "summary_text", text }],
      } satisfies Untrusted<ReasoningItem>;
    const content = [{ type: "reasoning_text" as const, text }];
    return { id, type: "reasoning", summary: [], content } satisfies Untrusted<ReasoningItem>;
  }

  /**
   * Writes a call of a tool that the caller executes, by the names that the caller gave it.
   * @param state The provider state of the call. In OpenAI's API it names the group of the tool, and the program that
   *   called it.
   */
  call(id: string, status: ItemStatus, call: ToolCall, state?: ProviderState): WrittenItem {
    const item = objectIn(dataOfState(state).item);
    const group = asString(item.namespace);
    const tool = group === undefined ? this.#names.findByModelName(call.name) : undefined;
    const name = tool?.callerName ?? call.name;
    const groupName = group ?? tool?.namespace;
    const namespace = groupName === undefined ? {} : { namespace: groupName };
    const input = toInput(call, tool);
    const caller = asObject(item.caller) as FunctionCall["caller"];
    const common = { call_id: call.id, name, ...namespace, ...(caller && { caller }) };
    if (isCustom(call, tool))
      return { id, type: "custom_tool_call", input, ...common } satisfies Untrusted<CustomToolCall>;
    return {
      id,
      type: "function_call",
      status,
      arguments: input,
      ...common,
    } satisfies Untrusted<FunctionCall>;
  }

  /** Writes the item of a part that arrived complete: a generated image, a native part, a sound. */
  whole(messageId: string, index: number, part: ContentPart): WrittenItem {
    const type = getType(part);
    const fields: { readonly id?: unknown } = toFields(part, type);
    // If the response is not stored, the caller returns the item, and the provider knows only the id that it gave.
    const providerId = this.#isStored || part.part.case !== "native" ? undefined : asString(fields.id);
    return { ...fields, id: providerId ?? toItemId(type, messageId, index), type };
  }

  /**
   * Writes the carrier after the items of a message: a reasoning item with the state of its other parts, if there is
   * any and the caller has to return it.
   */
  carrier(messageId: string, content: readonly ContentPart[]): WrittenItem | undefined {
    const encrypted_content = this.#carriesState ? encodeOtherParts(content) : null;
    if (encrypted_content === null) return undefined;
    const id = toItemId("reasoning", messageId, content.length);
    return { id, type: "reasoning", summary: [], encrypted_content } satisfies Untrusted<ReasoningItem>;
  }
}

/**
 * Returns the status of the last item of an answer: incomplete if the answer is unfinished, but not if the model
 * refused. A turn that the provider paused ends between items: the next answer continues with other items.
 */
export function itemStatusAt(reason: FinishReason | undefined): ItemStatus {
  if (reason === undefined) return "completed";
  const isFiltered = reason.reason === Reason.CONTENT_FILTER && reason.raw !== "refusal";
  const isCut = isFiltered || reason.reason === Reason.LENGTH || reason.reason === Reason.ERROR;
  return isCut || (isUnfinished(reason) && !isPause(reason)) ? "incomplete" : "completed";
}

/** Creates a part. */
export function createPart(init: MessageInitShape<typeof ContentPartSchema>): ContentPart {
  return create(ContentPartSchema, init);
}

/** Returns the content of a message's item: a text with its sources, or the text of a refusal. */
export function getContent(part: ContentPart): WrittenContent {
  const text = part.part.case === "text" ? part.part.value : "";
  // Fields that only OpenAI's API has are in the provider state.
  const state = dataOfState(part.providerState);
  const phase = asString(objectIn(state.item).phase);
  if (part.refusal) return { annotations: [], part: { type: "refusal", refusal: text }, phase };
  const annotations = part.citations.length === 0 ? [] : toAnnotations(part, text);
  const { logprobs } = objectIn(state.part);
  const known = Array.isArray(logprobs) ? logprobs : [];
  return { annotations, part: { type: "output_text", annotations, logprobs: known, text }, phase };
}

/** A content part of a message, and the sources of its text. */
export interface WrittenContent {
  readonly part: object;
  readonly annotations: readonly object[];
  /** The phase of the message, which only OpenAI's API has. */
  readonly phase?: string | undefined;
}

/** Reports whether a call belongs to a custom tool, even if the provider treats it as a function call. */
export function isCustom({ input }: ToolCall, tool: CallerTool | undefined): boolean {
  return input.case === "text" || tool?.type === "custom";
}

/** Returns the input of a call in the form of its item. */
export function toInput({ input }: ToolCall, tool: CallerTool | undefined): string {
  const text = input.value ?? "";
  if (input.case === "text" || tool?.type !== "custom") return text;
  return readCustomInput(text) ?? text;
}

/**
 * Returns the type of a whole part's item. A part for which OpenAI's API has no type gets the type `provider:kind`, as
 * Open Responses requires.
 */
function getType({ part }: ContentPart): string {
  switch (part.case) {
    case "image":
      return "image_generation_call";
    case "native":
      return isOpenAiItem(part.value) ? part.value.kind : `${part.value.provider}:${part.value.kind}`;
    default:
      return `outrigger:${part.case ?? "empty"}`;
  }
}

function toFields({ part, providerState }: ContentPart, type: string): object {
  switch (part.case) {
    case "image":
      return imageFields(part.value, objectIn(dataOfState(providerState).item));
    case "native":
      if (part.value.kind === type) return asObject(tryParseJson(part.value.dataJson)) ?? {};
      return { status: "completed", data: tryParseJson(part.value.dataJson) };
    case "audio":
    case "document": {
      const { mediaType, source } = part.value;
      return { status: "completed", media_type: mediaType, ...sourceFields(source) };
    }
    default:
      return { status: "completed" };
  }
}

type Media = Extract<ContentPart["part"], { case: "image" | "audio" | "document" }>["value"];

/** @param item Further fields of the image from an API of OpenAI: its size, quality and so on. */
function imageFields({ mediaType, source }: Media, item: JsonObject): object {
  const format = mediaType.startsWith("image/") ? { output_format: mediaType.slice("image/".length) } : {};
  const result = source.case === "data" ? base64(source.value) : null;
  const elsewhere = source.case === "data" ? {} : sourceFields(source);
  const fields = { status: "completed", ...format, ...item, result };
  return { ...(fields satisfies Untrusted<ImageGenerationCall>), ...elsewhere };
}

function sourceFields(source: Media["source"]): object {
  switch (source.case) {
    case "data":
      return { data: base64(source.value) };
    case "url":
      return { url: source.value };
    default:
      return { file_id: textIn(source.value) };
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
