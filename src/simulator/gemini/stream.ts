import type { FailureStyle, StreamedAnswer, WireEvent } from "../wire-format.ts";
import { closingPart, type PartSettings, type Piece, streamedPieces } from "./answer-parts.ts";
import { describeFailure } from "./failure.ts";
import {
  blockedObject,
  chunkObject,
  finalObject,
  isBlocked,
  type Progress,
  type ResponseOrigin,
} from "./response-object.ts";

/** What a stream is rendered from. */
export interface StreamSource {
  readonly origin: ResponseOrigin;
  readonly settings: PartSettings;
  /** Whether objects come as server-sent events; else as the elements of one JSON list. */
  readonly sse: boolean;
}

/** How an object is put on the wire. */
interface Frame {
  /** `tokens` are those of the answer, `length` what the event has at least, in characters. */
  event(object: object, tokens: number, length?: number): WireEvent;
  /** The last object. */
  last(object: object, tokens: number, length?: number): WireEvent;
}

/** Renders an answer as the objects that `streamGenerateContent` sends. It has no sign of life. */
export function renderStream(
  source: StreamSource,
  headers: Readonly<Record<string, string>>,
): StreamedAnswer {
  const frame = source.sse ? eventFrame : createListFrame();
  return {
    headers,
    events: () => answerEvents(source, frame),
    failure: (style, code) => [failureEvent(frame, style, code)],
    keepAlive: () => undefined,
  };
}

/** A model that signs ends with a chunk of its own; another one with the last of what it says. */
function* answerEvents({ origin, settings }: StreamSource, frame: Frame): Generator<WireEvent, undefined> {
  const { turn } = origin;
  if (isBlocked(turn)) {
    yield frame.last(blockedObject(origin), turn.usage.outputTokens);
    return;
  }
  let progress: Progress = { candidateTokens: 0, hasThought: false };
  let held: Piece = { parts: [], tokens: 0, candidateTokens: 0 };
  for (const piece of streamedPieces(turn, settings)) {
    if (held.parts.length > 0) {
      progress = after(progress, held);
      yield frame.event(chunkObject(origin, held.parts, progress), held.tokens, held.minimumLength);
      held = piece;
    } else held = { ...piece, tokens: held.tokens + piece.tokens };
  }
  if (settings.signs && held.parts.length > 0) {
    yield frame.event(
      chunkObject(origin, held.parts, after(progress, held)),
      held.tokens,
      held.minimumLength,
    );
    yield frame.last(finalObject(origin, [closingPart(turn, settings)]), 0);
  } else yield frame.last(finalObject(origin, held.parts), held.tokens, held.minimumLength);
}

function after({ candidateTokens }: Progress, piece: Piece): Progress {
  const isThought = piece.parts.some((part) => part.thought === true);
  return { candidateTokens: candidateTokens + piece.candidateTokens, hasThought: !isThought };
}

/** A failure is an event that holds an error, or, in the other styles, the bare error behind the events. */
function failureEvent(frame: Frame, style: FailureStyle, code: string | undefined): WireEvent {
  const error = { error: describeFailure(code) };
  if (style === "event") return { ...frame.last(error, 0), terminal: false };
  return { text: `${JSON.stringify(error, undefined, 2)}\r\n`, tokens: 0, terminal: false };
}

/** Server-sent events without names, with the line ends that Google sends. */
const eventFrame: Frame = {
  event: (object, tokens, length = 0) => serverSentEvent(object, tokens, length, false),
  last: (object, tokens, length = 0) => serverSentEvent(object, tokens, length, true),
};

function serverSentEvent(object: object, tokens: number, length: number, terminal: boolean): WireEvent {
  return { text: `data: ${stretch(JSON.stringify(object), length)}\r\n\r\n`, tokens, terminal };
}

/** One JSON list for all objects. */
function createListFrame(): Frame {
  let begun = false;
  const element = (object: object, tokens: number, length: number, terminal: boolean): WireEvent => {
    const before = begun ? ",\r\n" : "[";
    begun = true;
    const text = stretch(JSON.stringify(object, undefined, 2), length);
    return { text: `${before}${text}${terminal ? "\r\n]" : ""}`, tokens, terminal };
  };
  return {
    event: (object, tokens, length = 0) => element(object, tokens, length, false),
    last: (object, tokens, length = 0) => element(object, tokens, length, true),
  };
}

/** Makes JSON at least so long, with white space. */
function stretch(json: string, length: number): string {
  return json.length >= length ? json : `{${" ".repeat(length - json.length)}${json.slice(1)}`;
}
