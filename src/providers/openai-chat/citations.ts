/** Sources that a server lists: annotations of a message, and lists alongside the message. */
import { create } from "@bufbuild/protobuf";
import { type Citation, CitationSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { type ProviderSpan, SpanConverter, setSpan } from "../../kit/adapter/citation-span.ts";
import { asInt32, asJson, asObject, asString, objectsIn, textIn } from "../../kit/json/json.ts";
import type { Annotation, FileCitation, FoundDocument, UrlCitation } from "../../wire/openai-chat/message.ts";
import type { SearchResult, WebPage } from "../../wire/openai-chat/response.ts";
import type { AnyCompletion } from "../../wire/openai-chat/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** The fields of all kinds of annotations. */
type AnnotationFields = UrlCitation & FileCitation;

/** A citation and its span in the content, in the provider's numbers. */
export interface SpannedCitation {
  readonly citation: Citation;
  readonly span: ProviderSpan | undefined;
}

/** Returns the `annotations` of a message or delta (provider documentation: "The chat completion object"). */
export function toCitations(annotations: unknown): SpannedCitation[] {
  return objectsIn<Annotation>(annotations).map(toCitation);
}

/**
 * Converts an annotation, which has its fields under the name of its type: `{type: "url_citation", url_citation: {…}}`.
 */
function toCitation(annotation: Untrusted<Annotation>): SpannedCitation {
  const type = textIn(annotation.type);
  const fields: Untrusted<AnnotationFields> =
    asObject<AnnotationFields>(asJson(annotation)[type]) ?? asJson(annotation);
  const citation = create(CitationSchema, {
    type,
    title: textIn(fields.title),
    url: textIn(fields.url),
    citedText: textIn(fields.content),
    sourceId: asString(fields.file_id) ?? textIn(fields.filename),
    rawJson: JSON.stringify(annotation),
  });
  const start = asInt32(fields.start_index);
  const end = asInt32(fields.end_index);
  return { citation, span: start === undefined || end === undefined ? undefined : { start, end } };
}

/**
 * Sets the indices of citations. Annotations count characters, that is Unicode code points, of the whole content; here
 * it may be several text parts, and reasoning between tags that is not a text part. Call it for each text part in
 * order.
 */
export class AnnotationSpans {
  /** Code points of the content before the next text part. */
  #offset: number;

  /**
   * @param reasoning The beginning of the content that is not a text part: reasoning with its tags.
   */
  constructor(reasoning: string) {
    this.#offset = countCodePoints(reasoning);
  }

  /** Sets the indices of the citations of one text part. */
  setIn(text: string, citations: readonly SpannedCitation[]): void {
    const converter = new SpanConverter(text, "code_points");
    for (const { citation, span } of citations)
      if (span !== undefined) setSpan(citation, this.#relative(span), converter);
    this.#offset += countCodePoints(text);
  }

  #relative({ start, end }: ProviderSpan): ProviderSpan {
    return { start: start - this.#offset, end: end - this.#offset };
  }
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * Returns the sources of a whole answer or chunk that are listed alongside its message: `citations`, to whose entries
 * the text refers by number (Perplexity, xAI), each with its entry in `search_results`, then the results that are not
 * cited; or the results in `web_search` (Z.ai). Undefined if there is no such list.
 */
export function getSources({
  citations,
  search_results: results,
  web_search: pages,
}: Untrusted<AnyCompletion>): Citation[] | undefined {
  if (Array.isArray(pages)) return objectsIn<WebPage>(pages).map(toPage);
  if (!Array.isArray(citations) && !Array.isArray(results)) return undefined;
  const found = objectsIn<SearchResult>(results);
  const urls = Array.isArray(citations) ? citations.filter((url) => typeof url === "string") : [];
  const known = new Map(found.map((result) => [textIn(result.url), result]));
  const listed = new Set(urls);
  const rest = found.filter(({ url }) => !listed.has(textIn(url)));
  return [...urls.map((url) => toSource(url, known.get(url))), ...rest.map((result) => toResult(result))];
}

/** Converts a document that the server found for the answer (Azure). */
export function toDocumentCitation(document: Untrusted<FoundDocument>): Citation {
  return create(CitationSchema, {
    type: "document",
    title: textIn(document.title),
    url: textIn(document.url),
    citedText: textIn(document.content),
    sourceId: textIn(document.filepath),
    rawJson: JSON.stringify(document),
  });
}

function toSource(url: string, result: Untrusted<SearchResult> | undefined): Citation {
  if (result !== undefined) return toResult(result);
  return create(CitationSchema, { type: "citation", url, rawJson: JSON.stringify(url) });
}

function toPage(page: Untrusted<WebPage>): Citation {
  return create(CitationSchema, {
    type: "search_result",
    title: textIn(page.title),
    url: textIn(page.link),
    citedText: textIn(page.content),
    rawJson: JSON.stringify(page),
  });
}

function toResult(result: Untrusted<SearchResult>): Citation {
  return create(CitationSchema, {
    type: "search_result",
    title: textIn(result.title),
    url: textIn(result.url),
    citedText: textIn(result.snippet),
    rawJson: JSON.stringify(result),
  });
}
