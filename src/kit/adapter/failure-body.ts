import { type SDKError, StreamError } from "../../core/errors.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { answerMissing, type CallFacts } from "../call/call-facts.ts";
import { asObject, isJson, isTooDeep, MAX_READ_LEVELS, objectsIn, tryParseJson } from "../json/json.ts";

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
  return object === undefined ? { object, text: toPlainText(body.trim()) } : { object, text: "" };
}

/** Creates the error of a response with status 2xx whose body is not an answer. */
export function unreadableAnswer(body: string, facts: CallFacts): SDKError {
  return isTooDeep(body) ? answerTooDeep() : answerMissing(facts, describeBody(body));
}

/** Creates the error of a stream's event that is not a JSON object. */
export function unreadableEvent(data: string): StreamError {
  return isTooDeep(data)
    ? answerTooDeep()
    : new StreamError("an event of the provider's stream is not a JSON object");
}

/** A retry would fail in the same way. */
function answerTooDeep(): StreamError {
  return new StreamError(`the provider's answer has more than ${MAX_READ_LEVELS} levels of JSON`, {
    retryable: false,
  });
}

/** Describes the body of a successful response that is not an answer, for an error. */
export function describeBody(body: string): string {
  const text = body.trim();
  if (text === "") return "an empty body";
  if (isHtml(text)) return toPlainText(text);
  return isJson(text) ? "JSON that is not an answer" : "a body that is not JSON";
}

/**
 * Reports whether an object that is neither an answer nor an event of the API describes a failure. Proxies and
 * compatible servers write it in the forms of other APIs: `{error: {…}}`, `{error: "text"}`, `{detail}` (FastAPI),
 * `{object: "error", message}`.
 */
export function isFailureReport({ error, detail, object }: FailureFields): boolean {
  return isGiven(error) || isGiven(detail) || object === "error";
}

/**
 * Reports whether an event is a failure in the form of another API.
 * @param type The type by which the API names its events; empty if the event has none.
 */
export function isUnnamedFailure(type: string, event: FailureFields): boolean {
  // Servers with this form put the kind of the failure under `type` (vLLM).
  return event.object === "error" || (type === "" && isFailureReport(event));
}

interface FailureFields {
  readonly error?: unknown;
  readonly detail?: unknown;
  readonly object?: unknown;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function toPlainText(body: string): string {
  if (!isHtml(body)) return body;
  const title = /<title[^>]{0,200}>([^<]{1,200})</i.exec(body)?.[1]?.trim() ?? "";
  return title === "" ? "an HTML page" : `an HTML page: ${title}`;
}

function isHtml(body: string): boolean {
  return /^<(?:!doctype|html|\?xml|head|body)/i.test(body);
}
