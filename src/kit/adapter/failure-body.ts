import type { Untrusted } from "../../wire/untrusted.ts";
import { asObject, objectsIn, tryParseJson } from "../json/json.ts";

/** The body of a failed answer. */
export type FailureBody<T> =
  /** A JSON object, or the first object of a list, which Gemini sends if a stream was requested as a list. */
  | { readonly object: Untrusted<T>; readonly text: "" }
  /** Any other body as text; of an HTML page, the title. */
  | { readonly object: undefined; readonly text: string };

/** Reads the body of a failed answer, which proxies write in many forms. */
export function readFailureBody<T>(body: string): FailureBody<T> {
  const parsed = tryParseJson(body);
  const object = asObject<T>(parsed) ?? objectsIn<T>(parsed)[0];
  return object === undefined ? { object, text: textOf(body.trim()) } : { object, text: "" };
}

function textOf(body: string): string {
  if (!/^<(?:!doctype|html|\?xml|head|body)/i.test(body)) return body;
  const title = /<title[^>]{0,200}>([^<]{1,200})</i.exec(body)?.[1]?.trim() ?? "";
  return title === "" ? "an HTML page" : `an HTML page: ${title}`;
}
