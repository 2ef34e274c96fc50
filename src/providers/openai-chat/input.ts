/**
 * Our messages -> `messages` (provider documentation: "Create chat completion"). They keep the order of the
 * conversation and are the same for the same history in every turn, so that a prompt cache recognizes their beginning.
 */

import { invalidField } from "../../core/errors.ts";
import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import type {
  DeveloperMessageParam,
  MessageParam,
  SystemMessageParam,
  UserMessageParam,
} from "../../wire/openai-chat/request.ts";
import { toAssistantMessage } from "./assistant.ts";
import type { RequestContext } from "./context.ts";
import { ToolResults, toToolMessage } from "./tool-results.ts";
import { simplifyContent, toUserContent } from "./user-content.ts";

/** Translates the conversation. Throws InvalidRequestError naming the part that the server has no form for. */
export async function toConversation(context: RequestContext): Promise<MessageParam[]> {
  const { messages } = context.request;
  const results = new ToolResults(messages, context.loss);
  const conversation: MessageParam[] = [];
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    if (role === Role.TOOL) results.checkTaken(index);
    else if (role === Role.ASSISTANT)
      for (const sent of await toTurn(message, index, results, context)) conversation.push(sent);
    else conversation.push(await plainMessage(message, `messages[${index}]`, context));
  }
  return conversation;
}

/** A message that the model did not write. */
type PlainMessageParam = SystemMessageParam | DeveloperMessageParam | UserMessageParam;

async function plainMessage(
  message: Message,
  field: string,
  context: RequestContext,
): Promise<PlainMessageParam> {
  const role = getRoleName(message.role, field, context);
  const content = await toUserContent(message.content, `${field}.content`, context);
  return { role, ...getName(message.name, field, context), content: simplifyContent(content) };
}

function getRoleName(role: Role, field: string, { profile }: RequestContext): PlainMessageParam["role"] {
  switch (role) {
    case Role.SYSTEM:
      return "system";
    case Role.DEVELOPER:
      return profile.systemRole;
    case Role.USER:
      return "user";
    default:
      throw invalidField(`${field}.role`, `expected a role of the contract, found ${role}`);
  }
}

function getName(name: string, field: string, { profile, loss }: RequestContext): { name?: string } {
  if (name === "") return {};
  if (profile.supportsNames) return { name };
  loss.lose(
    `${field}.name`,
    "unsupported_setting",
    "the server takes no names of participants; it was left out",
  );
  return {};
}

/** Returns an assistant message, the results of its calls, and a user message with the parts that neither can hold. */
async function toTurn(
  message: Message,
  index: number,
  results: ToolResults,
  context: RequestContext,
): Promise<MessageParam[]> {
  const field = `messages[${index}]`;
  const name = getName(message.name, field, context).name ?? "";
  const assistant = await toAssistantMessage({ ...message, name }, field, context);
  const turn: MessageParam[] = assistant.message === undefined ? [] : [assistant.message];
  const moved = [...assistant.moved];
  for (const result of results.take(assistant.calls, index)) {
    const tool = await toToolMessage(result, context);
    turn.push(tool.message);
    for (const part of tool.moved) moved.push(part);
  }
  if (moved.length > 0) turn.push({ role: "user", content: moved });
  return turn;
}
