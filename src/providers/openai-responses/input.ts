/**
 * Our messages -> `input` items and `instructions` (provider documentation: "Create a model response", `input`). Items
 * come in the order of the conversation, the same for the same history in every turn, so that the provider's prompt
 * cache recognizes the beginning.
 */

import { invalidField } from "../../core/errors.ts";
import { textOf } from "../../core/message.ts";
import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { InputMessage, InputText } from "../../wire/openai-responses/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toAssistantItems } from "./assistant.ts";
import type { RequestContext } from "./context.ts";
import { toResultItems } from "./tool-results.ts";
import { isItem, type PartWithPath, toUserContent, withPaths } from "./user-content.ts";

/** A conversation in the provider's form. */
export interface Conversation {
  /** Text of the leading system and developer messages; undefined if there is none. */
  readonly instructions: string | undefined;
  /** The items of `input`. */
  readonly input: JsonObject[];
  /**
   * The fields that the items were written from: `messages[2].content[1]`. Undefined for several parts of one message.
   */
  readonly fields: (string | undefined)[];
}

/**
 * Translates the conversation. Returns a promise only if messages hold more than texts.
 * @throws InvalidRequestError, at once or by the promise, naming the part that the API has no form for.
 */
export function toConversation(context: RequestContext): Promise<Conversation> | Conversation {
  const { messages } = context.request;
  const instructing = countInstructions(messages);
  const instructions = instructing === 0 ? undefined : joinTexts(messages.slice(0, instructing));
  const conversation: Conversation = { instructions, input: [], fields: [] };
  for (const [index, message] of messages.entries()) {
    const item = index < instructing ? undefined : toTextItem(message);
    if (index >= instructing && item === undefined) return addMessages(conversation, index, context);
    if (message.name !== "") checkName(message, index, context);
    if (item === undefined) continue;
    conversation.input.push(item);
    conversation.fields.push(`messages[${index}]`);
  }
  return conversation;
}

function joinTexts(messages: readonly Message[]): string | undefined {
  const texts = messages.map(textOf);
  return texts.filter((text) => text !== "").join("\n\n") || undefined;
}

/** Adds the messages from an index on. Returns the conversation. */
async function addMessages(
  conversation: Conversation,
  start: number,
  context: RequestContext,
): Promise<Conversation> {
  const { messages } = context.request;
  const { input, fields } = conversation;
  for (const [index, message] of messages.entries()) {
    if (index < start) continue;
    if (message.name !== "") checkName(message, index, context);
    const field = `messages[${index}]`;
    const isLast = messages[index + 1]?.role !== Role.ASSISTANT;
    const items = await getItems(message, field, isLast, context);
    for (const item of items) input.push(item);
    if (items.length === 1) fields.push(field);
    else
      for (const item of items.keys())
        fields.push(items.length === message.content.length ? `${field}.content[${item}]` : undefined);
  }
  return conversation;
}

function checkName({ role }: Message, index: number, { loss }: RequestContext): void {
  if (role !== Role.TOOL) loss.lose(`messages[${index}].name`, "unsupported_setting", NO_NAMES);
}

const NO_NAMES = "the Responses API does not support names of participants; it was left out";

/**
 * Counts the messages that go into `instructions`: the leading system and developer messages that hold only text,
 * unless there are no others, since the API requires at least one item. Later ones stay in their place: moving them
 * would change their meaning.
 */
function countInstructions(messages: readonly Message[]): number {
  for (const [index, { role, content }] of messages.entries()) {
    const instructs = role === Role.SYSTEM || role === Role.DEVELOPER;
    if (!instructs || content.some(({ part }) => part.case !== "text")) return index;
  }
  return 0;
}

/** @param isLast Whether the assistant's turn ends with this message. */
async function getItems(
  message: Message,
  field: string,
  isLast: boolean,
  context: RequestContext,
): Promise<JsonObject[]> {
  switch (message.role) {
    case Role.ASSISTANT:
      return toAssistantItems(message, field, isLast, context);
    case Role.TOOL:
      return toResultItems(message, field, context);
    default:
      return messageItems(message, field, context);
  }
}

/** The API's words for the roles whose messages have parts in any order. */
const ROLE_WORDS: ReadonlyMap<Role, InputMessage["role"]> = new Map([
  [Role.SYSTEM, "system"],
  [Role.DEVELOPER, "developer"],
  [Role.USER, "user"],
]);

/** Returns a message of any role except the assistant's, with items between its parts if there are any. */
async function messageItems(
  { role: spokenBy, content }: Message,
  field: string,
  context: RequestContext,
): Promise<JsonObject[]> {
  const role = ROLE_WORDS.get(spokenBy);
  if (role === undefined)
    throw invalidField(`${field}.role`, `expected a role of the contract, found ${spokenBy}`);
  const items: JsonObject[] = [];
  let parts: PartWithPath[] = [];
  for (const part of withPaths(content, `${field}.content`)) {
    if (!isItem(part.part, context)) {
      parts.push(part);
      continue;
    }
    items.push(...(await messageItem(role, parts, context)), ...(await toUserContent([part], context)));
    parts = [];
  }
  return [...items, ...(await messageItem(role, parts, context))];
}

/** Returns the item of a message of text alone, which most are, except the assistant's. Undefined for any other. */
function toTextItem({ role: spokenBy, content }: Message): JsonObject | undefined {
  const role = ROLE_WORDS.get(spokenBy);
  if (role === undefined || content.length === 0) return undefined;
  const texts: JsonObject[] = [];
  for (const { part } of content) {
    if (part.case !== "text") return undefined;
    texts.push({ type: "input_text", text: part.value } satisfies InputText);
  }
  return { type: "message", role, content: texts } satisfies Untrusted<InputMessage>;
}

async function messageItem(
  role: InputMessage["role"],
  parts: readonly PartWithPath[],
  context: RequestContext,
): Promise<JsonObject[]> {
  const content = await toUserContent(parts, context);
  return content.length === 0 ? [] : [{ type: "message", role, content } satisfies Untrusted<InputMessage>];
}
