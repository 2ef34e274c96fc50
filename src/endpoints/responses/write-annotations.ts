/** Citations -> annotations of OpenAI's output texts. */
import type { Citation, ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import { asObject, type JsonObject, textIn, tryParseJson } from "../../kit/json/json.ts";
import type { Annotation } from "../../wire/openai-responses/response.ts";

/** Returns the annotations of a text. Indices count code points; a citation without a span covers the whole text. */
export function toAnnotations({ citations }: ContentPart, text: string): readonly object[] {
  if (citations.length === 0) return [];
  const length = countCodePoints(text);
  return citations.flatMap(
    (citation, index) => toOpenAiAnnotation(citation) ?? toAnnotation(citation, index, length) ?? [],
  );
}

/** Annotation types of OpenAI. Servers differ in the form of `url_citation`. */
const OPENAI_TYPES: ReadonlySet<string> = new Set<Annotation["type"]>([
  "file_citation",
  "container_file_citation",
  "file_path",
]);

/** Returns an annotation that OpenAI's API wrote, unchanged. */
function toOpenAiAnnotation(citation: Citation): JsonObject | undefined {
  const { type, rawJson } = citation;
  const annotation = asObject(tryParseJson(rawJson)) ?? {};
  if (type === "" || textIn(annotation.type) !== type) return undefined;
  return OPENAI_TYPES.has(type) || isUnknownType(citation, annotation) ? annotation : undefined;
}

/**
 * Reports whether an annotation has a type that OpenAI added later. Anthropic's types end in `_location`, annotations
 * of Chat Completions have their fields under the name of the type, and citations of web pages have a common form.
 */
function isUnknownType({ type, url }: Citation, annotation: JsonObject): boolean {
  return url === "" && !type.endsWith("_location") && !Object.hasOwn(annotation, type);
}

/**
 * Converts a citation of another provider. `cited_text`, which OpenAI does not have, is added if the provider sends it.
 * Undefined if the citation neither names a source nor quotes one.
 */
function toAnnotation(citation: Citation, index: number, length: number): object | undefined {
  const { title, url, sourceId, citedText, startIndex, endIndex } = citation;
  if (url === "" && sourceId === "" && title === "" && citedText === "") return undefined;
  const quote = citedText === "" ? {} : { cited_text: citedText };
  if (url === "")
    return {
      ...({ type: "file_citation", file_id: sourceId, filename: title, index } satisfies Annotation),
      ...quote,
    };
  const span = { start_index: startIndex ?? 0, end_index: endIndex ?? length };
  return { ...({ type: "url_citation", ...span, title, url } satisfies Annotation), ...quote };
}

/** Returns the number of code points, which indices of annotations count. */
export function countCodePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) if ((text.codePointAt(at) ?? 0) > 0xffff) count -= 1;
  return count;
}
