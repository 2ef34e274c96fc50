/** Parts of the assistant -> content blocks, each as the API once gave it, in its place. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, NativePart, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import { type ToolCallNameRule, wireToolCallName } from "../../kit/adapter/tool-call-names.ts";
import {
  asObject,
  asString,
  type JsonObject,
  parseObjectField,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import type { InputContext } from "./context.ts";
import { isOwnProvider, originOf, stateBlockOf } from "./state.ts";
import type { ToolIds } from "./tool-call-ids.ts";
import type { CallPlace } from "./turns.ts";
import { imageBlock, textBlocks } from "./user-content.ts";
import type { Block } from "./wire.ts";

/** Kind of the native part that tells in which container the provider's code waits. It is no block. */
export const CONTAINER_KIND = "container";

const CALL_NAMES: ToolCallNameRule = { refused: /[^a-zA-Z0-9_-]/g, maxChars: 128 };

/** Collects the blocks of one assistant message. */
export class AssistantBlocks {
  readonly content: Block[] = [];
  /** Pictures, which the API takes only from the user. */
  readonly pictures: Block[] = [];
  readonly calls: CallPlace[] = [];
  /** Toolsets by the id of the call on the wire. */
  readonly toolsets = new Map<string, string>();
  /** The container in which the provider's code waits for results; undefined where none does. */
  container: string | undefined;
  readonly #context: InputContext;
  readonly #ids: ToolIds;

  constructor(context: InputContext, ids: ToolIds) {
    this.#context = context;
    this.#ids = ids;
  }

  /** Adds a part. Throws InvalidRequestError where the API has no form for it. @param field Path of the part. */
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
          "the Messages API takes no images from an assistant; it was sent as the user's",
        );
        this.pictures.push(await imageBlock(part.value, `${field}.image`, this.#context));
        return;
      default:
        throw invalidField(
          field,
          `expected text, thinking, a tool call, an image or a native part, found ${part.case ?? "nothing"}`,
        );
    }
  }

  #addText(text: string, whole: ContentPart): void {
    const citations = whole.citations.flatMap(({ rawJson }) => citationOf(rawJson));
    const rest = stateBlockOf(whole, this.#context.provider);
    for (const block of textBlocks(text))
      this.content.push({ ...block, ...rest, ...(citations.length === 0 ? {} : { citations }) });
  }

  #addThinking(text: string, whole: ContentPart, field: string): void {
    const { provider, request, loss } = this.#context;
    const block = stateBlockOf(whole, provider);
    if (block === undefined || originOf(whole, provider, request.model) !== "own") {
      const shown = replaceForeignPart(whole, request.foreignState, field, loss);
      if (shown?.part.case === "text") this.content.push(...textBlocks(shown.part.value));
    } else if (block.type === "redacted_thinking") {
      this.content.push(block);
    } else if (textIn(block.signature) === "") {
      const message = "thinking without its signature cannot be sent back; it was left out";
      loss.note(field, "foreign_state_stripped", message);
    } else {
      this.content.push({ type: "thinking", thinking: text, ...block });
    }
  }

  #addToolCall(call: ToolCall, whole: ContentPart, field: string): void {
    const rest = stateBlockOf(whole, this.#context.provider) ?? {};
    const id = this.#ids.ofCall(call.id, field);
    const name = wireToolCallName(call.name, CALL_NAMES, `${field}.tool_call.name`, this.#context.loss);
    this.content.push({ type: "tool_use", id, name, input: this.#inputOf(call, field), ...rest });
    this.calls.push({ id, field: `${field}.tool_call` });
    const toolset = asString(rest.toolset_name);
    if (toolset !== undefined) this.toolsets.set(id, toolset);
  }

  /** The arguments letter by letter; what is no JSON object is put into one. */
  #inputOf({ input }: ToolCall, field: string): JsonObject {
    const text = input.value || "{}";
    if (input.case !== "text" && asObject(tryParseJson(text)) !== undefined) return sourceObject(text);
    this.#note(`${field}.tool_call`, "input that is not a JSON object was sent as the text of one");
    return input.case === "text" ? { input: input.value } : { invalid_arguments: text };
  }

  #addNative({ provider, kind, dataJson }: NativePart, whole: ContentPart, field: string): void {
    const { provider: own, request, loss } = this.#context;
    if (!isOwnProvider(provider, own)) {
      replaceForeignPart(whole, request.foreignState, field, loss);
      return;
    }
    const block = parseObjectField(dataJson, `${field}.native.data_json`);
    if (kind === CONTAINER_KIND) this.container = asString(block.id);
    else this.content.push(sourceObject(dataJson));
  }

  #note(field: string, message: string): void {
    this.#context.loss.note(field, "converted_content", message);
  }
}

/** Kinds of citation that the API takes back with a text (provider documentation: "Citations"). */
const CITATION_TYPES = new Set([
  "char_location",
  "page_location",
  "content_block_location",
  "search_result_location",
  "web_search_result_location",
]);

function citationOf(rawJson: string): JsonObject[] {
  const citation = rawJson === "" ? undefined : asObject(tryParseJson(rawJson));
  return citation !== undefined && CITATION_TYPES.has(textIn(citation.type)) ? [citation] : [];
}
