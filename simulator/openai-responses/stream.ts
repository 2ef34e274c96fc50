import type { Obfuscation, StreamEvent } from "../../src/wire/openai-responses/stream.ts";
import type { Untrusted } from "../../src/wire/untrusted.ts";
import { describeFailure } from "../openai/failure.ts";
import { createObfuscator, type Obfuscator } from "../openai/obfuscation.ts";
import { type DeltaStyle, splitDeltas } from "../script/deltas.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type {
  ImagePart,
  Part,
  ReasoningPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
  Turn,
} from "../script/turn.ts";
import type { FailureStyle, StreamedAnswer, WireEvent } from "../wire-format.ts";
import {
  finishedItem,
  type ItemSettings,
  imageFacts,
  openItem,
  textContent,
  toAnnotations,
  toSummary,
} from "./output-items.ts";
import type { ResponseStates, SimulatedResponse } from "./response-object.ts";

/** The input for rendering a stream. */
export interface StreamSource {
  readonly turn: Turn;
  readonly items: ItemSettings;
  readonly states: ResponseStates;
  /** Called with the response when it is complete, before its last event is rendered. */
  readonly onFinished: (response: SimulatedResponse) => void;
  /** Whether deltas are padded, so that their sizes do not reveal their content. */
  readonly obfuscates: boolean;
}

type EventType = StreamEvent["type"];

/** Fields of an event of one type. Their values are the simulator's items and responses. */
type EventFields<Type extends EventType> = Untrusted<Extract<StreamEvent, { type: Type }> & Obfuscation>;

interface Renderer {
  readonly source: StreamSource;
  readonly obfuscate: Obfuscator;
  /** Numbers and frames an event. */
  readonly event: <Type extends EventType>(
    type: Type,
    fields: EventFields<Type>,
    tokens?: number,
  ) => WireEvent;
}

/** Position of an item in the response. */
interface Place {
  readonly output_index: number;
  readonly item_id: string;
}

/**
 * Renders an answer as the events of OpenAI's Responses API, each when the iterator asks for it. Events are numbered in
 * the order in which they are rendered.
 */
export function renderEvents(
  source: StreamSource,
  headers: Readonly<Record<string, string>>,
): StreamedAnswer {
  let sequence = 0;
  const event = <Type extends EventType>(type: Type, fields: EventFields<Type>, tokens = 0): WireEvent => {
    const data = JSON.stringify({ type, sequence_number: sequence, ...fields });
    sequence += 1;
    return { text: `event: ${type}\ndata: ${data}\n\n`, tokens, terminal: terminals.has(type) };
  };
  const renderer: Renderer = { source, event, obfuscate: createObfuscator(source.obfuscates) };
  return {
    headers,
    events: () => responseEvents(renderer),
    failure: (style, code) => failureEvents(renderer, style, code),
    keepAlive: () => event("keepalive", {}),
  };
}

const terminals = new Set<EventType>(["response.completed", "response.incomplete"]);

function* responseEvents(renderer: Renderer): Generator<WireEvent, undefined> {
  const { source, event } = renderer;
  const { turn, items, states } = source;
  yield event("response.created", { response: states.open() });
  if (turn.repeatsStart) yield event("response.created", { response: states.open() });
  yield event("response.in_progress", { response: states.open() });
  for (const [index, part] of turn.parts.entries()) {
    const item = openItem(part, index, items);
    yield event("response.output_item.added", { output_index: index, item }, hiddenTokens(part, items));
    yield* partEvents(renderer, part, { output_index: index, item_id: items.ids[index] ?? "" });
    yield event("response.output_item.done", {
      output_index: index,
      item: finishedItem(part, index, items, "done"),
    });
  }
  const output = turn.parts.map((part, index) => finishedItem(part, index, items, "completed"));
  const last = turn.stop === "end" ? "response.completed" : "response.incomplete";
  const response = states.finished(turn, output);
  source.onFinished(response);
  yield event(last, { response });
}

/** Returns the tokens that an item costs before any text shows: reasoning without a summary takes time as well. */
function hiddenTokens(part: Part, items: ItemSettings): number {
  if (part.kind !== "reasoning") return 0;
  return toSummary(part, items).reduce((left, text) => left - countTokens(text), part.tokens);
}

function partEvents(renderer: Renderer, part: Part, place: Place): Iterable<WireEvent> {
  switch (part.kind) {
    case "reasoning":
      return reasoningEvents(renderer, part, place);
    case "text":
      return textEvents(renderer, part, place);
    case "refusal":
      return refusalEvents(renderer, part, place);
    case "tool_call":
      return part.freeform
        ? customCallEvents(renderer, part, place)
        : functionCallEvents(renderer, part, place);
    case "web_search":
      return hostedEvents(renderer, webSearchEvents, place);
    case "image":
      return imageEvents(renderer, part, place);
    default:
      return part satisfies never;
  }
}

