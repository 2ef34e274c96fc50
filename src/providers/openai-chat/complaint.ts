/**
 * What a server says of a failure, in every shape that servers use: OpenAI's `{error: {…}}`, the
 * same at the top (vLLM, Mistral, Cerebras), `{error: "text"}` (xAI), `{detail: […]}` (FastAPI),
 * `{message}`, a list around it (Gemini), an HTML page of a proxy, plain text, or nothing.
 */
import {
  asObject,
  asString,
  type JsonObject,
  objectIn,
  objectsIn,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";

/** A failure in a server's words. */
export interface Complaint {
  /** A word for the failure; empty where there is none. Numbers are no words. */
  readonly code: string;
  readonly type: string;
  readonly message: string;
  /** The HTTP status that the body itself names, as it does inside a stream. */
  readonly status: number | undefined;
  /** Whether the server lists what its moderation objects to (OpenRouter). */
  readonly isModerated: boolean;
}

const NOTHING: Complaint = { code: "", type: "", message: "", status: undefined, isModerated: false };

/** The complaint in a body, chunk or choice. */
export function complaintIn(body: JsonObject): Complaint {
  const error = asObject(body.error) ?? objectsIn(body.errors)[0] ?? body;
  const metadata = objectIn(error.metadata);
  const own: Complaint = {
    code: wordIn(error.code),
    type: error.type === "error" ? "" : textIn(error.type),
    message: messageIn(error, body),
    status: statusIn(error) ?? statusIn(body),
    isModerated: objectsOrTexts(metadata.reasons).length > 0,
  };
  return withUpstream(own, upstreamIn(metadata));
}

/** The complaint in a body that is no JSON object. */
export function complaintInText(body: string): Complaint {
  const first = objectsIn(tryParseJson(body))[0];
  if (first !== undefined) return complaintIn(first);
  if (!/^\s*<(?:!doctype|html|\?xml|head|body)/i.test(body)) return { ...NOTHING, message: body };
  const title = /<title[^>]*>([^<]{1,200})</i.exec(body)?.[1]?.trim() ?? "";
  return { ...NOTHING, message: title === "" ? "an HTML page" : `an HTML page: ${title}` };
}

function messageIn(error: JsonObject, body: JsonObject): string {
  const nested = asObject(error.message);
  return (
    asString(error.message) ??
    asString(body.error) ??
    asString(asObject(body.x_groq)?.error) ??
    (detailIn(nested?.detail) || detailIn(body.detail) || textIn(objectIn(body.fault).faultstring))
  );
}

/** FastAPI's `detail`: a text, or a list of what is wrong where. What the caller sent is in it too and stays out. */
function detailIn(detail: unknown): string {
  if (typeof detail === "string") return detail;
  const lines = objectsIn(detail).map(({ loc, msg }) => {
    const place = objectsOrTexts(loc).join(".");
    return place === "" ? textIn(msg) : `${place}: ${textIn(msg)}`;
  });
  return lines.join("; ") || textIn(asObject(detail)?.message);
}

/** The complaint of the server behind a router, which says more than the router's own. */
function upstreamIn({ raw }: JsonObject): Complaint | undefined {
  const parsed = typeof raw === "string" ? tryParseJson(raw) : raw;
  const body = asObject(parsed);
  if (body !== undefined) return complaintIn(body);
  return typeof raw === "string" && raw !== "" ? complaintInText(raw) : undefined;
}

function withUpstream(own: Complaint, upstream: Complaint | undefined): Complaint {
  if (upstream === undefined) return own;
  return {
    ...own,
    code: own.code || upstream.code,
    type: own.type || upstream.type,
    message: upstream.message === "" ? own.message : `${own.message}: ${upstream.message}`,
  };
}

/** A code that is one word. Numbers stand for statuses, and xAI puts a sentence there. */
function wordIn(code: unknown): string {
  return typeof code === "string" && /^[A-Za-z][\w.-]*$/.test(code) ? code : "";
}

function statusIn({ code, status, status_code: snake, statusCode: camel }: JsonObject): number | undefined {
  return [code, status, snake, camel].map(Number).find((number) => number >= 400 && number <= 599);
}

function objectsOrTexts(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
