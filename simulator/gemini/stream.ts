import type { ErrorBody } from "../../src/wire/gemini/error.ts";
import type { StreamChunk } from "../../src/wire/gemini/stream.ts";
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

/** The input for rendering a stream. */
export interface StreamSource {
  readonly origin: ResponseOrigin;
  readonly settings: PartSettings;
  /** Whether objects are server-sent events; otherwise they are the elements of one JSON list. */
  readonly sse: boolean;
}

/** The framing of objects. */
interface Frame {
  /**
   * Frames an object. @param tokens Output tokens of the object. @param length Minimum length of the event, in
   * characters.
   */
  event(object: StreamChunk, tokens: number, length?: number): WireEvent;
  /** Frames the last object. */
  last(object: StreamChunk, tokens: number, length?: number): WireEvent;
}

/** Renders an answer as the objects that `streamGenerateContent` sends. The API sends no keep-alives. */
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

/**
 * Yields the events of an answer. A model with signatures ends with a separate chunk; other models end with the last
 * piece of the answer.
 */
function* answerEvents({ origin, settings }: StreamSource, frame: Frame): Generator<WireEvent, undefined> {
  const { turn } = origin;
  if (isBlocked(turn)) {
    yield frame.last(blockedObject(origin), turn.usage.outputTokens);
    return;
  }
  let progress: Progress = { candidateTokens: 0, thoughtsDone: false };
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
  return { candidateTokens: candidateTokens + piece.candidateTokens, thoughtsDone: !isThought };
}

/** Renders a failure: an event with an error, or, in the other styles, plain JSON after the events. */
function failureEvent(frame: Frame, style: FailureStyle, code: string | undefined): WireEvent {
  const error: ErrorBody = { error: describeFailure(code) };
  if (style === "event") return { ...frame.last(error, 0), terminal: false };
  return { text: `${JSON.stringify(error, undefined, 2)}\r\n`, tokens: 0, terminal: false };
}

/** Server-sent events without names, with CRLF as Google sends them. */
const eventFrame: Frame = {
  event: (object, tokens, length = 0) => serverSentEvent(object, tokens, length, false),
  last: (object, tokens, length = 0) => serverSentEvent(object, tokens, length, true),
};

function serverSentEvent(object: object, tokens: number, length: number, terminal: boolean): WireEvent {
  return { text: `data: ${padJson(JSON.stringify(object), length)}\r\n\r\n`, tokens, terminal };
}

/** Creates a frame for one JSON list of all objects. */
function createListFrame(): Frame {
  let hasElements = false;
  const element = (object: object, tokens: number, length: number, terminal: boolean): WireEvent => {
    const before = hasElements ? ",\r\n" : "[";
    hasElements = true;
    const text = padJson(JSON.stringify(object, undefined, 2), length);
    return { text: `${before}${text}${terminal ? "\r\n]" : ""}`, tokens, terminal };
  };
  return {
    event: (object, tokens, length = 0) => element(object, tokens, length, false),
    last: (object, tokens, length = 0) => element(object, tokens, length, true),
  };
}

/** Pads JSON with white space to a minimum length. */
function padJson(json: string, length: number): string {
  return json.length >= length ? json : `{${" ".repeat(length - json.length)}${json.slice(1)}`;
}
