/** What an answer is grounded in -> citations (provider documentation: "Grounding", "CitationMetadata", "UrlContextMetadata"). */
import { create } from "@bufbuild/protobuf";
import { type Citation, CitationSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { asInt32, type JsonObject, objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import type { Candidate } from "./wire.ts";

/** The sources that a candidate, or an event's share of it, names for its text. */
export function citationsOf(candidate: Candidate): Citation[] {
  const { citationMetadata, groundingMetadata, urlContextMetadata } = candidate;
  // Most events of a stream name none.
  if (citationMetadata === undefined && groundingMetadata === undefined && urlContextMetadata === undefined)
    return [];
  return [
    ...recitedSources(objectIn(citationMetadata)),
    ...groundingSources(objectIn(groundingMetadata)),
    ...readPages(objectIn(urlContextMetadata)),
  ];
}

/** Texts that the answer recites. The Gemini API calls the list `citationSources`, Vertex `citations`. */
function recitedSources({ citationSources, citations }: JsonObject): Citation[] {
  return [...objectsIn(citationSources), ...objectsIn(citations)].map((source) =>
    citationOf("citation", source, source, source),
  );
}

/** One citation for each source of each stretch of text, and one for each source that no stretch names. */
function groundingSources({ groundingChunks, groundingSupports }: JsonObject): Citation[] {
  const chunks = objectsIn(groundingChunks);
  const supports = objectsIn(groundingSupports);
  const named = new Set<unknown>();
  const supported = supports.flatMap((support) => {
    const indices = Array.isArray(support.groundingChunkIndices) ? support.groundingChunkIndices : [];
    for (const index of indices) named.add(index);
    return indices.map((index) => groundedIn(chunks[Number(index)] ?? {}, support));
  });
  const unnamed = chunks.filter((_, index) => !named.has(index)).map((chunk) => groundedIn(chunk, {}));
  return [...supported, ...unnamed];
}

/** A source is `{web}`, `{retrievedContext}`, `{maps}` and so on: its kind is its key. */
function groundedIn(chunk: JsonObject, support: JsonObject): Citation {
  const [kind = "grounding", source] = Object.entries(chunk)[0] ?? [];
  const raw = { ...support, groundingChunk: chunk };
  return citationOf(kind, objectIn(source), objectIn(support.segment), raw);
}

/** Pages that were read whole; those that could not be read are no sources. */
function readPages({ urlMetadata }: JsonObject): Citation[] {
  return objectsIn(urlMetadata)
    .filter(({ urlRetrievalStatus }) => urlRetrievalStatus === "URL_RETRIEVAL_STATUS_SUCCESS")
    .map((page) => citationOf("url_context", { uri: page.retrievedUrl }, {}, page));
}

function citationOf(type: string, source: JsonObject, segment: JsonObject, raw: JsonObject): Citation {
  const citation = create(CitationSchema, {
    type,
    title: textIn(source.title),
    url: textIn(source.uri) || textIn(source.sourceUri),
    citedText: textIn(source.text),
    sourceId: textIn(source.placeId) || textIn(source.documentName) || textIn(source.fileSearchStore),
    rawJson: JSON.stringify(raw),
  });
  const end = asInt32(segment.endIndex);
  // A stretch that begins with the text leaves its start out.
  const start = asInt32(segment.startIndex) ?? (end === undefined ? undefined : 0);
  if (start !== undefined) citation.startIndex = start;
  if (end !== undefined) citation.endIndex = end;
  return citation;
}
