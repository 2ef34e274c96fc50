/**
 * Their events -> our events (provider documentation: "Streaming events"); `#dispatch` has one case for each event,
 * and one method for each kind of case. State is kept by `output_index`, since item ids differ between events on some
 * servers.
 */

import { StreamError } from "../../core/errors.ts";
import { measureMemory } from "../../core/memory-pool.ts";
import { GrowingText } from "../../core/text.ts";
import { isFailureReport, isUnnamedFailure, unreadableEvent } from "../../kit/adapter/failure-body.ts";
import { findNegativeCounts } from "../../kit/adapter/usage.ts";
import { answerMissing, type CallFacts } from "../../kit/call/call-facts.ts";
import {
  asInt32,
  asObject,
  asString,
  objectIn,
  objectsIn,
  textIn,
  toText,
  tryParseJson,
  tryReadJson,
} from "../../kit/json/json.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import { type DeltaRun, DeltaTemplate } from "../../kit/stream/delta-template.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamWriter } from "../../kit/stream/stream-writer.ts";
import { END_OF_STREAM } from "../../wire/openai-chat/stream.ts";
import type { ErrorBody } from "../../wire/openai-responses/error.ts";
import type {
  Annotation,
  OutputContent,
  OutputItem,
  ResponseObject,
} from "../../wire/openai-responses/response.ts";
import type { StreamEvent } from "../../wire/openai-responses/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toCitations } from "./citations.ts";
import { reportedError } from "./error.ts";
import { toFinishReason } from "./finish-reason.ts";
import {
  announceOther,
  announceText,
  appendReasoning,
  completeReasoning,
  type DonePart,
  getContent,
  ItemTable,
  nameCall,
  type OpenItem,
  type OpenMessage,
  type OpenReasoning,
  type OpenText,
  openItem,
  textAt,
} from "./open-blocks.ts";
import { isRedacted, reasoningText } from "./reasoning.ts";
import {
  CANCELLED,
  callInput,
  getTransformationWarnings,
  INCOMPLETE,
  isFailure,
  isUnfinished,
  messagePart,
  messageText,
  reasoningBeside,
  singlePart,
} from "./response.ts";
import { StateWriter } from "./state.ts";
import { toMetadata, toUsage } from "./usage.ts";

