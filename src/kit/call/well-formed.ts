import type { Citation, ContentPart } from "../../gen/outrigger/v1/message_pb.ts";

/**
 * Replaces lone surrogates in the texts of a part that adapters take over from the provider unchanged. A message in
 * JSON with one could not be read by any client of protobuf.
 */
export function repairPart({ part, citations }: ContentPart): void {
  repairCitations(citations);
  if (part.case === "native") part.value.kind = part.value.kind.toWellFormed();
  if (part.case === "image" || part.case === "audio")
    part.value.mediaType = part.value.mediaType.toWellFormed();
}

/** Replaces lone surrogates in the texts of citations. */
export function repairCitations(citations: readonly Citation[]): void {
  for (const citation of citations)
    for (const field of CITATION_TEXTS) citation[field] = citation[field].toWellFormed();
}

const CITATION_TEXTS = ["type", "title", "url", "citedText", "sourceId"] as const;
