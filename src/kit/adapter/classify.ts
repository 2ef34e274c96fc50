/**
 * The treatment of failures that all adapters share: kinds of HTTP status, and the part of a provider's message that
 * may be repeated.
 */

import { toolInputOf } from "../../core/tools.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Tool } from "../../gen/outrigger/v1/tool_pb.ts";
import { isObject, tryReadJson } from "../json/json.ts";

/**
 * Returns the kind of a failed HTTP answer by its status alone. 409 and unknown statuses stay PROVIDER, which is
 * retryable.
 */
export function kindOfStatus(status: number): ErrorKind {
  const exact = KIND_OF_STATUS.get(status);
  if (exact !== undefined) return exact;
  if (status >= 500) return ErrorKind.SERVER;
  return status >= 400 ? ErrorKind.INVALID_REQUEST : ErrorKind.PROVIDER;
}

const KIND_OF_STATUS: ReadonlyMap<number, ErrorKind> = new Map([
  [401, ErrorKind.AUTHENTICATION],
  [402, ErrorKind.QUOTA_EXCEEDED],
  [403, ErrorKind.ACCESS_DENIED],
  [404, ErrorKind.NOT_FOUND],
  [408, ErrorKind.REQUEST_TIMEOUT],
  [409, ErrorKind.PROVIDER],
  [413, ErrorKind.CONTEXT_LENGTH],
  [429, ErrorKind.RATE_LIMIT],
  [499, ErrorKind.ABORT],
  [501, ErrorKind.INVALID_REQUEST],
]);

const MAX_RAW_BYTES = 2048;

/** Returns a provider's body for `raw_json`: at most 2 KiB of UTF-8, cut between characters. */
export function boundedRaw(body: string): string {
  // A code unit takes at least one byte, so no more code units than this are needed.
  const bytes = Buffer.from(body.slice(0, MAX_RAW_BYTES)).subarray(0, MAX_RAW_BYTES);
  // In stream mode the decoder holds back an incomplete character.
  return new TextDecoder().decode(bytes, { stream: true });
}

const MAX_MESSAGE_CHARS = 500;
const ECHO_CHARS = 24;
const SHORTEST_ECHO_CHARS = 8;

/** Matches texts that look like a key: a known prefix, a mask of asterisks, or a long text without a break. */
const KEY_LIKE = new RegExp(
  [
    "\\bBearer +(?=[\\w.~+/-]*[0-9])[\\w.~+/=-]{8,}",
    "\\b(?:sk|pk|rk|gsk|csk|xai|nvapi|hf)[-_][\\w.*-]{7,}[\\w*-]",
    "\\bkey[-_](?=[\\w.*-]*[0-9*])[\\w.*-]{7,}[\\w*-]",
    "\\bAIza[\\w*-]{8,}",
    "[\\w.-]*\\*{3,}[\\w.*-]*",
    "\\b(?=[A-Za-z]*[0-9])[A-Za-z0-9]{32,}\\b",
  ].join("|"),
  "g",
);

/**
 * Returns a provider's message as far as it may be repeated: bounded and without anything that looks like a key. If the
 * message repeats the caller's text, a fixed text replaces it, since an error holds no prompt and no answer.
 */
export function repeatableMessage(message: string, request: Request): string {
  return readMessage(message, request).repeatable;
}

/** A provider's message in two forms. */
export interface ProviderMessage {
  /** For classifying the failure: empty if the message repeats the caller's text, which could mislead. */
  readonly classifiable: string;
  /** For repeating to the caller. */
  readonly repeatable: string;
}

/** Reads a provider's message: bounded and on one line. */
export function readMessage(message: string, request: Request): ProviderMessage {
  const bounded = onOneLine(message).slice(0, MAX_MESSAGE_CHARS).toWellFormed();
  if (echoes(bounded, collectTexts(request))) return { classifiable: "", repeatable: ECHO };
  return { classifiable: bounded, repeatable: bounded.replace(KEY_LIKE, "(key)") };
}

const ECHO = "(the provider's message repeats the prompt and was left out)";

function onOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function echoes(text: string, texts: readonly string[]): boolean {
  if (text.length < SHORTEST_ECHO_CHARS) return false;
  const windows: string[] = [];
  // A step of half a window finds every echo of at least one and a half windows.
  for (let at = 0; at + ECHO_CHARS <= text.length; at += ECHO_CHARS / 2)
    windows.push(text.slice(at, at + ECHO_CHARS));
  return texts.some((said) => isEchoed(onOneLine(said), text, windows));
}

function isEchoed(said: string, text: string, windows: readonly string[]): boolean {
  if (said.length < SHORTEST_ECHO_CHARS) return false;
  return text.includes(said) || windows.some((window) => said.includes(window));
}

/**
 * Returns the caller's texts: messages, descriptions of tools, metadata, stop sequences, and the texts inside schemas
 * and provider options. Names of models, tools and fields are excluded: an error may name those.
 */
function collectTexts(request: Request): string[] {
  const { messages, tools, metadata, stopSequences, responseFormat, providerOptionsJson } = request;
  return [
    ...messages.flatMap(({ content }) => content.flatMap(collectPartTexts)),
    ...tools.flatMap(collectToolTexts),
    ...Object.values(metadata),
    ...stopSequences,
    ...collectProse(responseFormat?.schemaJson ?? ""),
    ...Object.values(providerOptionsJson).flatMap(collectProse),
  ];
}

function collectPartTexts({ part }: ContentPart): string[] {
  switch (part.case) {
    case "text":
      return [part.value];
    case "reasoning":
      return [part.value.text];
    case "toolCall":
      return [toolInputOf(part.value)];
    case "toolResult":
      return part.value.content.flatMap(collectPartTexts);
    case "document":
      return [part.value.fileName];
    case "native":
      return collectProse(part.value.dataJson);
    default:
      return [];
  }
}

function collectToolTexts({ tool }: Tool): string[] {
  switch (tool.case) {
    case "function":
      return [tool.value.description, ...collectProse(tool.value.parametersJson)];
    case "custom":
      return [tool.value.description, tool.value.grammar?.definition ?? ""];
    case "hosted":
      return collectProse(tool.value.configJson);
    default:
      return [];
  }
}

/** Matches prose. A single word in JSON is more likely a setting, which an error may name. */
const PROSE = /\s|^.{24}/;

function collectProse(json: string): string[] {
  const texts: string[] = [];
  const open: unknown[] = [tryReadJson(json)];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === "string" && PROSE.test(value)) texts.push(value);
    if (Array.isArray(value)) for (const item of value) open.push(item);
    if (isObject(value)) for (const key in value) open.push(value[key]);
  }
  return texts;
}
