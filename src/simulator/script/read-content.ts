import { createHash } from "node:crypto";
import type { Attachment } from "./prompt.ts";

/** Tokens that a picture counts, whatever its size. */
const imageTokens = 765;

/** Characters of a document's or a sound's data that count one token. */
const charactersPerToken = 16;

/** Longest label of an attachment. */
const longestLabel = 120;

/** What a message or a tool's output says. */
export interface ReadContent {
  /** Its text; attachments stand in brackets. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** A text without attachments. */
export function readText(text: string): ReadContent {
  return { text, attachments: [] };
}

/** A picture, by its URL, its data or its id. */
export function readImage(source: string): ReadContent {
  return attach({ kind: "image", label: labelOf(source), tokens: imageTokens });
}

/** A document or a sound, by its URL, its data or its id, and by its name where it has one. */
export function readFile(kind: "document" | "audio", source: string, name = source): ReadContent {
  const tokens = Math.ceil(source.length / charactersPerToken);
  return attach({ kind, label: labelOf(name), tokens });
}

/** The parts of one message, in order. */
export function joinContents(parts: readonly ReadContent[]): ReadContent {
  return {
    text: parts.map((part) => part.text).join("\n"),
    attachments: parts.flatMap((part) => part.attachments),
  };
}

function attach(attachment: Attachment): ReadContent {
  return { text: `[${attachment.kind} ${attachment.label}]`, attachments: [attachment] };
}

/** Names a source: a URL as it is, a data URI by its type, its size and a fingerprint. */
function labelOf(source: string): string {
  const type = /^data:([^;,]*)[;,]/.exec(source.slice(0, 200))?.[1];
  if (type === undefined) return source.slice(0, longestLabel);
  const fingerprint = createHash("sha256").update(source).digest("hex").slice(0, 8);
  return `${type} of ${source.length} characters (${fingerprint})`;
}
