/**
 * Our messages -> `input` items and `instructions` (provider documentation: "Create a model
 * response", `input`). Items come in the order of the conversation, the same for the same
 * history in every turn, so that the provider's prompt cache finds the beginning again.
 */

import { invalidField } from "../../core/errors.ts";
import { textOf } from "../../core/message.ts";
import { type ContentPart, type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import { type AssistantContext, assistantItems } from "./assistant.ts";
import { Calls } from "./tool-call-ids.ts";
import { resultItems } from "./tool-results.ts";
import { inputParts, isItem, type PlacedPart, placed } from "./user-content.ts";
import type { Item } from "./wire.ts";

/** The conversation in the provider's words. */
export interface Input {
  /** Text of the leading system and developer messages; undefined where there is none. */
  readonly instructions: string | undefined;
  readonly input: readonly Item[];
}

/** What the translation of a conversation needs beside the request. */
export type InputContext = Omit<AssistantContext, "calls">;

/** Translates the conversation. Throws InvalidRequestError naming the part that the API has no form for. */
export async function toInput(given: InputContext): Promise<Input> {
  const context = { ...given, calls: new Calls(given.loss) };
  const { messages } = context.request;
  const leading = leadingInstructions(messages);
  const input: Item[] = [];
  for (const [index, message] of messages.entries()) {
    const field = `messages[${index}]`;
    reportName(message, field, context);
    if (index < leading) continue;
    const isLast = messages[index + 1]?.role !== Role.ASSISTANT;
    input.push(...(await itemsOf(message, field, isLast, context)));
  }
  const texts = messages
    .slice(0, leading)
    .map(textOf)
    .filter((text) => text !== "");
  return { instructions: texts.length === 0 ? undefined : texts.join("\n\n"), input };
}

/**
 * How many messages go into `instructions`: the leading system and developer ones that hold only
 * text, unless nothing else is there: the API wants at least one item. Later ones stay in their
 * place, since moving them would change what they mean.
 */
function leadingInstructions(messages: readonly Message[]): number {
  const first = messages.findIndex(({ role, content }) => !isInstructing(role) || !content.every(isText));
  return Math.max(first, 0);
}

function isInstructing(role: Role): boolean {
  return role === Role.SYSTEM || role === Role.DEVELOPER;
}

function isText({ part }: ContentPart): boolean {
  return part.case === "text";
}

function reportName({ name, role }: Message, field: string, { loss }: InputContext): void {
  if (name === "" || role === Role.TOOL) return;
  const message = "the Responses API takes no names of speakers; it was left out";
  loss.lose(`${field}.name`, "unsupported_setting", message);
}

/** @param isLast Whether the assistant's turn ends with this message. */
async function itemsOf(
  message: Message,
  field: string,
  isLast: boolean,
  context: AssistantContext,
): Promise<Item[]> {
  switch (message.role) {
    case Role.ASSISTANT:
      return assistantItems(message, field, isLast, context);
    case Role.TOOL:
      return resultItems(message, field, context);
    case Role.SYSTEM:
      return messageItems("system", message, field, context);
    case Role.DEVELOPER:
      return messageItems("developer", message, field, context);
    case Role.USER:
      return messageItems("user", message, field, context);
    default:
      throw invalidField(`${field}.role`, `expected a role of the contract, found ${message.role}`);
  }
}

/** What somebody other than the model said: a message, with items between its parts where there are such. */
async function messageItems(
  role: string,
  { content }: Message,
  field: string,
  context: AssistantContext,
): Promise<Item[]> {
  const items: Item[] = [];
  let said: PlacedPart[] = [];
  for (const part of placed(content, `${field}.content`)) {
    if (!isItem(part.part, context)) {
      said.push(part);
      continue;
    }
    items.push(...(await messageItem(role, said, context)), ...(await inputParts([part], context)));
    said = [];
  }
  return [...items, ...(await messageItem(role, said, context))];
}

async function messageItem(
  role: string,
  parts: readonly PlacedPart[],
  context: AssistantContext,
): Promise<Item[]> {
  const content = await inputParts(parts, context);
  return content.length === 0 ? [] : [{ type: "message", role, content }];
}
