/** Parts of messages and of the results of tools -> parts of the contract. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AudioSchema,
  type CitationSchema,
  type ContentPart,
  ContentPartSchema,
  type DocumentSchema,
  type ImageSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import { asInt32, asString, objectsIn, textIn } from "../../kit/json/json.ts";
import { isDataUri } from "../../kit/media/data-uri.ts";
import { guessMediaType } from "../../kit/media/media-type.ts";
import type { Annotation } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { createTextPart } from "../answers/create-request.ts";
import { decodeBase64, type Element, Fields, invalidParameter, joinWords, quote } from "../openai/fields.ts";
import type { ReadingContext } from "./reading-context.ts";

/** A part and its path in the body. */
export interface ReadPart {
  readonly part: ContentPart;
  readonly path: string;
}

/** Types of the parts that a user, a system, a developer or a tool writes. */
const INPUT_TYPES = ["input_text", "input_image", "input_file", "input_audio"];

/** Reports whether an element of `input` is a part of a message instead of an item. */
export function isInputPart(type: unknown): boolean {
  return typeof type === "string" && INPUT_TYPES.includes(type);
}

/**
 * Reads the content of a message or of a result: a text, or a list of parts.
 * @param name Name of the field.
 */
export function readContent(
  fields: Fields,
  name: string,
  readPart: (element: Element, context: ReadingContext) => ReadPart,
  context: ReadingContext,
): ReadPart[] {
  if (typeof fields.get(name) === "string")
    return [{ part: createTextPart(fields.requireString(name)), path: fields.at(name) }];
  const expected = "a text or a list of parts";
  const elements = fields.list(name, {}, expected) ?? fields.missing(name, expected);
  return elements.map((element) => readPart(element, context));
}

/** Reads a part of the caller's input: a text, an image, a file or audio. */
export function readInputPart(element: Element, context: ReadingContext): ReadPart {
  const fields = Fields.of(element);
  const { path } = fields;
  const native = context.isOpenAi && hasOpenAiFields(fields) ? createNativePart(fields) : undefined;
  const part = native ?? inputPart(fields);
  if (native === undefined && fields.has("prompt_cache_breakpoint"))
    context.notes.warn(
      fields.at("prompt_cache_breakpoint"),
      "unsupported_setting",
      "the model's provider does not support cache breakpoints; it was left out",
    );
  return { part, path };
}

/** Reads a part of the model's output. */
export function readOutputPart(element: Element, context: ReadingContext): ReadPart {
  const fields = Fields.of(element);
  const { path } = fields;
  switch (fields.get("type")) {
    case "output_text":
    case "input_text":
    case "text":
      return { part: answerPart(fields), path };
    case "refusal": {
      const part = createTextPart(fields.requireString("refusal"));
      part.refusal = true;
      const state = context.toModelState({ item: MESSAGE, part: { type: "refusal" } });
      if (state !== undefined) part.providerState = state;
      return { part, path };
    }
    default:
      throw unknownType(fields, ["output_text", "refusal"]);
  }
}

/** Creates a part of the contract. */
export function createPart(init: MessageInitShape<typeof ContentPartSchema>): ContentPart {
  return create(ContentPartSchema, init);
}

/** Creates a part for an item or a part that only OpenAI's API knows, as spelled in the body. */
export function createNativePart(fields: Fields): ContentPart {
  const value = { provider: "openai", kind: textIn(fields.get("type")), dataJson: fields.text() };
  return createPart({ part: { case: "native", value } });
}

const MESSAGE = { type: "message", role: "assistant", status: "completed" };

/** Reports whether there are fields that OpenAI's API has and the contract does not. */
function hasOpenAiFields(fields: Fields): boolean {
  return (
    fields.has("prompt_cache_breakpoint") || (fields.get("type") === "input_file" && fields.has("detail"))
  );
}

function inputPart(fields: Fields): ContentPart {
  switch (fields.get("type")) {
    case "input_text":
    case "text":
    case "output_text":
    case "summary_text":
      return createTextPart(fields.requireString("text"));
    case "input_image":
    case "computer_screenshot":
      return createPart({ part: { case: "image", value: readImage(fields) } });
    case "input_file":
      return createPart({ part: { case: "document", value: toDocument(fields) } });
    case "input_audio":
      return createPart({ part: { case: "audio", value: readAudio(fields) } });
    default:
      throw unknownType(fields, INPUT_TYPES);
  }
}

function unknownType(fields: Fields, types: readonly string[]): Error {
  const expected = joinWords(types);
  const type = fields.string("type") ?? fields.missing("type", expected);
  return invalidParameter(fields.at("type"), "invalid_value", `expected ${expected}, found ${quote(type)}`);
}

function readImage(fields: Fields): MessageInitShape<typeof ImageSchema> {
  const detail = fields.string("detail", { max: 64 }) ?? "";
  const source = getOnlyField(fields, ["image_url", "file_id"]);
  return source === "file_id"
    ? { detail, source: { case: "fileId", value: fields.requireString("file_id") } }
    : { detail, source: { case: "url", value: fields.requireString("image_url") } };
}

function toDocument(fields: Fields): MessageInitShape<typeof DocumentSchema> {
  const fileName = fields.string("filename") ?? "";
  const source = getOnlyField(fields, ["file_data", "file_url", "file_id"]);
  const value = fields.requireString(source);
  if (source === "file_id") return { fileName, source: { case: "fileId", value } };
  if (source === "file_url" || isDataUri(value)) return { fileName, source: { case: "url", value } };
  // If the media type does not follow from the name, the contract's default applies, as for most files.
  const mediaType = guessMediaType(fileName) ?? "";
  return { fileName, mediaType, source: { case: "data", value: decodeBase64(value, fields.at(source)) } };
}

function readAudio(fields: Fields): MessageInitShape<typeof AudioSchema> {
  const audio =
    fields.object("input_audio") ?? fields.missing("input_audio", "an object with data and format");
  const value = decodeBase64(audio.requireString("data"), audio.at("data"));
  const format = audio.requireString("format", { min: 1, max: 32 });
  return { mediaType: `audio/${format === "mp3" ? "mpeg" : format}`, source: { case: "data", value } };
}

/** Returns the one field of several that is set. */
function getOnlyField(fields: Fields, names: readonly string[]): string {
  const [name, second] = names.filter((each) => fields.has(each));
  if (name === undefined) return fields.missing(names[0] ?? "", `one of ${names.join(", ")}`);
  if (second === undefined) return name;
  throw invalidParameter(
    fields.at(second),
    "invalid_value",
    `is set together with ${name}, expected one of ${names.join(", ")}`,
  );
}

function answerPart(fields: Fields): ContentPart {
  const citations = objectsIn<Annotation & { cited_text: string }>(fields.get("annotations")).map(toCitation);
  return createPart({ part: { case: "text", value: fields.requireString("text") }, citations });
}

function toCitation(
  annotation: Untrusted<Annotation & { cited_text: string }>,
): MessageInitShape<typeof CitationSchema> {
  const { start_index, end_index, title, filename } = annotation;
  const [startIndex, endIndex] = [asInt32(start_index), asInt32(end_index)];
  return {
    type: textIn(annotation.type),
    title: asString(title) ?? textIn(filename),
    url: textIn(annotation.url),
    citedText: textIn(annotation.cited_text),
    sourceId: textIn(annotation.file_id),
    rawJson: JSON.stringify(annotation),
    ...(startIndex === undefined || endIndex === undefined ? {} : { startIndex, endIndex }),
  };
}
