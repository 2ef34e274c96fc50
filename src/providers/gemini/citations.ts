/** Sources -> citations (provider documentation: "Grounding", "CitationMetadata", "UrlContextMetadata"). */
import { create } from "@bufbuild/protobuf";
import { type Citation, CitationSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { type ProviderSpan, SpanConverter, setSpan } from "../../kit/adapter/citation-span.ts";
import { asInt32, asString, objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import type {
  Candidate,
  CitationMetadata,
  CitationSource,
  GroundingMetadata,
  GroundingSource,
  GroundingSupport,
  Segment,
  UrlContextMetadata,
  UrlMetadata,
} from "../../wire/gemini/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** The sources of one span of the answer. Their indices are set by `placeCitations`, once the whole text is known. */
export interface CitedSegment {
  readonly citations: readonly Citation[];
  /** The span, in bytes of UTF-8; without indices if the sources have none. */
  readonly segment: Untrusted<Segment>;
}

/** The text part that citations are attached to. */
export interface CitedText {
  readonly text: string;
  /** Index of the part in the message. */
  readonly partIndex: number;
  /** Whether no other text of the answer comes before it. */
  readonly isFirst: boolean;
}

/**
 * Returns the sources that a candidate, or one event of a candidate, names for its text, as one text. Empty if it names
 * none.
 */
export function sourcesText(candidate: Untrusted<Candidate>): string {
  const { citationMetadata, groundingMetadata, urlContextMetadata } = candidate;
  // Most events of a stream name no sources.
  if (citationMetadata === undefined && groundingMetadata === undefined && urlContextMetadata === undefined)
    return "";
  return JSON.stringify([citationMetadata, groundingMetadata, urlContextMetadata]);
}

/** Counts a citation and its characters. Throws if there are too many. */
type CountCitation = (chars: number) => void;

/** Returns the sources that a candidate, or one event of a candidate, names for its text. */
export function toCitations(
  { citationMetadata, groundingMetadata, urlContextMetadata }: Untrusted<Candidate>,
  count: CountCitation,
): readonly CitedSegment[] {
  return [
    ...recitedSources(objectIn<CitationMetadata>(citationMetadata), count),
    ...groundingSources(objectIn<GroundingMetadata>(groundingMetadata), count),
    ...readPages(objectIn<UrlContextMetadata>(urlContextMetadata), count),
  ];
}

/**
 * Returns the citations of a text part, with their spans in code points. A span is set only if it is known to belong to
 * this part: a segment has the text of its span or the index of its part; recited sources have neither and count from
 * the first text. Citations of an earlier part arrive after that part has ended, and so have no span.
 */
export function placeCitations(cited: readonly CitedSegment[], part: CitedText): Citation[] {
  if (cited.length === 0) return [];
  const converter = new SpanConverter(part.text, "utf8_bytes");
  const utf8 = Buffer.from(part.text);
  return cited.flatMap(({ citations, segment }) => {
    const span = toSpan(segment);
    if (span === undefined || !isSpanWithin(part, utf8, segment, span)) return citations;
    for (const citation of citations) setSpan(citation, span, converter);
    return citations;
  });
}

/** Returns the span of a segment. The API omits zero, so that a missing start is the beginning of the part. */
function toSpan({ startIndex, endIndex }: Untrusted<Segment>): ProviderSpan | undefined {
  const end = asInt32(endIndex);
  return end === undefined ? undefined : { start: asInt32(startIndex) ?? 0, end };
}

function isSpanWithin(
  { partIndex, isFirst }: CitedText,
  utf8: Buffer,
  segment: Untrusted<Segment>,
  { start, end }: ProviderSpan,
): boolean {
  const text = asString(segment.text);
  // Lengths are compared first: comparing every span as a whole would be quadratic for many long ones.
  if (text !== undefined)
    return Buffer.byteLength(text) === end - start && utf8.toString("utf8", start, end) === text;
  const named = asInt32(segment.partIndex);
  return named === undefined ? isFirst : named === partIndex;
}

/** Recited texts. The Gemini API calls the list `citationSources`, Vertex `citations`. */
function recitedSources(
  { citationSources, citations }: Untrusted<CitationMetadata>,
  count: CountCitation,
): CitedSegment[] {
  return [...objectsIn<CitationSource>(citationSources), ...objectsIn<CitationSource>(citations)].map(
    (source) => {
      const { startIndex, endIndex } = source;
      return {
        citations: [toCitation("citation", source, source, count)],
        segment: { startIndex, endIndex },
      };
    },
  );
}

/** Returns the sources of each supported segment, and the sources that support no segment. */
function groundingSources(
  { groundingChunks, groundingSupports }: Untrusted<GroundingMetadata>,
  count: CountCitation,
): CitedSegment[] {
  const chunks = objectsIn(groundingChunks);
  const named = new Set<unknown>();
  const supported = objectsIn<GroundingSupport>(groundingSupports).map((support) => {
    const indices = Array.isArray(support.groundingChunkIndices) ? support.groundingChunkIndices : [];
    for (const index of indices) named.add(index);
    const citations = indices.map((index) =>
      toGroundedCitation(chunks[asInt32(index) ?? -1] ?? {}, support, count),
    );
    return { citations, segment: objectIn<Segment>(support.segment) };
  });
  const unnamed = chunks
    .filter((_, index) => !named.has(index))
    .map((chunk) => toGroundedCitation(chunk, {}, count));
  return [...supported, { citations: unnamed, segment: {} }];
}

/** A chunk is `{web}`, `{retrievedContext}`, `{maps}` and so on: its kind is its key. */
function toGroundedCitation(
  chunk: object,
  support: Untrusted<GroundingSupport>,
  count: CountCitation,
): Citation {
  const [kind = "grounding", source] = Object.entries(chunk)[0] ?? [];
  return toCitation(kind, objectIn<GroundingSource>(source), { ...support, groundingChunk: chunk }, count);
}

/** Returns the pages that were read; pages that could not be read are not sources. */
function readPages({ urlMetadata }: Untrusted<UrlContextMetadata>, count: CountCitation): CitedSegment[] {
  const citations = objectsIn<UrlMetadata>(urlMetadata)
    .filter(({ urlRetrievalStatus }) => urlRetrievalStatus === "URL_RETRIEVAL_STATUS_SUCCESS")
    .map((page) => toCitation("url_context", { uri: page.retrievedUrl }, page, count));
  return [{ citations, segment: {} }];
}

/**
 * @param raw The citation as received.
 */
function toCitation(
  type: string,
  source: Untrusted<GroundingSource>,
  raw: object,
  count: CountCitation,
): Citation {
  const rawJson = JSON.stringify(raw);
  count(rawJson.length);
  return create(CitationSchema, {
    type,
    title: textIn(source.title),
    url: textIn(source.uri) || textIn(source.sourceUri),
    citedText: textIn(source.text),
    sourceId: textIn(source.placeId) || textIn(source.documentName) || textIn(source.fileSearchStore),
    rawJson,
  });
}