function* reasoningEvents(renderer: Renderer, part: ReasoningPart, place: Place): Generator<WireEvent> {
  const { event, obfuscate, source } = renderer;
  const shown = toSummary(part, source.items);
  for (const [summary_index, text] of shown.entries()) {
    const at = { ...place, summary_index };
    yield event("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } });
    for (const delta of split(renderer, text)) {
      yield event("response.reasoning_summary_text.delta", { ...at, delta, ...obfuscate(delta) }, 1);
    }
    yield event("response.reasoning_summary_text.done", { ...at, text });
    yield event("response.reasoning_summary_part.done", { ...at, part: { type: "summary_text", text } });
  }
}

function* textEvents(renderer: Renderer, part: TextPart, place: Place): Generator<WireEvent> {
  const { event, obfuscate } = renderer;
  const at = { ...place, content_index: 0 };
  const annotations = toAnnotations(part);
  yield event("response.content_part.added", {
    ...at,
    part: { type: "output_text", annotations: [], logprobs: [], text: "" },
  });
  let sent = 0;
  let annotation_index = 0;
  for (const delta of split(renderer, part.text, part.firstDelta)) {
    yield event(
      "response.output_text.delta",
      { ...at, delta, logprobs: [], ...obfuscate(delta) },
      countDeltaTokens(delta),
    );
    sent += delta.length;
    for (; (part.citations[annotation_index]?.end ?? Infinity) <= sent; annotation_index += 1) {
      const annotation = annotations[annotation_index];
      yield event("response.output_text.annotation.added", { ...at, annotation_index, annotation });
    }
  }
  yield event("response.output_text.done", { ...at, text: part.text, logprobs: [] });
  yield event("response.content_part.done", { ...at, part: textContent(part) });
}

/** Yields the events of a refusal, without obfuscation, as recorded. */
function* refusalEvents(renderer: Renderer, { text }: RefusalPart, place: Place): Generator<WireEvent> {
  const { event } = renderer;
  const at = { ...place, content_index: 0 };
  yield event("response.content_part.added", { ...at, part: { type: "refusal", refusal: "" } });
  for (const delta of split(renderer, text)) yield event("response.refusal.delta", { ...at, delta }, 1);
  yield event("response.refusal.done", { ...at, refusal: text });
  yield event("response.content_part.done", { ...at, part: { type: "refusal", refusal: text } });
}

function* functionCallEvents(renderer: Renderer, part: ToolCallPart, place: Place): Generator<WireEvent> {
  const { event, obfuscate } = renderer;
  for (const delta of split(renderer, part.input, part.firstDelta)) {
    yield event(
      "response.function_call_arguments.delta",
      { ...place, delta, ...obfuscate(delta) },
      countDeltaTokens(delta),
    );
  }
  yield event("response.function_call_arguments.done", { ...place, arguments: part.input });
}

function* customCallEvents(renderer: Renderer, part: ToolCallPart, place: Place): Generator<WireEvent> {
  const { event, obfuscate } = renderer;
  for (const delta of split(renderer, part.input, part.firstDelta)) {
    yield event(
      "response.custom_tool_call_input.delta",
      { ...place, delta, ...obfuscate(delta) },
      countDeltaTokens(delta),
    );
  }
  yield event("response.custom_tool_call_input.done", { ...place, input: part.input });
}

const webSearchEvents: readonly EventType[] = [
  "response.web_search_call.in_progress",
  "response.web_search_call.searching",
  "response.web_search_call.completed",
];

function* hostedEvents({ event }: Renderer, types: readonly EventType[], place: Place): Generator<WireEvent> {
  for (const type of types) yield event(type, { ...place });
}

function* imageEvents(renderer: Renderer, part: ImagePart, place: Place): Generator<WireEvent> {
  const { event } = renderer;
  yield event("response.image_generation_call.in_progress", { ...place });
  yield event("response.image_generation_call.generating", { ...place });
  for (let partial_image_index = 0; partial_image_index < part.previews; partial_image_index += 1) {
    const preview = { partial_image_index, partial_image_b64: part.data, ...imageFacts(part) };
    yield event("response.image_generation_call.partial_image", { ...place, ...preview });
  }
  yield event("response.image_generation_call.completed", { ...place });
}

function failureEvents(
  renderer: Renderer,
  style: FailureStyle,
  requested: string | undefined,
): readonly WireEvent[] {
  const { event, source } = renderer;
  const { code, message, param, type } = describeFailure(requested);
  switch (style) {
    case "event":
      return [event("error", { code, message, param })];
    case "failed":
      return [event("response.failed", { response: source.states.failed(code) })];
    case "nested":
      return [
        event("error", { error: { type, code, message, param } }),
        event("response.failed", { response: source.states.failed(code) }),
      ];
    default:
      return style satisfies never;
  }
}

function split(renderer: Renderer, text: string, firstDelta = 0): Iterable<string> {
  const style: DeltaStyle = { firstDelta, halfSurrogates: renderer.source.turn.halfSurrogates };
  return splitDeltas(text, style);
}
