import { createHash } from "node:crypto";
import type { Attachment } from "../script/prompt.ts";
import type { ContentPart } from "./wire.ts";

/** Tokens that a picture counts, whatever its size. */
const imageTokens = 765;

/** Bytes of a document that count one token. */
const bytesPerDocumentToken = 16;

/** Longest label of an attachment. */
const longestLabel = 120;

/** What a message or a tool's output says. */
export interface ReadContent {
  /** Its text; attachments stand in brackets. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** Reads the content of a message or the output of a tool. */
export function readContent(content: string | readonly ContentPart[]): ReadContent {
  if (typeof content === "string") return { text: content, attachments: [] };
  const parts = content.map(readPart);
  return {
    text: parts.map((part) => part.text).join("\n"),
    attachments: parts.flatMap((part) => part.attachments),
  };
}

function readPart(part: ContentPart): ReadContent {
  switch (part.type) {
    case "input_image":
      return attach({
        kind: "image",
        label: labelOf(part.image_url ?? part.file_id ?? ""),
        tokens: imageTokens,
      });
    case "input_file": {
      const data = part.file_data ?? part.file_url ?? part.file_id ?? "";
      const tokens = Math.ceil(data.length / bytesPerDocumentToken);
      return attach({ kind: "document", label: labelOf(part.filename ?? data), tokens });
    }
    default:
      return { text: part.text ?? part.refusal ?? "", attachments: [] };
  }
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
