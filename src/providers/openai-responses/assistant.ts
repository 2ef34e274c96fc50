/** What the assistant said -> the items that it came as, in their order: reasoning stays before what it led to. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, Image, Message, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import type { Origin } from "../../kit/adapter/state-origin.ts";
import { type ToolCallNameRule, wireToolCallName } from "../../kit/adapter/tool-call-names.ts";
import { type JsonObject, objectsIn, tryParseJson, without } from "../../kit/json/json.ts";
import { mediaPart } from "./media.ts";
import { originOf, type PartState, readState } from "./state.ts";
import type { ResultContext } from "./tool-results.ts";
import { nativeBlock, type PlacedPart, placed } from "./user-content.ts";
import type { Item } from "./wire.ts";

/** What the translation of the assistant's messages needs. */
export interface AssistantContext extends ResultContext {
  /** Whether the provider keeps items, so that an id alone is enough to find them again. */
  readonly store: boolean;
}

/**
 * The items of one message of the assistant.
 * @param isLast Whether the turn ends with this message. Reasoning that nothing follows in its
 * turn, as an answer that was cut has it, is refused by the API and left out.
 * @throws InvalidRequestError naming a part that no assistant says.
 */
export async function assistantItems(
  message: Message,
  field: string,
  isLast: boolean,
  context: AssistantContext,
): Promise<Item[]> {
  const turn = new Turn(message, context);
  for (const part of placed(message.content, `${field}.content`)) await turn.add(part);
  if (isLast) turn.dropUnfinished(field);
  return turn.items;
}

const CALL_NAMES: ToolCallNameRule = { refused: /[^a-zA-Z0-9_-]/g, maxChars: 128 };

/** Collects the items of one message; content parts of one item come together again. */
class Turn {
  readonly items: Item[] = [];
  readonly #context: AssistantContext;
  readonly #keepsIds: boolean;
  /** The message that is open for further content. */
  #message: { key: string; content: JsonObject[] } | undefined;

