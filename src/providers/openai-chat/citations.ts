/** Sources that a server names: annotations of a message, and lists beside the message. */
import { create } from "@bufbuild/protobuf";
import { type Citation, CitationSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { asInt32, asObject, asString, type JsonObject, objectsIn, textIn } from "../../kit/json/json.ts";
import type { Chunk } from "./wire.ts";

/** The `annotations` of a message or delta (provider documentation: "The chat completion object"). */
export function annotationsIn(annotations: unknown): Citation[] {
  return objectsIn(annotations).map(annotationOf);
}

/** An annotation has what it says under its own type: `{type: "url_citation", url_citation: {…}}`. */
function annotationOf(annotation: JsonObject): Citation {
  const type = textIn(annotation.type);
  const said = asObject(annotation[type]) ?? annotation;
  const citation = create(CitationSchema, {
    type,
    title: textIn(said.title),
    url: textIn(said.url),
    citedText: textIn(said.content),
    sourceId: asString(said.file_id) ?? textIn(said.filename),
    rawJson: JSON.stringify(annotation),
  });
  const start = asInt32(said.start_index);
  const end = asInt32(said.end_index);
  if (start !== undefined) citation.startIndex = start;
  if (end !== undefined) citation.endIndex = end;
  return citation;
}

/**
 * The sources of a whole answer or chunk that stand beside its message: `citations`, to whose
 * places the text refers by number (Perplexity, xAI), with what `search_results` say of them,
 * then the results that are not cited. Undefined where there is no such list.
 */
export function sourcesIn({ citations, search_results: results }: Chunk): Citation[] | undefined {
  if (!Array.isArray(citations) && !Array.isArray(results)) return undefined;
  const found = objectsIn(results);
  const urls = Array.isArray(citations) ? citations.filter((url) => typeof url === "string") : [];
  const known = new Map(found.map((result) => [textIn(result.url), result]));
  const rest = found.filter(({ url }) => !urls.includes(textIn(url)));
  return [...urls.map((url) => sourceOf(url, known.get(url))), ...rest.map((result) => resultOf(result))];
}

function sourceOf(url: string, result: JsonObject | undefined): Citation {
  if (result !== undefined) return resultOf(result);
  return create(CitationSchema, { type: "citation", url, rawJson: JSON.stringify(url) });
}

function resultOf(result: JsonObject): Citation {
  return create(CitationSchema, {
    type: "search_result",
    title: textIn(result.title),
    url: textIn(result.url),
    citedText: textIn(result.snippet),
    rawJson: JSON.stringify(result),
  });
}
