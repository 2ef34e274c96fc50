/**
 * The failure in a body, in every shape that servers use: OpenAI's `{error: {…}}`, the same at the top (vLLM, Mistral,
 * Cerebras), `{error: "text"}` (xAI), `{detail: […]}` (FastAPI), `{message}`, `{base_resp: {…}}` (MiniMax), a list
 * around it (Gemini), an HTML page of a proxy, plain text, or nothing.
 */
import { readFailureBody } from "../../kit/adapter/failure-body.ts";
import { asObject, asString, objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import type {
  BaseStatus,
  ErrorBody,
  ErrorFields,
  ErrorMetadata,
  ValidationDetail,
} from "../../wire/openai-chat/error.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** A failure as a body reports it. */
export interface ProviderErrorBody {
  /** One word for the failure; empty if there is none. */
  readonly code: string;
  /** A code that is a number and not an HTTP status; empty if there is none. */
  readonly codeNumber: string;
  readonly type: string;
  readonly message: string;
  /** The field that is wrong; empty if the server names none. */
  readonly param: string;
  /** The HTTP status that the body names, as inside a stream. */
  readonly status: number | undefined;
  /** Whether the server lists the objections of its moderation (OpenRouter, Z.ai). */
  readonly isModerated: boolean;
}

const EMPTY: ProviderErrorBody = {
  code: "",
  codeNumber: "",
  type: "",
  message: "",
  param: "",
  status: undefined,
  isModerated: false,
};

/** An object that may hold the facts of a failure: the body, or its `error`. */
type ErrorHolder = Untrusted<ErrorBody & ErrorFields>;

/** Reads the failure in a body, chunk or choice. */
export function readErrorBody(body: ErrorHolder): ProviderErrorBody {
  const error = asObject<ErrorFields>(body.error) ?? objectsIn<ErrorFields>(body.errors)[0] ?? body;
  const metadata = objectIn<ErrorMetadata>(error.metadata);
  const failedStatus = body.error === undefined ? getFailedStatus(body) : undefined;
  if (failedStatus !== undefined) return ofStatus(failedStatus);
  const reported: ProviderErrorBody = {
    code: readCode(error.code) || readCode(body.error_code),
    codeNumber: readCodeNumber(error.code) || readCodeNumber(body.error_code),
    type: error.type === "error" ? "" : textIn(error.type) || textIn(body.error_type),
    message: readErrorMessage(error, body),
    param: textIn(error.param) || readFirstLocation(body.detail),
    status: readStatus(error) ?? readStatus(body),
    isModerated: asList(metadata.reasons).length + asList(body.contentFilter).length > 0,
  };
  return withUpstream(reported, readUpstreamError(metadata));
}

/** Returns the status that MiniMax puts alongside each answer, if it is the one of a failure. */
export function getFailedStatus({ base_resp: status }: ErrorHolder): Untrusted<BaseStatus> | undefined {
  const known = asObject<BaseStatus>(status);
  return known !== undefined && !IS_SUCCESS.has(known.status_code) ? known : undefined;
}

const IS_SUCCESS: ReadonlySet<unknown> = new Set([undefined, null, "", 0, "0"]);

function ofStatus({ status_code: code, status_msg: message }: Untrusted<BaseStatus>): ProviderErrorBody {
  const number = Number(code);
  return {
    ...EMPTY,
    code: String(code),
    message: textIn(message),
    status: STATUS_OF_CODE.get(number) ?? 500,
    isModerated: number === 1026 || number === 1027,
  };
}

/** The HTTP statuses of MiniMax's codes (documentation: "Error codes"). All others are failures of the server. */
const STATUS_OF_CODE: ReadonlyMap<number, number> = new Map([
  [1001, 504],
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1026, 400],
  [1027, 400],
  [1039, 429],
  [1041, 429],
  [1042, 400],
  [2013, 400],
  [2045, 429],
  [2049, 401],
  [2056, 429],
]);

/** Returns the failure in a body that is only text. */
export function plainError(message: string): ProviderErrorBody {
  return { ...EMPTY, message };
}

function readErrorMessage(error: Untrusted<ErrorFields>, body: ErrorHolder): string {
  const nested = asObject<ErrorBody>(error.message);
  return (
    asString(error.message) ??
    asString(body.error) ??
    asString(asObject<ErrorBody["x_groq"]>(body.x_groq)?.error) ??
    (readDetail(nested?.detail) ||
      readDetail(body.detail) ||
      textIn(body.error_msg) ||
      textIn(body.title) ||
      textIn(objectIn<ErrorBody["fault"]>(body.fault).faultstring))
  );
}

/**
 * Reads FastAPI's `detail`: a text, or a list of mistakes with their places. It also repeats the caller's input, which
 * is dropped.
 */
function readDetail(detail: unknown): string {
  if (typeof detail === "string") return detail;
  const lines = objectsIn<ValidationDetail>(detail).map(({ loc, msg }) => {
    const path = asList(loc).join(".");
    return path === "" ? textIn(msg) : `${path}: ${textIn(msg)}`;
  });
  const fields = asObject<ErrorBody & ErrorFields>(detail);
  return lines.join("; ") || textIn(fields?.message) || textIn(fields?.error);
}

/** Returns the first field that FastAPI found wrong, without the part of the request that it is in. */
function readFirstLocation(detail: unknown): string {
  const [part, ...path] = asList(objectsIn<ValidationDetail>(detail)[0]?.loc);
  return part === "body" ? path.join(".") : "";
}

/** Returns the failure of the server behind a router, which is more precise than the router's. */
function readUpstreamError({ raw }: Untrusted<ErrorMetadata>): ProviderErrorBody | undefined {
  const body = asObject<ErrorBody>(raw);
  if (body !== undefined) return readErrorBody(body);
  if (typeof raw !== "string") return undefined;
  const { object, text } = readFailureBody<ErrorBody>(raw);
  if (object !== undefined) return readErrorBody(object);
  return text === "" ? undefined : plainError(text);
}

function withUpstream(
  reported: ProviderErrorBody,
  upstream: ProviderErrorBody | undefined,
): ProviderErrorBody {
  if (upstream === undefined) return reported;
  return {
    ...reported,
    code: reported.code || upstream.code,
    codeNumber: reported.codeNumber || upstream.codeNumber,
    type: reported.type || upstream.type,
    param: reported.param || upstream.param,
    message: upstream.message === "" ? reported.message : `${reported.message}: ${upstream.message}`,
  };
}

/** Returns a code that is one word. Numbers stand for statuses, and xAI puts a sentence there. */
function readCode(code: unknown): string {
  return typeof code === "string" && /^[A-Za-z][\w.-]*$/.test(code) ? code : "";
}

/** Returns a code that is a number of the server, not an HTTP status. */
function readCodeNumber(code: unknown): string {
  const text = typeof code === "number" ? String(code) : textIn(code);
  return /^\d{1,12}$/.test(text) && !isStatus(Number(text)) && Number(text) !== 0 ? text : "";
}

function readStatus({
  code,
  status,
  status_code: snake,
  statusCode: camel,
  http_status_code: http,
}: Untrusted<ErrorFields>): number | undefined {
  return [http, code, status, snake, camel].map(Number).find(isStatus);
}

function isStatus(number: number): boolean {
  return number >= 400 && number <= 599;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
