/** Constructors of messages, and accessors for a model's output. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ContentPart,
  type Message,
  MessageSchema,
  Role,
  type ToolCall,
} from "../gen/outrigger/v1/message_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import { type Content, getParts } from "./parts.ts";

/** A message, or its fields as a plain object: `{ role: Role.USER, content: [textPart("hi")] }`. */
export type MessageInput = MessageInitShape<typeof MessageSchema>;

/** Creates a message of role SYSTEM: instructions that shape the whole conversation. */
export function systemMessage(content: Content): Message {
  return message(Role.SYSTEM, content);
}

/** Creates a message of role DEVELOPER: instructions of the application rather than of its operator. */
export function developerMessage(content: Content): Message {
  return message(Role.DEVELOPER, content);
}

/** Creates a message of the user: `userMessage("hi")`, `userMessage([textPart("What is this?"), imagePart(url)])`. */
export function userMessage(content: Content): Message {
  return message(Role.USER, content);
}

/**
 * Creates a message of the model, for examples. Send the message of a real answer back unchanged instead: it has more
 * than its text.
 */
export function assistantMessage(content: Content): Message {
  return message(Role.ASSISTANT, content);
}

/** Returns all text parts of a message or response, joined. Empty if there are none. */
export function textOf(source: Message | Response | undefined): string {
  return join(source, (part) => (part.case === "text" ? part.value : ""));
}

/** Returns all reasoning of a message or response, joined by blank lines. Empty if there is none. */
export function reasoningOf(source: Message | Response | undefined): string {
  const texts = getContent(source).flatMap(({ part }) =>
    part.case === "reasoning" ? [part.value.text] : [],
  );
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Returns the tool calls of a message or response, in order. */
export function toolCallsOf(source: Message | Response | undefined): ToolCall[] {
  return getContent(source).flatMap(({ part }) => (part.case === "toolCall" ? [part.value] : []));
}

function message(role: Role, content: Content): Message {
  return create(MessageSchema, { role, content: getParts(content) });
}

function join(source: Message | Response | undefined, text: (part: ContentPart["part"]) => string): string {
  return getContent(source)
    .map(({ part }) => text(part))
    .join("");
}

function getContent(source: Message | Response | undefined): readonly ContentPart[] {
  if (source === undefined) return [];
  return "content" in source ? source.content : (source.message?.content ?? []);
}
