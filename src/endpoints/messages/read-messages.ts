/**
 * `system` and `messages` of the Messages API -> messages of the contract. Results of tools become separate messages.
 */
import { create } from "@bufbuild/protobuf";
import { type ContentPart, Role, ToolCallSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { textIn } from "../../kit/json/json.ts";
import { decodeExactBase64 } from "../../kit/media/exact-base64.ts";
import { createTextPart } from "../answers/create-request.ts";
import { Fields, invalidParameter, joinWords, quote } from "../openai/fields.ts";
import { type CarriedState, createEmptyPart, StateAttacher } from "../responses/provider-state.ts";
import { createPart, type ReadPart } from "../responses/read-content.ts";
import { createPartWithState } from "../stateless/part-with-state.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import { type ReadMessage, toReadMessage } from "../stateless/to-request.ts";
import { createBlockState, isAnthropic, readThinking } from "./provider-state.ts";
import { isToolChange } from "./read-tools.ts";

/** Fields of blocks that have an effect with Anthropic only, and need no warning elsewhere. */
const HINTS: readonly string[] = ["cache_control"];

/**
 * Claude Code begins its instructions with a line that differs in each run, so that no prompt cache would match them.
 */
const BILLING_HEADER = "x-anthropic-billing-header:";

/** Reads `system` and `messages`. */
export function readMessages(body: Fields, context: ReadingContext): readonly ReadMessage[] {
  const elements = body.list("messages", { min: 1 }) ?? body.missing("messages", "a list of messages");
  const system = body.has("system") ? readTexts(body, "system", context) : [];
  const instructions = system.length === 0 ? [] : [toReadMessage({ role: Role.SYSTEM }, "system", system)];
  return [...instructions, ...elements.flatMap((element) => readMessage(Fields.of(element), context))];
}

const ROLES = ["user", "assistant", "system"] as const;

function readMessage(fields: Fields, context: ReadingContext): ReadMessage[] {
  const role = fields.word("role", ROLES) ?? fields.missing("role", joinWords(ROLES));
  switch (role) {
    case "system":
      return readSystem(fields, context);
    case "assistant":
      return [toReadMessage({ role: Role.ASSISTANT }, fields.path, readAnswer(fields, context))];
    case "user":
      return readUser(fields, context);
  }
}

/** Reads instructions in the conversation. Changes of the tools are read with the tools. */
function readSystem(fields: Fields, context: ReadingContext): ReadMessage[] {
  const texts = readTexts(fields, "content", context);
  const blocks = fields.get("content");
  if (texts.length === 0 && Array.isArray(blocks) && blocks.length > 0) return [];
  return [toReadMessage({ role: Role.SYSTEM }, fields.path, texts)];
}

/** Reads instructions: a text, or a list of text blocks. */
function readTexts(fields: Fields, name: string, context: ReadingContext): ReadPart[] {
  const readText = (block: Fields) => {
    if (name === "content" && isToolChange(block)) return undefined;
    const type = block.word("type", ["text"]) ?? block.missing("type", '"text"');
    return { part: createTextPart(block.requireString(type)), path: block.path };
  };
  return readBlocks(fields, name, "text blocks", readText).filter(
    ({ part }) => isAnthropic(context) || !textIn(part.part.value).startsWith(BILLING_HEADER),
  );
}

/**
 * Reads a text, which stands for one text block, or a list of blocks. Blocks for which `readBlock` returns undefined
 * are left out.
 * @param items The plural noun for the blocks, for errors.
 */
function readBlocks(
  fields: Fields,
  name: string,
  items: string,
  readBlock: (block: Fields) => ReadPart | undefined,
): ReadPart[] {
  if (typeof fields.get(name) === "string")
    return [{ part: createTextPart(fields.requireString(name)), path: fields.at(name) }];
  const expected = `a text or a list of ${items}`;
  const blocks = fields.list(name, {}, expected) ?? fields.missing(name, expected);
  return blocks.flatMap((element) => readBlock(Fields.of(element)) ?? []);
}

/** The results of tools come before the rest of a user's message, as the API requires. */
function readUser(fields: Fields, context: ReadingContext): ReadMessage[] {
  const results: ReadMessage[] = [];
  const parts = readBlocks(fields, "content", "blocks", (block) => {
    if (block.get("type") !== "tool_result") return readInput(block, context);
    results.push(readResult(block, context));
    return undefined;
  });
  return parts.length === 0 && results.length > 0
    ? results
    : [...results, toReadMessage({ role: Role.USER }, fields.path, parts)];
}

function readResult(block: Fields, context: ReadingContext): ReadMessage {
  const toolCallId = block.requireString("tool_use_id", { min: 1 });
  const readInner = (inner: Fields) => readInput(inner, context);
  const read = block.has("content") ? readBlocks(block, "content", "blocks", readInner) : [];
  const content = read.map(({ part }) => part);
  const value = { toolCallId, content, failed: block.boolean("is_error") ?? false };
  const part = createPart({ part: { case: "toolResult", value } });
  const { path } = block;
  return toReadMessage({ role: Role.TOOL, toolCallId }, path, [{ part, path }]);
}

const INPUT_TYPES = ["text", "image", "document", "search_result", "tool_result"] as const;

function readInput(block: Fields, context: ReadingContext): ReadPart {
  const { path } = block;
  const type = block.requireString("type", { min: 1 });
  switch (type) {
    case "text":
      return { part: createTextPart(block.requireString("text")), path };
    case "image":
      noteFields(block, ["source"], context);
      return { part: readImage(block), path };
    case "document":
      noteFields(block, ["source", "title"], context);
      return { part: readDocument(block, context), path };
    case "search_result":
    case "tool_reference":
      if (isAnthropic(context)) return { part: createNativePart(block, type, context), path };
      return { part: toText(block, type, context), path };
    default:
      return { part: readNative(block, type, INPUT_TYPES, context), path };
  }
}

/** Converts a block that only Anthropic knows. Other models get all tools, including those that a search would add. */
function toText(
  block: Fields,
  type: "search_result" | "tool_reference",
  context: ReadingContext,
): ContentPart {
  const message = `the model does not accept blocks of the type ${quote(type)}; it was sent as text`;
  context.notes.warn(block.path, "converted_content", message);
  if (type === "tool_reference")
    return createTextPart(`The tool ${block.requireString("tool_name")} is available.`);
  const head = [block.requireString("title"), block.requireString("source")];
  return createTextPart([...head, ...readInnerTexts(block)].join("\n"));
}

/** Reads the texts of `content`, which has no other blocks. */
function readInnerTexts(fields: Fields): string[] {
  const readText = (inner: Fields) => ({
    part: createTextPart(inner.requireString("text")),
    path: inner.path,
  });
  return readBlocks(fields, "content", "text blocks", readText).map(({ part }) => textIn(part.part.value));
}

/** A block that only Anthropic's API knows goes to Anthropic unchanged, and is refused elsewhere. */
function readNative(
  block: Fields,
  type: string,
  expected: readonly string[],
  context: ReadingContext,
): ContentPart {
  if (!isAnthropic(context)) {
    const found = `expected ${joinWords(expected)} for this model, found ${quote(type)}`;
    throw invalidParameter(block.at("type"), "invalid_value", found);
  }
  return createNativePart(block, type, context);
}

function createNativePart(block: Fields, type: string, { served }: ReadingContext): ContentPart {
  const value = { provider: served.provider, kind: type, dataJson: block.text() };
  return createPart({ part: { case: "native", value } });
}

function noteFields(block: Fields, known: readonly string[], context: ReadingContext): void {
  if (!isAnthropic(context)) context.notes.warnAboutOthers(block, ["type", ...HINTS, ...known]);
}

const IMAGE_SOURCES = ["base64", "url", "file"] as const;

function readImage(block: Fields): ContentPart {
  const source = block.object("source") ?? block.missing("source", "an object with a type");
  const value = readMedia(source, source.word("type", IMAGE_SOURCES), IMAGE_SOURCES);
  return createPart({ part: { case: "image", value } });
}

const DOCUMENT_SOURCES = [...IMAGE_SOURCES, "text", "content"] as const;

function readDocument(block: Fields, context: ReadingContext): ContentPart {
  const source = block.object("source") ?? block.missing("source", "an object with a type");
  const type = source.word("type", DOCUMENT_SOURCES);
  const fileName = block.string("title") ?? "";
  if (type === "content") {
    if (isAnthropic(context)) return createNativePart(block, "document", context);
    const data = Buffer.from(readInnerTexts(source).join("\n"));
    const value = { fileName, mediaType: "text/plain", source: { case: "data" as const, value: data } };
    return createPart({ part: { case: "document", value } });
  }
  const value = { fileName, ...readMedia(source, type, DOCUMENT_SOURCES) };
  return createPart({ part: { case: "document", value } });
}

function readMedia(
  source: Fields,
  type: "base64" | "url" | "file" | "text" | undefined,
  types: readonly string[],
) {
  const mediaType = source.string("media_type", { max: 256 }) ?? "";
  const toSource = <Case extends string, Value>(kind: Case, value: Value) => ({ case: kind, value });
  switch (type) {
    case "base64":
      return { mediaType, source: toSource("data", toBytes(source)) };
    case "url":
      return { mediaType, source: toSource("url", source.requireString("url", { min: 1 })) };
    case "file":
      return { mediaType, source: toSource("fileId", source.requireString("file_id", { min: 1 })) };
    case "text": {
      const bytes = Buffer.from(source.requireString("data"));
      return { mediaType: "text/plain", source: toSource("data", bytes) };
    }
    default:
      return source.missing("type", joinWords(types));
  }
}

function toBytes(source: Fields): Uint8Array {
  const bytes = decodeExactBase64(source.requireString("data"));
  if (bytes !== undefined) return bytes;
  throw invalidParameter(source.at("data"), "invalid_value", "expected base64, found other characters");
}

/** Reads an earlier answer of the model. State that its blocks carry for other blocks is restored to those. */
function readAnswer(fields: Fields, context: ReadingContext): ReadPart[] {
  const carried: CarriedState[] = [];
  const readBlock = (block: Fields) => readOutput(block, carried, context);
  const parts = readBlocks(fields, "content", "blocks", readBlock);
  const rest = new StateAttacher().attach(
    parts.map(({ part }) => part),
    carried,
  );
  const hidden = rest.map(createEmptyPart).filter((part) => part !== undefined);
  return [...parts, ...hidden.map((part) => ({ part, path: fields.path }))];
}

function readOutput(block: Fields, carried: CarriedState[], context: ReadingContext): ReadPart | undefined {
  const { path } = block;
  const type = block.requireString("type", { min: 1 });
  switch (type) {
    case "text":
      return { part: createTextPart(block.requireString("text")), path };
    case "thinking":
    case "redacted_thinking": {
      const read = readThinking(block, context);
      carried.push(...read.carried);
      return read.part && { part: read.part, path };
    }
    case "tool_use":
      return { part: readCall(block, context), path };
    default:
      return readForeignOutput(block, type, context);
  }
}

/** Blocks of Anthropic's hosted tools are left out for other models, which have no such tools. */
function readForeignOutput(block: Fields, type: string, context: ReadingContext): ReadPart | undefined {
  if (isAnthropic(context)) return { part: createNativePart(block, type, context), path: block.path };
  const message = `a block of the type ${quote(type)} is not supported by this model; it was left out`;
  context.notes.warn(block.path, "unsupported_content", message);
  return undefined;
}

function readCall(block: Fields, context: ReadingContext): ContentPart {
  const input = block.object("input") ?? block.missing("input", "an object");
  const value = create(ToolCallSchema, {
    id: block.requireString("id", { min: 1 }),
    name: block.requireString("name", { min: 1 }),
    input: { case: "argumentsJson", value: input.text() },
  });
  const { type: _type, id: _id, name: _name, input: _input, cache_control: _hint, ...extras } = block.value;
  const hasExtras = Object.keys(extras).length > 0;
  const state = hasExtras ? createBlockState(extras, context) : undefined;
  return createPartWithState({ case: "toolCall", value }, state);
}
