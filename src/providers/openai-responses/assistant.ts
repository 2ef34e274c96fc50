/**
 * The assistant's messages -> the items that they came from, in order: reasoning stays before the output that it led
 * to.
 */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, Image, Message, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import type { Origin } from "../../kit/adapter/state-origin.ts";
import { type ToolCallNameRule, wireToolCallName } from "../../kit/adapter/tool-call-names.ts";
import { asJson, asObject, type JsonObject, textIn, without } from "../../kit/json/json.ts";
import type { CustomToolCall, FunctionCall, OutputText, Refusal } from "../../wire/openai-responses/items.ts";
import type {
  AssistantMessage,
  ImageGenerationInput,
  InputMessage,
} from "../../wire/openai-responses/request.ts";
import type { OutputItem } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toAnnotations } from "./citations.ts";
import type { RequestContext } from "./context.ts";
import { mediaPart } from "./media.ts";
import { isSelfContained, toReasoningItem } from "./reasoning.ts";
import { getOrigin, type PartState, readState } from "./state.ts";
import { nativeBlock, type PartWithPath, withPaths } from "./user-content.ts";

/**
 * Returns the items of one message of the assistant.
 * @param isLast Whether the turn ends with this message. The API refuses reasoning that nothing follows in its turn,
 *   which a cut answer has, so such reasoning is left out.
 * @throws InvalidRequestError naming a part that an assistant's message cannot have.
 */
export async function toAssistantItems(
  message: Message,
  field: string,
  isLast: boolean,
  context: RequestContext,
): Promise<JsonObject[]> {
  const builder = new ItemsBuilder(message, context);
  for (const part of withPaths(message.content, `${field}.content`)) await builder.add(part);
  if (isLast) builder.dropTrailingReasoning(field);
  return builder.items;
}

const CALL_NAMES: ToolCallNameRule = { refused: /[^a-zA-Z0-9_-]/g, maxChars: 128 };

/** Collects the items of one message; content parts of one item are joined again. */
class ItemsBuilder {
  readonly items: JsonObject[] = [];
  readonly #context: RequestContext;
  readonly #keepsIds: boolean;
  /** The message that is open for further content. */
  #message: { key: string; content: JsonObject[] } | undefined;

  constructor({ content }: Message, context: RequestContext) {
    this.#context = context;
    this.#keepsIds = !content.some(isReasoning) || content.every((part) => this.#hasId(part));
  }

  /**
   * Reports whether an item has an id: the API refuses reasoning with an id alongside items without, and the reverse.
   */
  #hasId(part: ContentPart): boolean {
    // Other parts have no id, or one that refers to no reasoning.
    if (!isReasoning(part) && part.part.case !== "text" && part.part.case !== "toolCall") return true;
    const item = isReasoning(part)
      ? toReasoningItem(part, this.#context)
      : this.#getOrigin(part) === "current_model" && readState(part.providerState)?.item;
    return item !== undefined && item !== false && textIn(item.id) !== "";
  }

  async add(partWithPath: PartWithPath): Promise<void> {
    const { part: contentPart, field } = partWithPath;
    const { part } = contentPart;
    switch (part.case) {
      case "text":
        return this.#addText(part.value, contentPart);
      case "reasoning":
        return this.#addReasoning(contentPart, field);
      case "toolCall":
        return this.#addCall(part.value, contentPart, `${field}.tool_call`);
      case "native":
        return this.#addNative(partWithPath);
      case "image":
        return this.#addImage(part.value, partWithPath);
      default:
        throw invalidField(
          field,
          `expected text, reasoning, a tool call, an image or a native part, found ${part.case ?? "nothing"}`,
        );
    }
  }

  /** Drops reasoning at the end. @param field Path of the message, for the warning. */
  dropTrailingReasoning(field: string): void {
    const end = this.items.findLastIndex(({ type }: Untrusted<OutputItem>) => type !== "reasoning") + 1;
    if (end === this.items.length) return;
    this.items.length = end;
    const message = "reasoning without any output after it cannot be sent back; it was left out";
    this.#context.loss.note(field, "foreign_state_stripped", message);
  }

  /**
   * Returns the state that this API wrote; without the id if another model wrote it, or reasoning before it is missing.
   */
  #toState(part: ContentPart): PartState | undefined {
    const origin = this.#getOrigin(part);
    if (origin === "none" || origin === "foreign") return undefined;
    const state = readState(part.providerState);
    if (state === undefined || (origin === "current_model" && this.#keepsIds)) return state;
    return { ...state, item: without(state.item, "id") };
  }

  #getOrigin(part: ContentPart): Origin {
    const { provider, request } = this.#context;
    return getOrigin(part, provider, request.model);
  }

