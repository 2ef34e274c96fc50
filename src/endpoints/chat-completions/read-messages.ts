/** `messages` of a chat completion -> as many messages of the contract. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ContentPart,
  type DocumentSchema,
  Role,
  ToolCallSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import { textIn } from "../../kit/json/json.ts";
import { isDataUri } from "../../kit/media/data-uri.ts";
import { guessMediaType } from "../../kit/media/media-type.ts";
import type { ContentPartParam } from "../../wire/openai-chat/request.ts";
import { createTextPart } from "../answers/create-request.ts";
import { decodeBase64, type Element, Fields, invalidParameter, joinWords, quote } from "../openai/fields.ts";
import { createPart, type ReadPart } from "../responses/read-content.ts";
import { createPartWithState } from "../stateless/part-with-state.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import { type ReadMessage, toReadMessage } from "../stateless/to-request.ts";
import { readCallExtras, readReasoning, readThinkPart, restoreStates } from "./provider-state.ts";

const ROLES = ["developer", "system", "user", "assistant", "tool"] as const;

/** Reads `messages`. */
export function readMessages(body: Fields, context: ReadingContext): readonly ReadMessage[] {
  const elements = body.list("messages", { min: 1 }) ?? body.missing("messages", "a list of messages");
  return elements.map((element) => readMessage(Fields.of(element), context));
}

function readMessage(fields: Fields, context: ReadingContext): ReadMessage {
  const { path } = fields;
  const role = fields.word("role", ROLES) ?? fields.missing("role", joinWords(ROLES));
  const name = fields.string("name", { max: 512 }) ?? "";
  switch (role) {
    case "developer":
      return toReadMessage({ role: Role.DEVELOPER, name }, path, readContent(fields, context));
    case "system":
      return toReadMessage({ role: Role.SYSTEM, name }, path, readContent(fields, context));
    case "user":
      return toReadMessage({ role: Role.USER, name }, path, readContent(fields, context));
    case "tool": {
      const toolCallId = fields.requireString("tool_call_id", { min: 1 });
      const result = readResult(fields, toolCallId, context);
      return toReadMessage({ role: Role.TOOL, name, toolCallId }, path, [result]);
    }
    case "assistant":
      return toReadMessage({ role: Role.ASSISTANT, name }, path, readAnswer(fields, context));
  }
}

/** Reads `content`: a text, or a list of parts. */
function readContent(
  fields: Fields,
  context: ReadingContext,
  readPart: (element: Element, context: ReadingContext) => ReadPart | undefined = readInputPart,
): readonly ReadPart[] {
  if (typeof fields.get("content") === "string")
    return [{ part: createTextPart(fields.requireString("content")), path: fields.at("content") }];
  const expected = "a text or a list of parts";
  const elements = fields.list("content", {}, expected) ?? fields.missing("content", expected);
  return elements.flatMap((element) => readPart(element, context) ?? []);
}

function readResult(fields: Fields, toolCallId: string, context: ReadingContext): ReadPart {
  const content = readContent(fields, context).map(({ part }) => part);
  const value = { toolCallId, content, failed: false };
  return { part: createPart({ part: { case: "toolResult", value } }), path: fields.at("content") };
}

/** An earlier answer of the model: its reasoning first, then its text, its refusal and its calls. */
function readAnswer(fields: Fields, context: ReadingContext): readonly ReadPart[] {
  if (fields.has("function_call"))
    throw invalidParameter(
      fields.at("function_call"),
      "unsupported_parameter",
      "is not supported, expected tool_calls",
    );
  const reasoning = readReasoning(fields, context);
  const parts = [
    ...reasoning.parts.map((part) => ({ part, path: fields.path })),
    ...readAnswerContent(fields, context),
    ...readCalls(fields, context),
  ];
  if (fields.has("audio"))
    context.notes.warn(
      fields.at("audio"),
      "unsupported_content",
      "the model's audio cannot be sent back; it was left out",
    );
  const rest = restoreStates(
    parts.map(({ part }) => part),
    reasoning.carried,
  );
  return [...parts, ...rest.map((part) => ({ part, path: fields.path }))];
}

function readAnswerContent(fields: Fields, context: ReadingContext): readonly ReadPart[] {
  const content = fields.has("content") ? readContent(fields, context, readAnswerPart) : [];
  const written = content.filter(({ part }) => part.part.case !== "text" || part.part.value !== "");
  const refusal = fields.string("refusal") ?? "";
  if (refusal === "") return written;
  return [...written, { part: createRefusal(refusal), path: fields.at("refusal") }];
}

/** Reads a part of an earlier answer: servers write reasoning and references to sources into the content (Mistral). */
function readAnswerPart(element: Element, context: ReadingContext): ReadPart | undefined {
  const fields = Fields.of(element);
  const { path } = fields;
  const type = fields.string("type");
  if (type === "thinking") return { part: readThinkPart(fields, context), path };
  if (type === undefined || isKnownType(type) || context.served.api === "openai-chat")
    return readInputPart(element, context);
  const message = `the model takes no part of the type ${quote(type)}; it was left out`;
  context.notes.warn(path, "unsupported_content", message);
  return undefined;
}