/** Decodes one stream of the Responses API. */
export class ResponsesDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  readonly #items = new ItemTable();
  readonly #states: StateWriter;
  readonly #template = new DeltaTemplate();
  /** The text whose deltas are like the template. */
  #latest: OpenText["block"] | undefined;

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
    this.#states = new StateWriter(facts);
  }

  push({ data, type }: SseEvent): void {
    if (data === END_OF_STREAM) return;
    const event = asObject<StreamEvent>(TEXT_DELTAS.has(type) ? tryReadJson(data) : tryParseJson(data));
    if (event === undefined && type === "error") throw reportedError({ detail: data }, this.#facts);
    if (event === undefined) throw unreadableEvent(data);
    const kind = asString(event.type) ?? type;
    // Some servers name the failure only in the SSE field `event`, or do not name the event at all.
    const isFailure = type === "error" || isUnnamedFailure(kind, event);
    this.#latest = undefined;
    this.#dispatch(isFailure ? "error" : kind, event);
    const text = kind === "response.output_text.delta" ? asString(event.delta) : undefined;
    // Most deltas differ from the one before only in their text, their number and their padding.
    if (text !== undefined && this.#template.learn({ data, type }, "delta", text, VARYING))
      this.#latest = this.#textAt(kind, event).block;
  }

  pushDeltas(bytes: Buffer, start: number, maxEventBytes: number, joins: boolean): DeltaRun | undefined {
    const latest = this.#latest;
    if (latest === undefined) return undefined;
    const run = this.#template.readRun(bytes, start, maxEventBytes, joins);
    for (const text of run?.texts ?? []) latest.append(text);
    return run;
  }

  /**
   * Ends the stream. Only a terminal event ends this protocol.
   * @param rest Text outside of any event: some servers write an error's body into the stream unchanged.
   */
  end(rest: string): void {
    const body = objectIn<ErrorBody>(tryParseJson(rest));
    if (isFailure(body) || isFailureReport(body)) throw reportedError(body, this.#facts);
  }

  #dispatch(type: string, event: Untrusted<StreamEvent>): void {
    switch (type) {
      case "error":
        throw reportedError(event, this.#facts);
      case "response.failed":
        return this.#fail(objectIn<ResponseObject>(event.response));
      case "response.created":
        return this.#start(event);
      case "response.output_item.added":
        return this.#announceItem(event);
      case "response.content_part.added":
      case "response.content_part.done":
        return this.#completeContentPart(event);
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#textAt(type, event).block.append(textIn(event.delta));
      case "response.output_text.done":
      case "response.refusal.done":
        return this.#completeText(type, event);
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
      // The name in the specification of Open Responses.
      case "response.reasoning.delta":
        return this.#appendReasoning(type, event);
      case "response.reasoning_summary_text.done":
      case "response.reasoning_text.done":
      case "response.reasoning.done":
        return this.#completeReasoning(type, event);
      case "response.function_call_arguments.delta":
        return this.#appendCall(event, "function_call");
      case "response.custom_tool_call_input.delta":
        return this.#appendCall(event, "custom_tool_call");
      case "response.function_call_arguments.done":
        return this.#completeCall(event, "function_call", toText(event.arguments));
      case "response.custom_tool_call_input.done":
        return this.#completeCall(event, "custom_tool_call", toText(event.input));
      case "response.output_item.done": {
        const item = objectIn<OutputItem>(event.item);
        return this.#endItem(this.#items.indexOf(event, item.type), item);
      }
      case "response.completed":
        return this.#finish(objectIn<ResponseObject>(event.response));
      case "response.incomplete":
        return this.#finishEarly(objectIn<ResponseObject>(event.response), INCOMPLETE);
      case "response.cancelled":
        return this.#finishEarly(objectIn<ResponseObject>(event.response), CANCELLED);
      case "response.output_text.annotation.added":
        this.#keepAnnotation(type, event);
        return this.#forward(type, event);
      default:
        return this.#forward(type, event);
    }
  }

  /** Writes `stream_start` with the first event that shows the request was accepted. */
  #start(event: Untrusted<StreamEvent>): void {
    if (this.#writer.started) return;
    const model = textIn(objectIn<ResponseObject>(event.response).model);
    this.#states.model = model;
    this.#writer.start(model);
  }

  #announceItem(event: Untrusted<StreamEvent>): void {
    this.#start(event);
    const item = objectIn<OutputItem>(event.item);
    const index = this.#items.announce(event, item);
    if (index !== undefined) this.#openItem(index, item);
  }

  #openItem(index: number, item: Untrusted<OutputItem>): OpenItem {
    this.#writer.hold(measureMemory(item));
    const open = openItem(item, this.#writer);
    this.#items.begin(index, open);
    return open;
  }

  /** Text may begin before its first delta; other content comes with its finished item. */
  #completeContentPart(event: Untrusted<StreamEvent>): void {
    const part = objectIn<OutputContent>(event.part);
    const text = messageText(part);
    const open = this.#openAt(event, "message");
    if (open === undefined) return;
    const index = asInt32(event.content_index) ?? 0;
    if (text === undefined) return this.#announceOther(open, index, part);
    announceText(open, index, part.type === "refusal", this.#writer).block.complete(text);
  }

  #announceOther(open: OpenMessage, index: number, part: Untrusted<OutputContent>): void {
    // Some servers announce a part without saying what it is.
    if (textIn(part.type) === "") return;
    this.#writer.hold(measureMemory(part));
    announceOther(open, index, part, this.#writer);
  }

  /** @param type Type of the event or part, which shows whether the model refuses. */
  #textAt(type: string, event: Untrusted<StreamEvent>): OpenText {
    const open = this.#openAt(event, "message") ?? this.#begin(event, "message");
    return textAt(open, asInt32(event.content_index) ?? 0, type.includes("refusal"), this.#writer);
  }

  /** The text of an item that is done is complete already. */
  #completeText(type: string, event: Untrusted<StreamEvent>): void {
    if (this.#items.isDone(this.#items.indexOf(event, "message"))) return;
    this.#textAt(type, event).block.complete(textIn(event.text) || textIn(event.refusal));
  }

  #keepAnnotation(type: string, event: Untrusted<StreamEvent>): void {
    const annotation = asObject<Annotation>(event.annotation);
    if (annotation === undefined || this.#openAt(event, "message") === undefined) return;
    this.#writer.countCitations(1);
    this.#writer.hold(measureMemory(annotation));
    this.#textAt(type, event).annotations.push(annotation);
  }

  #appendReasoning(type: string, event: Untrusted<StreamEvent>): void {
    const open = this.#openAt(event, "reasoning") ?? this.#begin(event, "reasoning");
    const delta = textIn(event.delta);
    this.#writer.hold(delta.length);
    appendReasoning(open, reasoningPart(type, event), delta);
  }

  #completeReasoning(type: string, event: Untrusted<StreamEvent>): void {
    if (this.#items.isDone(this.#items.indexOf(event, "reasoning"))) return;
    const open = this.#openAt(event, "reasoning") ?? this.#begin(event, "reasoning");
    completeReasoning(open, reasoningPart(type, event), textIn(event.text));
  }

  #appendCall(event: Untrusted<StreamEvent>, type: string): void {
    this.#start(event);
    const index = this.#items.indexOf(event, type);
    const open =
      this.#items.open.get(index) ??
      (this.#items.isDone(index) ? undefined : this.#openItem(index, { type }));
    if (open?.kind === "call") open.block.append(textIn(event.delta));
    if (open?.kind !== "nameless call") return;
    this.#writer.hold(textIn(event.delta).length);
    open.input.append(textIn(event.delta));
  }

  #completeCall(event: Untrusted<StreamEvent>, type: string, input: string): void {
    const open = this.#items.open.get(this.#items.indexOf(event, type));
    if (open?.kind === "call") open.block.complete(input);
    if (open?.kind === "nameless call" && input !== "") open.input = new GrowingText(input);
  }

  /** Returns the item that an event belongs to, if it is open and has the type that the event is about. */
  #openAt<Type extends "message" | "reasoning">(
    event: Untrusted<StreamEvent>,
    type: Type,
  ): OpenOfType<Type> | undefined {
    const open = this.#items.open.get(this.#items.indexOf(event, type));
    return hasKind(open, type) ? open : undefined;
  }

  /** Begins an item that the server never announced. */
  #begin<Type extends "message" | "reasoning">(event: Untrusted<StreamEvent>, type: Type): OpenOfType<Type> {
    this.#start(event);
    const index = this.#items.indexOf(event, type);
    const open = this.#items.open.has(index) ? undefined : this.#openItem(index, { type });
    if (!hasKind(open, type))
      throw new StreamError(`the provider sent a ${type} event for an item of another kind`);
    return open;
  }

  /** Ends an item. Its content completes the content from its events. */
  #endItem(index: number, item: Untrusted<OutputItem>): void {
    if (this.#items.isDone(index)) return;
    this.#start({});
    this.#writer.hold(measureMemory(item));
    const open = this.#items.open.get(index) ?? this.#openItem(index, item);
    this.#items.end(index, this.#endOpen(open, item));
  }

  /** Ends an open item, with everything that only the finished item holds. Returns the item with all its content. */
  #endOpen(open: OpenItem, item: Untrusted<OutputItem>): Untrusted<OutputItem> {
    switch (open.kind) {
      case "message":
        return this.#endMessage(open, item);
      case "reasoning":
        this.#endReasoning(open, item);
        return item;
      case "call":
        open.block.complete(callInput(item, open.block.text));
        open.block.end({ providerState: this.#states.ofCall(item), isUnfinished: isUnfinished(item) });
        return item;
      case "nameless call":
        nameCall(open, item, this.#writer).end({
          providerState: this.#states.ofCall(item),
          isUnfinished: isUnfinished(item),
        });
        return item;
      case "single part":
        this.#writer.addPart(singlePart(item, this.#states), open.partIndex);
        return item;
    }
  }

  #endReasoning({ block }: OpenReasoning, item: Untrusted<OutputItem>): void {
    block.complete(reasoningText(item));
    block.end({ redacted: isRedacted(item), providerState: this.#states.ofReasoning(item) });
  }

  #endMessage(open: OpenMessage, item: Untrusted<OutputItem>): Untrusted<OutputItem> {
    const content: Untrusted<OutputContent>[] = [];
    for (const done of getContent(open, item)) {
      this.#endContentPart(done, item);
      content.push(done.part);
    }
    if (content.length === 0)
      this.#writer.startText().end({ providerState: this.#states.ofEmptyMessage(item) });
    return { ...item, content };
  }

  #endContentPart({ open, part, partIndex }: DonePart, item: Untrusted<OutputItem>): void {
    const text = messageText(part);
    if (text === undefined) return this.#writer.addPart(messagePart(item, part, this.#states), partIndex);
    const block = open?.block ?? this.#writer.startText(part.type === "refusal");
    block.complete(text);
    block.end({ citations: toCitations(part, text), providerState: this.#states.ofMessagePart(item, part) });
  }

  /** Some servers name the status only in the type of the event. */
  #finishEarly(object: Untrusted<ResponseObject>, status: typeof INCOMPLETE | typeof CANCELLED): void {
    this.#finish({ ...object, status: asString(object.status) ?? status });
  }

  #finish(object: Untrusted<ResponseObject>): void {
    if (isFailure(object)) return this.#fail(object);
    this.#start({ response: object });
    this.#endMissedItems(object);
    for (const text of reasoningBeside(object, this.#items.done)) this.#writer.startReasoning().append(text);
    this.#facts.warnings.push(...getTransformationWarnings(object), ...findNegativeCounts(object.usage));
    const { includeRaw } = this.#facts.request;
    this.#writer.finish({
      id: textIn(object.id),
      model: textIn(object.model),
      finishReason: toFinishReason(object, this.#items.done),
      usage: toUsage(object.usage, includeRaw),
      rawJson: includeRaw ? JSON.stringify(object) : "",
      providerMetadataJson: toMetadata(object),
    });
  }

  /** Ends items that were missed: some servers send items only at the end, or never say that an item is done. */
  #endMissedItems(object: Untrusted<ResponseObject>): void {
    const output = objectsIn<OutputItem>(object.output);
    const { done } = this.#items;
    // Some servers give an item a different id in each mention, and do not count from zero.
    let isWhole = true;
    for (const [index, { type }] of output.entries()) isWhole &&= done[index]?.type === type;
    if (!isWhole) {
      const known = new Set(done.map(({ id }) => id));
      for (const [index, item] of output.entries())
        if (item.id === undefined || !known.has(item.id)) this.#endItem(index, item);
    }
    const isCut = object.status === INCOMPLETE || object.status === CANCELLED;
    for (const [index, { item }] of this.#items.open)
      this.#endItem(index, isCut ? { ...item, status: INCOMPLETE } : item);
    if (this.#items.done.length === 0 && !Array.isArray(object.output)) throw answerMissing(this.#facts);
  }

  #fail(object: Untrusted<ResponseObject>): void {
    const usage = toUsage(object.usage, this.#facts.request.includeRaw);
    this.#writer.readUsage = () => usage;
    throw reportedError(object, this.#facts);
  }

  #forward(type: string, event: Untrusted<StreamEvent>): void {
    if (type === "keepalive") return;
    this.#start(event);
    const isLost = !KEPT_ELSEWHERE.test(type);
    if (isLost || this.#facts.request.includeRaw) this.#writer.providerEvent(type, JSON.stringify(event));
  }
}

/**
 * Events whose content is in the item or response that ends them: they are passed on only if the caller asked for raw
 * events.
 */
const KEPT_ELSEWHERE = new RegExp(
  `^response\\.(?:${[
    "queued",
    "in_progress",
    "output_text\\.annotation\\.added",
    "reasoning_summary_part\\.(?:added|done)",
    "(?:web_search_call|file_search_call|code_interpreter_call|mcp_call|mcp_list_tools)\\..*",
    "(?:code_interpreter_call_code|mcp_call_arguments|shell_call_command)\\..*",
    "(?:shell_call_output_content|apply_patch_call_operation_diff)\\..*",
    "image_generation_call\\.(?:in_progress|generating|completed)",
    "compaction\\.compacting",
  ].join("|")})$`,
);

/** Returns the part of a reasoning item that an event is about: summary and content have separate indices. */
function reasoningPart(type: string, event: Untrusted<StreamEvent>): string {
  const list = type.startsWith("response.reasoning_summary_text.") ? "summary" : "content";
  return `${list} ${asInt32(event.summary_index) ?? asInt32(event.content_index) ?? 0}`;
}

/** Members of a delta that are not read. */
const VARYING: readonly string[] = ["sequence_number", "obfuscation"];

/** Events of which only the text is read. Their log probabilities are full of long numbers. */
const TEXT_DELTAS: ReadonlySet<string> = new Set([
  "response.output_text.delta",
  "response.refusal.delta",
  "response.reasoning_summary_text.delta",
  "response.reasoning_text.delta",
  "response.reasoning.delta",
  "response.function_call_arguments.delta",
  "response.custom_tool_call_input.delta",
]);

type OpenOfType<Type> = Extract<OpenItem, { kind: Type }>;

function hasKind<Type extends OpenItem["kind"]>(
  open: OpenItem | undefined,
  kind: Type,
): open is OpenOfType<Type> {
  return open?.kind === kind;
}
