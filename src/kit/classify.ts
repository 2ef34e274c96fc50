/** What all adapters know about failures: statuses, and how much of a provider's words may be repeated. */
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";

/**
 * The kind of a failed HTTP answer by its status alone (specification §6.4 and the statuses
 * that providers added since). 409 and what is unknown stay PROVIDER, which is retryable.
 */
export function kindOfStatus(status: number): ErrorKind {
  const exact = KIND_OF_STATUS.get(status);
  if (exact !== undefined) return exact;
  if (status >= 500) return ErrorKind.SERVER;
  return status >= 400 ? ErrorKind.INVALID_REQUEST : ErrorKind.PROVIDER;
}

const KIND_OF_STATUS: ReadonlyMap<number, ErrorKind> = new Map([
  [401, ErrorKind.AUTHENTICATION],
  [402, ErrorKind.QUOTA_EXCEEDED],
  [403, ErrorKind.ACCESS_DENIED],
  [404, ErrorKind.NOT_FOUND],
  [408, ErrorKind.REQUEST_TIMEOUT],
  [409, ErrorKind.PROVIDER],
  [413, ErrorKind.CONTEXT_LENGTH],
  [429, ErrorKind.RATE_LIMIT],
  [499, ErrorKind.ABORT],
  [501, ErrorKind.INVALID_REQUEST],
]);

const MAX_RAW_CHARS = 2048;

/** A provider's body for `raw_json`: at most 2 KiB, and never half a character. */
export function boundedRaw(body: string): string {
  return body.length <= MAX_RAW_CHARS ? body.toWellFormed() : body.slice(0, MAX_RAW_CHARS).toWellFormed();
}

const MAX_MESSAGE_CHARS = 500;
const ECHO_CHARS = 24;
const SHORTEST_ECHO_CHARS = 8;
const KEY_LIKE = /\b(?:sk|pk|rk|key|AIza|Bearer)[-_ ]?[A-Za-z0-9*._-]{8,}/g;

/**
 * A provider's message as far as it may be repeated: bounded, without anything that looks like
 * a key, and not at all where it repeats the caller's own text, since an error holds no prompt.
 */
export function repeatableMessage(message: string, { messages }: Request): string {
  const bounded = message.replace(/\s+/g, " ").trim().slice(0, MAX_MESSAGE_CHARS).toWellFormed();
  if (echoes(bounded, messages)) return "(the provider's message repeats the prompt and is left out)";
  return bounded.replace(KEY_LIKE, "(key)");
}

function echoes(text: string, messages: readonly Message[]): boolean {
  const windows: string[] = [];
  // Half a window's step finds every echo of one and a half windows.
  for (let at = 0; at + ECHO_CHARS <= text.length; at += ECHO_CHARS / 2)
    windows.push(text.slice(at, at + ECHO_CHARS));
  return textsOf(messages).some((prompt) => isEchoed(prompt, text, windows));
}

function isEchoed(prompt: string, text: string, windows: readonly string[]): boolean {
  if (prompt.length < SHORTEST_ECHO_CHARS) return false;
  return prompt.length <= 2 * ECHO_CHARS
    ? text.includes(prompt)
    : windows.some((window) => prompt.includes(window));
}

function textsOf(messages: readonly Message[]): string[] {
  return messages.flatMap(({ content }) =>
    content.flatMap(({ part }) => {
      if (part.case === "text") return [part.value.replace(/\s+/g, " ").trim()];
      if (part.case !== "toolResult") return [];
      return part.value.content.flatMap((inner) => (inner.part.case === "text" ? [inner.part.value] : []));
    }),
  );
}
