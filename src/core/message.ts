/** Constructors and accessors over the generated messages, for TypeScript users. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ContentPart,
  ContentPartSchema,
  type Message,
  MessageSchema,
  Role,
  type ToolCall,
} from "../gen/outrigger/v1/message_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";

/** Content of a message: a text, one part, or several parts. */
export type Content = string | PartInit | readonly PartInit[];

/** A part, or a plain object for one. */
export type PartInit = MessageInitShape<typeof ContentPartSchema>;

/** A text part. */
export function textPart(text: string): ContentPart {
  return create(ContentPartSchema, { part: { case: "text", value: text } });
}

/** An image part, from a URL or from bytes. `mediaType` defaults to `image/png` for bytes. */
export function imagePart(source: string | Uint8Array, mediaType = ""): ContentPart {
  const from = typeof source === "string" ? urlSource(source) : dataSource(source);
  return create(ContentPartSchema, { part: { case: "image", value: { mediaType, source: from } } });
}

/** A document part, from a URL or from bytes. `mediaType` defaults to `application/pdf` for bytes. */
export function documentPart(source: string | Uint8Array, mediaType = "", fileName = ""): ContentPart {
  const from = typeof source === "string" ? urlSource(source) : dataSource(source);
  return create(ContentPartSchema, {
    part: { case: "document", value: { mediaType, fileName, source: from } },
  });
}

/** A message of role SYSTEM. */
export function systemMessage(text: string): Message {
  return message(Role.SYSTEM, text);
}

/** A message of role DEVELOPER. */
export function developerMessage(text: string): Message {
  return message(Role.DEVELOPER, text);
}

/** A message of role USER. */
export function userMessage(content: Content): Message {
  return message(Role.USER, content);
}

/** A message of role ASSISTANT. */
export function assistantMessage(content: Content): Message {
  return message(Role.ASSISTANT, content);
}

/** The result of a tool call, as a message of role TOOL. */
export function toolResult(result: { toolCallId: string; content: Content; isError?: boolean }): Message {
  const { toolCallId, isError = false } = result;
  const value = { toolCallId, isError, content: partsOf(result.content) };
  return create(MessageSchema, {
    role: Role.TOOL,
    toolCallId,
    content: [{ part: { case: "toolResult", value } }],
  });
}

/** All text parts of a message or response, joined. Empty where there are none. */
export function textOf(source: Message | Response | undefined): string {
  return join(source, (part) => (part.case === "text" ? part.value : ""));
}

/** All reasoning of a message or response, joined by blank lines. Empty where there is none. */
export function reasoningOf(source: Message | Response | undefined): string {
  const texts = contentOf(source).flatMap(({ part }) => (part.case === "reasoning" ? [part.value.text] : []));
  return texts.filter((text) => text !== "").join("\n\n");
}

/** The input of a tool call as the model wrote it: JSON text or free text. Empty where it has none. */
export function toolInputOf({ input }: ToolCall): string {
  return input.value ?? "";
}

/** The tool calls of a message or response, in order. */
export function toolCallsOf(source: Message | Response | undefined): ToolCall[] {
  return contentOf(source).flatMap(({ part }) => (part.case === "toolCall" ? [part.value] : []));
}

function message(role: Role, content: Content): Message {
  return create(MessageSchema, { role, content: partsOf(content) });
}

function partsOf(content: Content): PartInit[] {
  if (typeof content === "string") return [textPart(content)];
  return isList(content) ? [...content] : [content];
}

function isList(content: PartInit | readonly PartInit[]): content is readonly PartInit[] {
  return Array.isArray(content);
}

function urlSource(value: string) {
  return { case: "url", value } as const;
}

function dataSource(value: Uint8Array) {
  return { case: "data", value } as const;
}

function join(source: Message | Response | undefined, text: (part: ContentPart["part"]) => string): string {
  return contentOf(source)
    .map(({ part }) => text(part))
    .join("");
}

function contentOf(source: Message | Response | undefined): readonly ContentPart[] {
  if (source === undefined) return [];
  return "content" in source ? source.content : (source.message?.content ?? []);
}
