/** Parts of the assistant -> content blocks, each in the form that the API gave it, in the same order. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, NativePart, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { CUSTOM_INPUT } from "../../kit/adapter/custom-tool.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import type { ToolCallIdMapper } from "../../kit/adapter/tool-call-id-mapper.ts";
import { type ToolCallNameRule, wireToolCallName } from "../../kit/adapter/tool-call-names.ts";
import {
  asJson,
  asObject,
  asString,
  type JsonObject,
  parseObjectField,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import type { ToolUseBlockParam } from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toCitationParams } from "./citations.ts";
import { CONTAINER_KIND, isCode, type UsedContainer, usedContainer } from "./container.ts";
import type { RequestBlock, RequestContext } from "./context.ts";
import { imageBlock } from "./media.ts";
import { getOrigin, getStateBlock, isSameProvider } from "./state.ts";
import type { CallReference } from "./turns.ts";
import { textBlocks } from "./user-content.ts";

const CALL_NAMES: ToolCallNameRule = { refused: /[^a-zA-Z0-9_-]/g, maxChars: 128 };

/** The blocks of an assistant message, and facts for the rest of the request. */
export interface AssistantContent {
  readonly content: readonly RequestBlock[];
  /** Images, which the API accepts only from the user. */
  readonly images: readonly RequestBlock[];
  readonly calls: readonly CallReference[];
  /** Toolsets by the id of the call on the wire. */
  readonly toolsets: ReadonlyMap<string, string>;
  /** The container in which the provider ran code for this message; undefined if it names none. */
  readonly container: UsedContainer | undefined;
}

/**
 * Translates the parts of one assistant message.
 * @param field Path of the parts in the request.
 * @throws InvalidRequestError naming the part that the API has no form for.
 */
export async function toAssistantContent(
  parts: readonly ContentPart[],
  field: string,
  context: RequestContext,
  ids: ToolCallIdMapper,
): Promise<AssistantContent> {
  const writer = new AssistantWriter(context, ids);
  for (const [index, part] of parts.entries()) await writer.add(part, `${field}[${index}]`);
  return writer;
}

/**
 * Whether the model signs its thinking, as all of Anthropic's do. Other models with this API do not, and some servers
 * refuse a call of theirs without the thinking before it (Kimi).
 */
function isSigned({ traits }: RequestContext): boolean {
  return traits.reasoningControl !== "unknown";
}

/** Collects the blocks of one assistant message. */
class AssistantWriter implements AssistantContent {
  readonly content: RequestBlock[] = [];
  readonly images: RequestBlock[] = [];
  readonly calls: CallReference[] = [];
  readonly toolsets = new Map<string, string>();
  container: UsedContainer | undefined;
  readonly #context: RequestContext;
  readonly #ids: ToolCallIdMapper;
  #hasWaitingCode = false;

  constructor(context: RequestContext, ids: ToolCallIdMapper) {
    this.#context = context;
    this.#ids = ids;
  }

  async add(whole: ContentPart, field: string): Promise<void> {
    const { part } = whole;
    switch (part.case) {
      case "text":
        return this.#addText(part.value, whole);
      case "reasoning":
        return this.#addThinking(part.value.text, whole, field);
      case "toolCall":
        return this.#addToolCall(part.value, whole, field);
      case "native":
        return this.#addNative(part.value, whole, field);
      case "image":
        this.#context.loss.lose(
          field,
          "converted_content",
          "the Messages API does not accept images from the assistant; it was sent as the user's",
        );
        this.images.push(await imageBlock(part.value, `${field}.image`, this.#context));
        return;
      default:
        throw invalidField(
          field,
          `expected text, thinking, a tool call, an image or a native part, found ${part.case ?? "nothing"}`,
        );
    }
  }

  #addText(text: string, whole: ContentPart): void {
    const citations = toCitationParams(whole);
    const rest = getStateBlock(whole, this.#context.provider);
    for (const block of textBlocks(text))
      this.content.push({ ...block, ...rest, ...(citations.length === 0 ? {} : { citations }) });
  }

  #addThinking(text: string, whole: ContentPart, field: string): void {
    const { provider, request, loss } = this.#context;
    const block = getStateBlock(whole, provider);
    if (block === undefined || getOrigin(whole, provider, request.model) !== "current_model") {
      const replacement = replaceForeignPart(whole, request.foreignState, field, loss);
      if (replacement?.part.case === "text") this.content.push(...textBlocks(replacement.part.value));
    } else if (block.type === "redacted_thinking") {
      this.content.push(asJson(block));
    } else if (textIn(block.signature) === "" && isSigned(this.#context)) {
      const message = "thinking without its signature cannot be sent back; it was left out";
      loss.note(field, "foreign_state_stripped", message);
    } else {
      this.content.push({ type: "thinking", thinking: text, ...block });
    }
  }

  #addToolCall(call: ToolCall, whole: ContentPart, field: string): void {
    const rest = getStateBlock(whole, this.#context.provider) ?? {};
    const id = this.#ids.ofCall(call.id, `${field}.tool_call.id`);
    const name = wireToolCallName(call.name, CALL_NAMES, `${field}.tool_call.name`, this.#context.loss);
    const input = this.#toInput(call, `${field}.tool_call`);
    const block: Untrusted<ToolUseBlockParam> = { type: "tool_use", id, name, input, ...rest };
    this.content.push(block);
    this.calls.push({ id, field: `${field}.tool_call` });
    this.#hasWaitingCode ||= isCode(block.caller);
    const toolset = asString(block.toolset_name);
    if (toolset !== undefined) this.toolsets.set(id, toolset);
  }

  /** Returns the arguments exactly as the model wrote them; a value that is not a JSON object is wrapped in one. */
  #toInput({ input }: ToolCall, field: string): JsonObject {
    const text = input.value || "{}";
    if (input.case !== "text" && asObject(tryParseJson(text)) !== undefined) return sourceObject(text);
    const message = "the API accepts only JSON objects as input; other input was wrapped in one";
    this.#context.loss.note(field, "converted_content", message);
    return input.case === "text" ? { [CUSTOM_INPUT]: input.value } : { invalid_arguments: text };
  }

  #addNative({ provider, kind, dataJson }: NativePart, whole: ContentPart, field: string): void {
    const { provider: current, request, loss } = this.#context;
    if (!isSameProvider(provider, current)) {
      replaceForeignPart(whole, request.foreignState, field, loss);
      return;
    }
    const data = parseObjectField(dataJson, `${field}.native.data_json`);
    // The container comes after the calls of its message.
    if (kind === CONTAINER_KIND) this.container = usedContainer(data, this.#hasWaitingCode, field);
    else this.content.push(sourceObject(dataJson));
  }
}