  #addItem(item: JsonObject): void {
    this.#message = undefined;
    this.items.push(item);
  }

  /** Adds a text, with the API's annotations. Sources that another provider named have no form here. */
  #addText(text: string, contentPart: ContentPart): void {
    const state = this.#toState(contentPart);
    if (state?.empty === true) return this.#startMessage(state, []);
    const rest = without(state?.part ?? {}, "logprobs");
    if (state?.part?.type === "refusal") {
      const refusal = { refusal: text } satisfies Partial<Refusal>;
      return this.#addContent(state, { ...rest, ...refusal });
    }
    const annotations = state === undefined ? [] : toAnnotations(contentPart);
    this.#addContent(state, outputText(text, annotations, rest));
  }

  /** Adds a content part to the message that its state describes. */
  #addContent(state: PartState | undefined, part: JsonObject): void {
    if (this.#message?.key === toKey(state)) this.#message.content.push(part);
    else this.#startMessage(state, [part]);
  }

  #startMessage(state: PartState | undefined, content: JsonObject[]): void {
    const item = asJson(state?.item ?? {});
    this.items.push({
      type: "message",
      role: "assistant",
      ...item,
      content,
    } satisfies Untrusted<AssistantMessage>);
    this.#message = { key: toKey(state), content };
  }

  #addReasoning(contentPart: ContentPart, field: string): void {
    const { request, loss } = this.#context;
    const item = toReasoningItem(contentPart, this.#context);
    // Reasoning without content is found by its id alone.
    const needsId = item !== undefined && !isSelfContained(item);
    if (item !== undefined) return this.#addItem(this.#keepsIds || needsId ? item : without(item, "id"));
    if (
      this.#getOrigin(contentPart) === "current_model" &&
      readState(contentPart.providerState) !== undefined
    ) {
      const message = "reasoning without encrypted content cannot be sent back; it was left out";
      return loss.note(field, "foreign_state_stripped", message);
    }
    const { part } = replaceForeignPart(contentPart, request.foreignState, field, loss) ?? {};
    if (part?.case === "text") this.#addContent(undefined, outputText(part.value));
  }

  #addCall(call: ToolCall, contentPart: ContentPart, field: string): void {
    const { input } = call;
    const state = this.#toState(contentPart);
    const call_id = this.#context.getToolCallIds().ofCall(call, field, asObject(state?.item.caller));
    // The API accepts every name that it wrote itself.
    const name =
      state === undefined
        ? wireToolCallName(call.name, CALL_NAMES, `${field}.name`, this.#context.loss)
        : call.name;
    const fields =
      input.case === "text"
        ? ({ call_id, name, type: "custom_tool_call", input: input.value } satisfies CustomToolCall)
        : ({ call_id, name, type: "function_call", arguments: input.value ?? "" } satisfies FunctionCall);
    this.#addItem({ ...asJson(state?.item ?? {}), ...fields });
  }

  /** Adds a native part: a block of a hosted tool is an item; one with state is content of a message. */
  #addNative(partWithPath: PartWithPath): void {
    const block = nativeBlock(partWithPath, this.#context);
    if (block === undefined) return;
    const state = this.#toState(partWithPath.part);
    if (state === undefined) this.#addItem(block);
    else this.#addContent(state, block);
  }

  /**
   * Adds an image: one that the API generated goes back as the call that generated it, others in a message of the user.
   */
  async #addImage(image: Image, { part, field }: PartWithPath): Promise<void> {
    // The API requires the id of such an item, whichever model generated it.
    const state = this.#getOrigin(part) === "foreign" ? undefined : readState(part.providerState);
    if (state !== undefined && image.source.case === "data") {
      const result = Buffer.from(image.source.value).toString("base64");
      return this.#addItem({
        ...asJson(state.item),
        ...({ result } satisfies Partial<ImageGenerationInput>),
      });
    }
    const message = "the Responses API does not accept images from the assistant; it was sent as the user's";
    this.#context.loss.lose(field, "converted_content", message);
    const content = [await mediaPart({ case: "image", value: image }, `${field}.image`, this.#context)];
    this.#addItem({ type: "message", role: "user", content } satisfies Untrusted<InputMessage>);
  }
}

function isReasoning({ part }: ContentPart): boolean {
  return part.case === "reasoning";
}

function toKey(state: PartState | undefined): string {
  return state?.key ?? "";
}

/** @param rest Further fields that the API wrote. */
function outputText(
  text: string,
  annotations: readonly JsonObject[] = [],
  rest: JsonObject = {},
): JsonObject {
  return { type: "output_text", ...rest, text, annotations } satisfies Untrusted<OutputText>;
}
