/** Their citations -> ours, and back (provider documentation: "Citations"). */
import { create } from "@bufbuild/protobuf";
import { type Citation, CitationSchema, type ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import {
  asJson,
  asObject,
  asString,
  type JsonObject,
  objectsIn,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";
import type { TextCitationParam } from "../../wire/anthropic-messages/request.ts";
import type { TextCitation } from "../../wire/anthropic-messages/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Returns the citations of a text block. @param citations The block's `citations`. */
export function toCitations(citations: unknown): Citation[] {
  return objectsIn<TextCitation>(citations).map(toCitation);
}

/**
 * The indices of a citation locate the cited words in the source (characters, pages, blocks), and never in the
 * answer's text, so `start_index` and `end_index` stay unset. A citation covers the whole text of its block.
 */
function toCitation(citation: Untrusted<TextCitation>): Citation {
  return create(CitationSchema, {
    type: textIn(citation.type),
    title: asString(citation.document_title) ?? textIn(citation.title),
    url: textIn(citation.url),
    citedText: textIn(citation.cited_text).toWellFormed(),
    sourceId: asString(citation.file_id) ?? textIn(citation.source),
    rawJson: JSON.stringify(citation),
  });
}

/** Returns the citations of a part that the API accepts back with its text, unchanged. */
export function toCitationParams({ citations }: ContentPart): JsonObject[] {
  return citations.flatMap(({ rawJson }) => {
    const citation = rawJson === "" ? undefined : asObject<TextCitationParam>(tryParseJson(rawJson));
    return citation !== undefined && PARAM_TYPES.has(textIn(citation.type)) ? [asJson(citation)] : [];
  });
}

const PARAM_TYPES: ReadonlySet<string> = new Set<TextCitationParam["type"]>([
  "char_location",
  "page_location",
  "content_block_location",
  "search_result_location",
  "web_search_result_location",
]);
