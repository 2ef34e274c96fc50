/** What an MCP tool returned, as parts for a model. Pure. */

import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type ContentPart, ContentPartSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { asString, type JsonObject, objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import { bytesOfBase64 } from "../../kit/media/exact-base64.ts";
import type { ServerToolResult } from "../server-tools.ts";

/** One block of a result: its part, and its text for APIs without parts. */
interface Block {
  readonly part: ContentPart;
  readonly text: string;
}

/** Reads the result of `tools/call`. A block that cannot be read is passed on as its JSON text. */
export function readResult(found: unknown): ServerToolResult {
  const result = objectIn(found);
  const blocks = objectsIn(result.content).map(readBlock);
  // Tools with an output schema repeat it as text by convention, but need not.
  if (blocks.length === 0 && result.structuredContent !== undefined)
    blocks.push(textBlock(JSON.stringify(result.structuredContent)));
  return {
    content: blocks.map(({ part }) => part),
    isError: result.isError === true,
    text: blocks.map(({ text }) => text).join("\n"),
  };
}

/** The result of a call that failed without one. */
export function failedResult(text: string): ServerToolResult {
  return { content: [textBlock(text).part], isError: true, text };
}

function readBlock(block: JsonObject): Block {
  switch (block.type) {
    case "text":
      return textBlock(textIn(block.text));
    case "image":
      return mediaBlock(block, "image", textIn(block.mimeType) || "image/png", block.data);
    case "audio":
      return mediaBlock(block, "audio", textIn(block.mimeType) || "audio/wav", block.data);
    case "resource":
      return resourceBlock(block);
    default:
      return textBlock(JSON.stringify(block));
  }
}

/** A resource that came with the result: its text, or its bytes by their media type. */
function resourceBlock(block: JsonObject): Block {
  const { text, blob, mimeType, uri } = objectIn(block.resource);
  if (asString(text) !== undefined) return textBlock(textIn(text));
  const mediaType = textIn(mimeType) || "application/octet-stream";
  const [, kind] = /^(image|audio)\//.exec(mediaType) ?? [];
  if (kind === "image" || kind === "audio") return mediaBlock(block, kind, mediaType, blob);
  return mediaBlock(block, "document", mediaType, blob, getFileName(textIn(uri)));
}

function mediaBlock(
  block: JsonObject,
  kind: "image" | "audio" | "document",
  mediaType: string,
  base64: unknown,
  fileName = "",
): Block {
  const data = bytesOfBase64(asString(base64));
  if (data === undefined) return textBlock(JSON.stringify(block));
  const source = { case: "data", value: data } as const;
  const named = kind === "document" ? { fileName } : {};
  const part = create(ContentPartSchema, {
    part: { case: kind, value: { mediaType: mediaType.toWellFormed(), ...named, source } },
  });
  return { part, text: `[${mediaType.toWellFormed()}, ${data.byteLength} bytes]` };
}

function textBlock(raw: string): Block {
  const text = raw.toWellFormed();
  return { part: create(ContentPartSchema, { part: { case: "text", value: text } }), text };
}

function getFileName(uri: string): string {
  return (/([^/?#]{1,255})\/?(?:[?#].*)?$/.exec(uri)?.[1] ?? "").toWellFormed();
}

/** Longest function name that every provider accepts, in characters. */
const MAX_CHARS = 64;

const DIGEST_CHARS = 8;

/**
 * The name of a server's tool as a function: `label__tool`. Depends on nothing but label and tool, so that a call in the
 * history of a conversation has the name that its tool has now. Where a provider would refuse that name, a digest makes
 * up for what is replaced and cut.
 */
export function modelToolName(label: string, tool: string): string {
  const name = `${label}__${tool}`;
  return /^[A-Za-z0-9_-]+$/.test(name) && name.length <= MAX_CHARS ? name : digestedName(label, tool, 0);
}

/** The same, different from names that are taken. */
export function freeToolName(label: string, tool: string, taken: { has(name: string): boolean }): string {
  let name = modelToolName(label, tool);
  for (let attempt = 1; taken.has(name); attempt += 1) name = digestedName(label, tool, attempt);
  return name;
}

function digestedName(label: string, tool: string, attempt: number): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([label, tool, attempt]))
    .digest("hex")
    .slice(0, DIGEST_CHARS);
  const readable = `${label}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return `${readable.slice(0, MAX_CHARS - DIGEST_CHARS - 1)}_${digest}`;
}
