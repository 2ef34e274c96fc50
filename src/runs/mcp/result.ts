/** Converts the result of an MCP tool to parts for a model. Pure. */

import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  ContentPartSchema,
  type ToolCall,
  type ToolResult,
  ToolResultSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import { asString, type JsonObject, objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import { decodeExactBase64 } from "../../kit/media/exact-base64.ts";

/** Reads the result of `tools/call`. A block that cannot be read is passed on as its JSON text. */
export function readResult({ id }: Pick<ToolCall, "id">, found: unknown): ToolResult {
  const result = objectIn(found);
  const content = objectsIn(result.content).map(toPart);
  // Tools with an output schema repeat it as text by convention, but need not.
  if (content.length === 0 && result.structuredContent !== undefined)
    content.push(toTextPart(JSON.stringify(result.structuredContent)));
  return create(ToolResultSchema, { toolCallId: id, content, failed: result.isError === true });
}

function toPart(block: JsonObject): ContentPart {
  switch (block.type) {
    case "text":
      return toTextPart(textIn(block.text));
    case "image":
      return toMediaPart(block, "image", textIn(block.mimeType) || "image/png", block.data);
    case "audio":
      return toMediaPart(block, "audio", textIn(block.mimeType) || "audio/wav", block.data);
    case "resource":
      return toResourcePart(block);
    default:
      return toTextPart(JSON.stringify(block));
  }
}

/** Returns a resource that came with the result: its text, or its bytes by their media type. */
function toResourcePart(block: JsonObject): ContentPart {
  const { text, blob, mimeType, uri } = objectIn(block.resource);
  if (asString(text) !== undefined) return toTextPart(textIn(text));
  const mediaType = textIn(mimeType) || "application/octet-stream";
  const [, kind] = /^(image|audio)\//.exec(mediaType) ?? [];
  if (kind === "image" || kind === "audio") return toMediaPart(block, kind, mediaType, blob);
  return toMediaPart(block, "document", mediaType, blob, getFileName(textIn(uri)));
}

function toMediaPart(
  block: JsonObject,
  kind: "image" | "audio" | "document",
  mediaType: string,
  base64: unknown,
  fileName = "",
): ContentPart {
  const data = decodeExactBase64(asString(base64));
  if (data === undefined) return toTextPart(JSON.stringify(block));
  const source = { case: "data", value: data } as const;
  const named = kind === "document" ? { fileName } : {};
  return create(ContentPartSchema, {
    part: { case: kind, value: { mediaType: mediaType.toWellFormed(), ...named, source } },
  });
}

function toTextPart(text: string): ContentPart {
  return create(ContentPartSchema, { part: { case: "text", value: text.toWellFormed() } });
}

function getFileName(uri: string): string {
  return (/([^/?#]{1,255})\/?(?:[?#].*)?$/.exec(uri)?.[1] ?? "").toWellFormed();
}

/** Longest function name that every provider accepts, in characters. */
const MAX_CHARS = 64;

const DIGEST_CHARS = 8;

/**
 * Returns the name of a server's tool as a function: `label__tool`. Depends on nothing but label and tool, so that a
 * call in the history of a conversation has the name that its tool has now. If a provider would refuse that name,
 * characters are replaced or cut off, and a digest keeps the name unique.
 */
export function modelToolName(label: string, tool: string): string {
  const name = `${label}__${tool}`;
  return /^[A-Za-z0-9_-]+$/.test(name) && name.length <= MAX_CHARS ? name : digestedName(label, tool, 0);
}

/** Returns a name as `modelToolName` does, but one that is not taken. */
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