  constructor({ content }: Message, context: AssistantContext) {
    this.#context = context;
    // An item whose id stands for reasoning that is not there is refused.
    this.#keepsIds = content.every(
      (part) => part.part.case !== "reasoning" || reasoningItem(part, context) !== undefined,
    );
  }

  async add(placedPart: PlacedPart): Promise<void> {
    const { part: whole, field } = placedPart;
    const { part } = whole;
    switch (part.case) {
      case "text":
        return this.#addText(part.value, whole);
      case "reasoning":
        return this.#addThinking(whole, field);
      case "toolCall":
        return this.#addCall(part.value, whole, `${field}.tool_call`);
      case "native":
        return this.#addNative(placedPart);
      case "image":
        return this.#addImage(part.value, placedPart);
      default:
        throw invalidField(
          field,
          `expected text, thinking, a tool call, an image or a native part, found ${part.case ?? "nothing"}`,
        );
    }
  }

  /** Drops reasoning at the end. @param field Path of the message, for the warning. */
  dropUnfinished(field: string): void {
    const end = this.items.findLastIndex(({ type }) => type !== "reasoning") + 1;
    if (end === this.items.length) return;
    this.items.length = end;
    const message = "reasoning that led to nothing cannot be sent back; it was left out";
    this.#context.loss.note(field, "foreign_state_stripped", message);
  }

  /** State that this API wrote; without the id where another model did, or reasoning before it is missing. */
  #stateOf(part: ContentPart): PartState | undefined {
    const origin = this.#originOf(part);
    if (origin === "none" || origin === "foreign") return undefined;
    const state = readState(part.providerState);
    if (state === undefined || (origin === "own" && this.#keepsIds)) return state;
    return { ...state, item: without(state.item, "id") };
  }

  #originOf(part: ContentPart): Origin {
    const { provider, request } = this.#context;
    return originOf(part, provider, request.model);
  }

  #addItem(item: Item): void {
    this.#message = undefined;
    this.items.push(item);
  }

  /** A text, with what the API attached to it. Sources that another provider named have no form here. */
  #addText(text: string, whole: ContentPart): void {
    const state = this.#stateOf(whole);
    if (state?.empty === true) return this.#startMessage(state, []);
    const rest = without(state?.part ?? {}, "logprobs");
    if (rest.type === "refusal") return this.#addContent(state, { ...rest, refusal: text });
    const annotations = state === undefined ? [] : annotationsOf(whole);
    this.#addContent(state, { type: "output_text", ...rest, text, annotations });
  }

  /** Adds a content part to the message that its state describes. */
  #addContent(state: PartState | undefined, part: JsonObject): void {
    if (this.#message?.key === keyOf(state)) this.#message.content.push(part);
    else this.#startMessage(state, [part]);
  }

  #startMessage(state: PartState | undefined, content: JsonObject[]): void {
    this.items.push({ type: "message", role: "assistant", ...state?.item, content });
    this.#message = { key: keyOf(state), content };
  }

  #addThinking(whole: ContentPart, field: string): void {
    const { request, loss } = this.#context;
    const item = reasoningItem(whole, this.#context);
    if (item !== undefined) return this.#addItem(item);
    if (this.#originOf(whole) === "own" && readState(whole.providerState) !== undefined) {
      const message = "reasoning without encrypted content cannot be sent back; it was left out";
      return loss.note(field, "foreign_state_stripped", message);
    }
    const { part } = replaceForeignPart(whole, request.foreignState, field, loss) ?? {};
    if (part?.case === "text") this.#addContent(undefined, outputText(part.value));
  }

  #addCall(call: ToolCall, whole: ContentPart, field: string): void {
    const { input } = call;
    const callId = this.#context.calls.add(call, field);
    const rest = this.#stateOf(whole)?.item;
    // What the API itself wrote it takes back.
    const name =
      rest === undefined
        ? wireToolCallName(call.name, CALL_NAMES, `${field}.name`, this.#context.loss)
        : call.name;
    const item = { ...rest, call_id: callId, name };
    if (input.case === "text") this.#addItem({ ...item, type: "custom_tool_call", input: input.value });
    else this.#addItem({ ...item, type: "function_call", arguments: input.value ?? "" });
  }

  /** A block of a hosted tool is an item; one with state is content of a message. */
  #addNative(placedPart: PlacedPart): void {
    const block = nativeBlock(placedPart, this.#context);
    if (block === undefined) return;
    const state = this.#stateOf(placedPart.part);
    if (state === undefined) this.#addItem(block);
    else this.#addContent(state, block);
  }

  /** A picture that the API made goes back as the call that made it, others as something that the user shows. */
  async #addImage(image: Image, { part, field }: PlacedPart): Promise<void> {
    // The API wants such an item with its id, whichever model made it.
    const state = this.#originOf(part) === "foreign" ? undefined : readState(part.providerState);
    if (state !== undefined && image.source.case === "data") {
      return this.#addItem({ ...state.item, result: Buffer.from(image.source.value).toString("base64") });
    }
    const message = "the Responses API takes no images from an assistant; it was sent as the user's";
    this.#context.loss.lose(field, "converted_content", message);
    const content = [await mediaPart({ case: "image", value: image }, `${field}.image`, this.#context)];
    this.#addItem({ type: "message", role: "user", content });
  }
}

/** The reasoning item of a thinking part, where the model that is asked wrote it and can take it back. */
function reasoningItem(
  part: ContentPart,
  { provider, request, store }: AssistantContext,
): JsonObject | undefined {
  if (originOf(part, provider, request.model) !== "own") return undefined;
  const item = readState(part.providerState)?.item;
  if (item === undefined) return undefined;
  // Without storage the API finds reasoning again only by its content.
  const isWhole = typeof item.encrypted_content === "string" || objectsIn(item.content).length > 0;
  return store || isWhole ? item : undefined;
}

function keyOf(state: PartState | undefined): string {
  return state?.key ?? "";
}

function outputText(text: string): JsonObject {
  return { type: "output_text", text, annotations: [] };
}

function annotationsOf({ citations }: ContentPart): readonly JsonObject[] {
  return objectsIn(citations.map(({ rawJson }) => tryParseJson(rawJson)));
}
