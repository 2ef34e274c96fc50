import type { Candidate, CitationMetadata, Segment } from "../../src/wire/gemini/response.ts";
import type { Citation, TextPart, Turn } from "../script/turn.ts";

/**
 * Returns the sources of an answer, as fields of its candidate: the grounding of a search, or without a search the
 * sources that a text recites. Indices count bytes of UTF-8, and zero is left out.
 */
export function toGrounding({ parts }: Turn): Pick<Candidate, "groundingMetadata" | "citationMetadata"> {
  const search = parts.find((part) => part.kind === "web_search");
  const text = parts.find((part) => part.kind === "text" && part.citations.length > 0);
  const cited = text?.kind === "text" ? text : undefined;
  if (search === undefined) return cited === undefined ? {} : { citationMetadata: toRecitations(cited) };
  return {
    groundingMetadata: {
      searchEntryPoint: {
        renderedContent: `<div class="container"><a class="chip">${search.query}</a></div>`,
      },
      groundingChunks: search.sources.map(({ url, title }) => ({ web: { uri: url, title } })),
      groundingSupports: (cited?.citations ?? []).map((citation, index) => ({
        segment: { ...toSpan(cited, citation), text: cited?.text.slice(citation.start, citation.end) ?? "" },
        groundingChunkIndices: [index],
      })),
      webSearchQueries: [search.query],
    },
  };
}

function toRecitations(part: TextPart): CitationMetadata {
  return {
    citationSources: part.citations.map((citation) => ({ ...toSpan(part, citation), uri: citation.url })),
  };
}

function toSpan(
  part: TextPart | undefined,
  { start, end }: Citation,
): Pick<Segment, "startIndex" | "endIndex"> {
  const startIndex = countBytes(part, start);
  return { ...(startIndex === 0 ? {} : { startIndex }), endIndex: countBytes(part, end) };
}

function countBytes(part: TextPart | undefined, end: number): number {
  return Buffer.byteLength(part?.text.slice(0, end) ?? "");
}
