/**
 * Our messages -> `input` items and `instructions` (provider documentation: "Create a model
 * response", `input`). Items come in the order of the conversation, the same for the same
 * history in every turn, so that the provider's prompt cache finds the beginning again.
 */
import { type ContentPart, type Message, Role, type ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { replaceForeignPart } from "../../kit/foreign-state.ts";
import { asObject, type JsonObject, parseObjectField } from "../../kit/json.ts";
import type { LossReport } from "../../kit/loss-report.ts";
import { invalidField } from "../../spec/errors.ts";
import { textOf } from "../../spec/message.ts";
import { type MediaSource, mediaPart } from "./media.ts";
import { type Origin, originOf, type PartState, readState } from "./state.ts";
import { type Item, objectsIn, WIRE_NAME, without } from "./wire.ts";

/** The conversation in the provider's words. */
export interface Input {
  /** Text of the leading system and developer messages; undefined where there is none. */
  readonly instructions: string | undefined;
  readonly input: readonly Item[];
}

/** What the translation of a conversation needs beside the request. */
export interface InputContext {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly request: Request;
  readonly loss: LossReport;
  /** Whether the provider keeps items, so that an id alone is enough to find them again. */
  readonly store: boolean;
  /** Turns the source of an image or document into a URL, a data URL or a file id. */
  readonly media: MediaSource;
}

/** Translates the conversation. Throws InvalidRequestError naming the part that the API has no form for. */
export async function toInput(context: InputContext): Promise<Input> {
  const { messages } = context.request;
  const leading = leadingInstructions(messages);
  const callTypes = new Map<string, string>();
  const input: Item[] = [];
  for (const [index, message] of messages.entries()) {
    if (index < leading) continue;
    input.push(...(await itemsOf(message, `messages[${index}]`, context, callTypes)));
  }
  const texts = messages
    .slice(0, leading)
    .map(textOf)
    .filter((text) => text !== "");
  return { instructions: texts.length === 0 ? undefined : texts.join("\n\n"), input };
}

/**
 * How many messages go into `instructions`: the leading system and developer ones, unless
 * nothing else is there: the API wants at least one item. Later ones stay in their place, since
 * moving them would change what they mean.
 */
function leadingInstructions(messages: readonly Message[]): number {
  const first = messages.findIndex(({ role }) => role !== Role.SYSTEM && role !== Role.DEVELOPER);
  return Math.max(first, 0);
}

async function itemsOf(
  message: Message,
  field: string,
  context: InputContext,
  callTypes: Map<string, string>,
): Promise<Item[]> {
  if (message.name !== "" && message.role !== Role.TOOL) {
    context.loss.lose(
      `${field}.name`,
      "unsupported_setting",
      "the Responses API takes no names of speakers; it was left out",
    );
  }
  switch (message.role) {
    case Role.ASSISTANT:
      return assistantItems(message, field, context, callTypes);
    case Role.TOOL:
      return toolItems(message, field, context, callTypes);
    case Role.SYSTEM:
      return [
        {
          type: "message",
          role: "system",
          content: await inputParts(message.content, `${field}.content`, context),
        },
      ];
    case Role.DEVELOPER:
      return [
        {
          type: "message",
          role: "developer",
          content: await inputParts(message.content, `${field}.content`, context),
        },
      ];
    case Role.USER:
      return [
        {
          type: "message",
          role: "user",
          content: await inputParts(message.content, `${field}.content`, context),
        },
      ];
    default:
      throw invalidField(`${field}.role`, `expected a role of the contract, found ${message.role}`);
  }
}

/** Parts that the API takes as input: text, images, documents, and its own native parts. */
async function inputParts(
  parts: readonly ContentPart[],
  field: string,
  context: InputContext,
): Promise<JsonObject[]> {
  const converted: JsonObject[] = [];
  for (const [index, part] of parts.entries()) {
    const inputPart = await toInputPart(part, `${field}[${index}]`, context);
    if (inputPart !== undefined) converted.push(inputPart);
  }
  return converted;
}

async function toInputPart(
  whole: ContentPart,
  field: string,
  context: InputContext,
): Promise<JsonObject | undefined> {
  const { part } = whole;
  switch (part.case) {
    case "text":
      return { type: "input_text", text: part.value };
    case "image":
    case "document":
      return mediaPart(part, `${field}.${part.case}`, context.media);
    case "audio":
      throw invalidField(
        `${field}.audio`,
        "the Responses API takes no audio; use a provider that does, or send the text of it",
      );
    case "native":
      if (isOwnNative(part.value.provider, context))
        return parseObjectField(part.value.dataJson, `${field}.native.data_json`);
      replaceForeignPart(whole, context.request.foreignState, field, context.loss);
      return undefined;
    default:
      throw invalidField(
        field,
        `expected text, an image or a document here, found ${part.case ?? "nothing"}`,
      );
  }
}

function isOwnNative(provider: string, context: InputContext): boolean {
  return provider === context.provider || provider === WIRE_NAME;
}

async function toolItems(
  message: Message,
  field: string,
  context: InputContext,
  callTypes: Map<string, string>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (const [index, { part }] of message.content.entries()) {
    if (part.case !== "toolResult") continue;
    items.push(await outputItem(part.value, `${field}.content[${index}].tool_result`, context, callTypes));
  }
  if (items.length > 0) return items;
  const { toolCallId, content } = message;
  return [await outputItem({ toolCallId, content, isError: false }, field, context, callTypes)];
}

type Result = Pick<ToolResult, "toolCallId" | "content" | "isError">;

async function outputItem(
  result: Result,
  field: string,
  context: InputContext,
  callTypes: Map<string, string>,
): Promise<Item> {
  const type =
    callTypes.get(result.toolCallId) === "custom" ? "custom_tool_call_output" : "function_call_output";
  const parts = await inputParts(result.content, `${field}.content`, context);
  if (result.isError) {
    parts.unshift({ type: "input_text", text: ERROR_MARK });
    context.loss.note(
      `${field}.is_error`,
      "converted_content",
      "the Responses API has no error flag; the result says it in its text",
    );
  }
  return { type, call_id: result.toolCallId, output: outputOf(parts) };
}

/** Goes before the text of a tool that failed. Constant, so that the prompt cache finds it again. */
const ERROR_MARK = "The tool failed:";

/** A single text goes as a string, which every compatible server takes; the rest as a list. */
function outputOf(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const texts = parts.map((part) => part.text);
  if (parts.length === 0) return "";
  if (parts.length === 1 && typeof texts[0] === "string") return texts[0];
  if (parts.length === 2 && texts[0] === ERROR_MARK && typeof texts[1] === "string")
    return `${ERROR_MARK} ${texts[1]}`;
  return parts;
}

/** The items of an assistant turn, in the order of its parts: reasoning must stay before what it led to. */
async function assistantItems(
  message: Message,
  field: string,
  context: InputContext,
  callTypes: Map<string, string>,
): Promise<Item[]> {
  const items: AssistantItems = new AssistantItems();
  for (const [index, part] of message.content.entries()) {
    await addAssistantPart(items, part, `${field}.content[${index}]`, context, callTypes);
  }
  return items.list;
}

async function addAssistantPart(
  items: AssistantItems,
  whole: ContentPart,
  field: string,
  context: InputContext,
  callTypes: Map<string, string>,
): Promise<void> {
  const { part } = whole;
  const origin = originOf(whole, context.provider, context.request.model);
  const state = origin === "none" || origin === "foreign" ? undefined : readState(whole.providerState);
  switch (part.case) {
    case "text":
      return items.addText(part.value, whole, origin === "own" ? state : withoutId(state));
    case "thinking":
      return addThinking(items, whole, field, origin, state, context);
    case "toolCall": {
      const { id, name, argumentsJson, type } = part.value;
      callTypes.set(id, type);
      const rest = (origin === "own" ? state : withoutId(state))?.item ?? {};
      items.add(callItem(rest, id, name, argumentsJson, type));
      return;
    }
    case "native":
      return addNative(items, whole, part.value.provider, part.value.dataJson, field, state, context);
    case "image":
      if (state !== undefined && part.value.source.case === "data") {
        items.add({ ...state.item, result: Buffer.from(part.value.source.value).toString("base64") });
        return;
      }
      context.loss.lose(
        field,
        "converted_content",
        "the Responses API takes no images from an assistant; it was sent as the user's",
      );
      items.add({
        type: "message",
        role: "user",
        content: [await mediaPart(part, `${field}.image`, context.media)],
      });
      return;
    default:
      throw invalidField(
        field,
        `expected text, thinking, a tool call, an image or a native part, found ${part.case ?? "nothing"}`,
      );
  }
}

function callItem(rest: Item, id: string, name: string, input: string, type: string): Item {
  return type === "custom"
    ? { ...rest, type: "custom_tool_call", call_id: id, name, input }
    : { ...rest, type: "function_call", call_id: id, name, arguments: input };
}

/**
 * Ids belong to reasoning that another model wrote and that is left out: an item that names
 * reasoning which is not there is refused.
 */
function withoutId(state: PartState | undefined): PartState | undefined {
  return state === undefined ? undefined : { ...state, item: without(state.item, "id") };
}

function addThinking(
  items: AssistantItems,
  whole: ContentPart,
  field: string,
  origin: Origin,
  state: PartState | undefined,
  context: InputContext,
): void {
  if (origin === "own" && state !== undefined) {
    if (canBeResolved(state.item, context.store)) items.add(state.item);
    else
      context.loss.note(
        field,
        "foreign_state_stripped",
        "reasoning without encrypted content cannot be sent back; it was left out",
      );
    return;
  }
  const text = replaceForeignPart(whole, context.request.foreignState, field, context.loss);
  if (text?.part.case === "text") items.addText(text.part.value, text, undefined);
}

/** Without storage the API finds reasoning again only by its content. */
function canBeResolved(item: Item, store: boolean): boolean {
  return store || typeof item.encrypted_content === "string" || objectsIn(item.content).length > 0;
}

function addNative(
  items: AssistantItems,
  whole: ContentPart,
  provider: string,
  dataJson: string,
  field: string,
  state: PartState | undefined,
  context: InputContext,
): void {
  if (!isOwnNative(provider, context)) {
    replaceForeignPart(whole, context.request.foreignState, field, context.loss);
    return;
  }
  const block = parseObjectField(dataJson, `${field}.native.data_json`);
  if (state === undefined) items.add(block);
  else items.addContent(state.item, block);
}

/** Collects the items of one assistant turn; content parts of one message come together again. */
class AssistantItems {
  readonly list: Item[] = [];
  #message: { key: string; content: JsonObject[] } | undefined;

  /** Adds a whole item. */
  add(item: Item): void {
    this.#message = undefined;
    this.list.push(item);
  }

  /** Adds a text part, with what the API attached to it. */
  addText(text: string, { citations }: ContentPart, state: PartState | undefined): void {
    if (state?.empty === true) return this.#startMessage(state.item, []);
    const annotations = citations.flatMap(({ rawJson }) => annotationOf(rawJson));
    const rest = without(state?.part ?? {}, "logprobs");
    const part =
      rest.type === "refusal"
        ? { ...rest, refusal: text }
        : { type: "output_text", ...rest, text, annotations };
    this.addContent(state?.item ?? {}, part);
  }

  /** Adds a content part to the message that its item's fields describe. */
  addContent(item: Item, part: JsonObject): void {
    if (this.#message?.key === keyOf(item)) this.#message.content.push(part);
    else this.#startMessage(item, [part]);
  }

  #startMessage(item: Item, content: JsonObject[]): void {
    this.list.push({ type: "message", role: "assistant", ...item, content });
    this.#message = { key: keyOf(item), content };
  }
}

function keyOf(item: Item): string {
  return typeof item.id === "string" ? item.id : "";
}

function annotationOf(rawJson: string): JsonObject[] {
  const annotation = rawJson === "" ? undefined : asObject(JSON.parse(rawJson));
  return annotation === undefined ? [] : [annotation];
}