function createRefusal(text: string): ContentPart {
  return createPart({ refusal: true, part: { case: "text", value: text } });
}

const CALL_TYPES = ["function", "custom"] as const;

function readCalls(fields: Fields, context: ReadingContext): readonly ReadPart[] {
  return (fields.list("tool_calls") ?? []).map((element) => {
    const call = Fields.of(element);
    const type = call.word("type", CALL_TYPES) ?? "function";
    const called = call.object(type) ?? call.missing(type, "the name and the input of the call");
    const input =
      type === "custom"
        ? { case: "text" as const, value: called.string("input") ?? "" }
        : { case: "argumentsJson" as const, value: called.string("arguments") ?? "" };
    const value = create(ToolCallSchema, {
      id: call.requireString("id", { min: 1 }),
      name: called.requireString("name", { min: 1 }),
      input,
    });
    const part = createPartWithState({ case: "toolCall", value }, readCallExtras(call, context));
    return { part, path: call.path };
  });
}

/** Types of parts that every model can be given, in one form or another. */
const PART_TYPES = ["text", "image_url", "input_audio", "file"] satisfies ContentPartParam["type"][];

/** Fields of these parts that the contract has. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set(["type", "text", "refusal", ...PART_TYPES]);

function readInputPart(element: Element, context: ReadingContext): ReadPart {
  const fields = Fields.of(element);
  const unknown = Object.keys(fields.value).find((name) => !KNOWN_FIELDS.has(name) && fields.has(name));
  const isNative = context.served.api === "openai-chat" && unknown !== undefined;
  if (unknown !== undefined && !isNative && isKnownType(fields.get("type")))
    context.notes.warnAboutField(fields.at(unknown));
  return { part: isNative ? createNative(fields, context) : toPart(fields, context), path: fields.path };
}

function isKnownType(type: unknown): boolean {
  return type === "refusal" || PART_TYPES.some((known) => known === type);
}

/** Returns a part in the form of the served provider, which speaks the same API. */
function createNative(fields: Fields, { served }: ReadingContext): ContentPart {
  const value = { provider: served.provider, kind: textIn(fields.get("type")), dataJson: fields.text() };
  return createPart({ part: { case: "native", value } });
}

function toPart(fields: Fields, context: ReadingContext): ContentPart {
  switch (fields.get("type")) {
    case "text":
      return createTextPart(fields.requireString("text"));
    case "refusal":
      return createRefusal(fields.requireString("refusal"));
    case "image_url":
      return toImage(fields);
    case "input_audio":
      return toAudio(fields);
    case "file":
      return toDocument(fields);
    default: {
      if (context.served.api === "openai-chat") return createNative(fields, context);
      const type = fields.string("type") ?? fields.missing("type", joinWords(PART_TYPES));
      const expected = `expected ${joinWords(PART_TYPES)}, found ${quote(type)}`;
      throw invalidParameter(fields.at("type"), "invalid_value", expected);
    }
  }
}

/** Returns an image: an object with a URL, or, as some clients send it, the URL alone. */
function toImage(fields: Fields): ContentPart {
  const isText = typeof fields.get("image_url") === "string";
  const image = isText ? undefined : fields.object("image_url");
  const url = isText ? fields.requireString("image_url") : image?.requireString("url");
  if (url === undefined) return fields.missing("image_url", "an object with a url");
  const detail = image?.string("detail", { max: 64 }) ?? "";
  return createPart({ part: { case: "image", value: { detail, source: { case: "url", value: url } } } });
}

function toAudio(fields: Fields): ContentPart {
  const audio =
    fields.object("input_audio") ?? fields.missing("input_audio", "an object with data and format");
  const format = audio.requireString("format", { min: 1, max: 32 });
  const mediaType = `audio/${format === "mp3" ? "mpeg" : format}`;
  const data = decodeBase64(audio.requireString("data"), audio.at("data"));
  return createPart({ part: { case: "audio", value: { mediaType, source: { case: "data", value: data } } } });
}

function toDocument(fields: Fields): ContentPart {
  const file = fields.object("file") ?? fields.missing("file", "an object with file_data or file_id");
  const fileName = file.string("filename", { max: 1024 }) ?? "";
  const id = file.string("file_id", { min: 1 });
  const toPart = (value: MessageInitShape<typeof DocumentSchema>) =>
    createPart({ part: { case: "document", value: { fileName, ...value } } });
  if (id !== undefined) return toPart({ source: { case: "fileId", value: id } });
  const data = file.requireString("file_data", { min: 1 });
  if (isDataUri(data)) return toPart({ source: { case: "url", value: data } });
  const mediaType = guessMediaType(fileName) ?? "";
  return toPart({ mediaType, source: { case: "data", value: decodeBase64(data, file.at("file_data")) } });
}
