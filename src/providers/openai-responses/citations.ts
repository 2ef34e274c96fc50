/** Annotations of a text -> citations ("The response object", `output`, "Output message", `annotations`). */

import { create } from "@bufbuild/protobuf";
import { type Citation, CitationSchema, type ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import { type ProviderSpan, SpanConverter, setSpan } from "../../kit/adapter/citation-span.ts";
import { asInt32, asString, type JsonObject, objectsIn, textIn, tryParseJson } from "../../kit/json/json.ts";
import type { Annotation, OutputContent } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/**
 * Returns the annotations of a content part as citations. @param text The text of the part, which their indices count.
 */
export function toCitations({ annotations }: Untrusted<OutputContent>, text: string): Citation[] {
  if (annotations === undefined || (Array.isArray(annotations) && annotations.length === 0)) return [];
  const converter = new SpanConverter(text, "code_points");
  return objectsIn<Annotation>(annotations).map((annotation) => toCitation(annotation, converter));
}

function toCitation(annotation: Untrusted<Annotation>, converter: SpanConverter): Citation {
  const citation = create(CitationSchema, {
    type: textIn(annotation.type),
    title: (asString(annotation.title) ?? textIn(annotation.filename)).toWellFormed(),
    url: textIn(annotation.url),
    sourceId: textIn(annotation.file_id),
    rawJson: JSON.stringify(annotation),
  });
  setSpan(citation, toSpan(annotation), converter);
  return citation;
}

/** Only annotations of web pages and of a container's files have a span. */
function toSpan({ start_index, end_index }: Untrusted<Annotation>): ProviderSpan | undefined {
  const [start, end] = [asInt32(start_index), asInt32(end_index)];
  return start === undefined || end === undefined ? undefined : { start, end };
}

/** Returns the annotations as the API wrote them, to be sent back. */
export function toAnnotations({ citations }: ContentPart): readonly JsonObject[] {
  return objectsIn(citations.map(({ rawJson }) => tryParseJson(rawJson)));
}
