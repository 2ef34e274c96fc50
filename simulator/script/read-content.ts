import { createHash } from "node:crypto";
import type { Attachment } from "./prompt.ts";

/** Number of tokens of an image, whatever its size. */
const imageTokens = 765;

/** Characters of data per token, for documents and audio. */
const charactersPerToken = 16;

/** Maximum length of an attachment's label. */
const longestLabel = 120;

/** The content of a message or of a tool's output. */
export interface ReadContent {
  /** Its text; attachments are named in brackets. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** Reads a text without attachments. */
export function readText(text: string): ReadContent {
  return { text, attachments: [] };
}

/** Reads an image, by its URL, data or id. */
export function readImage(source: string): ReadContent {
  return attach({ kind: "image", label: getLabel(source), tokens: imageTokens });
}

/** Reads a document or audio, by its URL, data or id, and by its name if it has one. */
export function readFile(kind: "document" | "audio", source: string, name = source): ReadContent {
  const tokens = Math.ceil(source.length / charactersPerToken);
  return attach({ kind, label: getLabel(name), tokens });
}

/** Joins the parts of one message, in order. */
export function joinContents(parts: readonly ReadContent[]): ReadContent {
  return {
    text: parts.map((part) => part.text).join("\n"),
    attachments: parts.flatMap((part) => part.attachments),
  };
}

function attach(attachment: Attachment): ReadContent {
  return { text: `[${attachment.kind} ${attachment.label}]`, attachments: [attachment] };
}

/** Describes a source: a URL as it is, a data URI by its type, size and fingerprint. */
function getLabel(source: string): string {
  const type = /^data:([^;,]*)[;,]/.exec(source.slice(0, 200))?.[1];
  if (type === undefined) return source.slice(0, longestLabel);
  const fingerprint = createHash("sha256").update(source).digest("hex").slice(0, 8);
  return `${type} of ${source.length} characters (${fingerprint})`;
}
