import { create } from "@bufbuild/protobuf";
import { type Citation, type ContentPart, ContentPartSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { asObject, type JsonObject, objectIn, objectsIn, textIn } from "../../kit/json/json.ts";
import type { ReasoningBlock, StreamWriter, TextBlock } from "../../kit/stream/stream-writer.ts";
import { AudioCollector } from "./audio.ts";
import { annotationsIn } from "./citations.ts";
import { imagePartOf } from "./images.ts";
import { ToolCallReader } from "./open-blocks.ts";
import type { ServerProfile } from "./profile.ts";
import { addDetails, textOfDetails } from "./reasoning-details.ts";
import type { StateWriter, TextRole } from "./state.ts";
import { ThinkTagSplitter } from "./think-tags.ts";
import { saysNothing, ThinkingChunkCollector } from "./thinking-chunk.ts";
import type { ContentChunk, Delta } from "./wire.ts";

/** A text part that is being written. It stays open to the end, since its sources come last. */
interface TextRun {
  readonly role: TextRole;
  readonly block: TextBlock;
  readonly citations: Citation[];
  readonly logprobs: JsonObject[];
}

/** A thinking part that is being written. It ends where text or a tool call begins. */
interface ThinkingRun {
  /** What it is found in: the name of a field, `CONTENT_LIST` or `TAGS`. */
  readonly source: string;
  readonly block: ReasoningBlock;
  readonly details: JsonObject[];
  /** Collects what a content list says of it. */
  readonly chunk: ThinkingChunkCollector;
}

const CONTENT_LIST = "content";
const TAGS = "<think>";

/**
 * Writes one message while its deltas arrive; a whole message is one delta. Decides which part a
 * piece belongs to: reasoning, text and refusal form parts in the order in which they come,
 * tool calls run beside them.
 */
export class MessageWriter {
  readonly #writer: StreamWriter;
  readonly #states: StateWriter;
  readonly #reasoningFields: readonly string[];
  readonly #calls: ToolCallReader;
  readonly #splitter: ThinkTagSplitter | undefined;
  readonly #texts: TextRun[] = [];
  /** The text that further text of its role is added to. */
  #text: TextRun | undefined;
  #thinking: ThinkingRun | undefined;
  #audio: AudioCollector | undefined;

  constructor(writer: StreamWriter, states: StateWriter, profile: ServerProfile) {
    this.#writer = writer;
    this.#states = states;
    this.#calls = new ToolCallReader(writer, states);
    const { reasoningField, thinkTags } = profile;
    this.#reasoningFields =
      reasoningField === "received" ? REASONING_FIELDS : [reasoningField, ...REASONING_FIELDS];
    if (thinkTags) {
      this.#splitter = new ThinkTagSplitter({
        thinking: (piece) => this.#thinkingIn(TAGS).block.append(piece),
        text: (piece) => this.#addText("content", piece),
      });
    }
  }

  /** Whether the model calls tools. */
  get hasToolCalls(): boolean {
    return this.#calls.any;
  }

  /** Whether the model refuses. */
  get hasRefusal(): boolean {
    return this.#texts.some(({ role }) => role === "refusal");
  }

  /** Takes the next delta. */
  push(delta: Delta): void {
    this.#addReasoning(delta);
    this.#addContent(delta.content);
    this.#addText("refusal", textIn(delta.refusal));
    this.#addAudio(asObject(delta.audio));
    this.#addToolCalls(delta);
    if (delta.images !== undefined) for (const image of objectsIn(delta.images)) this.#addImage(image);
    if (delta.annotations !== undefined) this.#addAnnotations(delta.annotations);
  }

  /** Takes the log probabilities of the tokens in the last delta. */
  pushLogprobs({ content, refusal }: JsonObject): void {
    this.#lastOf("content")?.logprobs.push(...objectsIn(content));
    this.#lastOf("refusal")?.logprobs.push(...objectsIn(refusal));
  }

  /** Ends the message. @param sources Sources that the server names beside it. */
  end(sources: readonly Citation[]): void {
    this.#splitter?.end();
    this.#endThinking();
    if (sources.length > 0) this.#lastContent().citations.push(...sources);
    for (const { block, role, citations, logprobs } of this.#texts)
      block.end({ citations, providerState: this.#states.ofText(role, logprobs) });
    this.#calls.end();
    if (this.#audio !== undefined)
      this.#writer.addPart(this.#nativePart("audio", this.#audio.whole), this.#audio.partIndex);
  }

  #addReasoning(delta: Delta): void {
    const field = this.#reasoningFieldIn(delta);
    if (field === undefined && delta.reasoning_details === undefined) return;
    const details = objectsIn(delta.reasoning_details);
    if (field === undefined && details.length === 0) return;
    // Details that come alone belong to the reasoning before them.
    const run = this.#thinkingIn(field ?? this.#thinking?.source ?? "reasoning");
    run.block.append(field === undefined ? textOfDetails(details) : textIn(delta[field]));
    addDetails(run.details, details);
  }

  #reasoningFieldIn(delta: Delta): string | undefined {
    for (const name of this.#reasoningFields) if (textIn(delta[name]) !== "") return name;
    return undefined;
  }

  /** Content is a text; at Mistral also a list of texts, thinking and more. */
  #addContent(content: unknown): void {
    if (typeof content === "string") return this.#addAnswer(content);
    for (const chunk of Array.isArray(content) ? content : []) {
      if (typeof chunk === "string") this.#addAnswer(chunk);
      else this.#addChunk(objectIn(chunk));
    }
  }

  #addChunk(chunk: ContentChunk): void {
    switch (chunk.type) {
      case "text":
        return this.#addAnswer(textIn(chunk.text));
      case "refusal":
        return this.#addText("refusal", textIn(chunk.refusal));
      case "thinking":
        return this.#addThinkingChunk(chunk);
      default:
        return this.#addPart(this.#nativePart(textIn(chunk.type), chunk));
    }
  }

  #addThinkingChunk(chunk: ContentChunk): void {
    // Some servers close thinking with a piece that says nothing.
    if (this.#thinking === undefined && saysNothing(chunk)) return;
    const run = this.#thinkingIn(CONTENT_LIST);
    run.block.append(run.chunk.add(chunk));
  }

  #addAnswer(piece: string): void {
    if (this.#splitter === undefined) this.#addText("content", piece);
    else this.#splitter.push(piece);
  }

  #addText(role: TextRole, piece: string): void {
    if (piece === "") return;
    this.#endThinking();
    const run = this.#text?.role === role ? this.#text : this.#startText(role);
    run.block.append(piece);
  }

  #startText(role: TextRole): TextRun {
    const run = { role, block: this.#writer.startText(), citations: [], logprobs: [] };
    this.#texts.push(run);
    this.#text = run;
    return run;
  }

  /** The thinking that goes on, or a new one where it was found in something else before. */
  #thinkingIn(source: string): ThinkingRun {
    if (this.#thinking?.source === source) return this.#thinking;
    this.#endThinking();
    this.#text = undefined;
    const block = this.#writer.startReasoning();
    const run = { source, block, details: [], chunk: new ThinkingChunkCollector() };
    this.#thinking = run;
    return run;
  }

  #endThinking(): void {
    const run = this.#thinking;
    if (run === undefined) return;
    this.#thinking = undefined;
    const { source, block, details, chunk } = run;
    block.end({
      redacted: block.text === "" && details.length > 0,
      providerState: this.#states.ofThinking({
        field: source === CONTENT_LIST || source === TAGS ? "" : source,
        details,
        chunk: source === CONTENT_LIST ? chunk.state : undefined,
        tags: source === TAGS ? this.#splitter?.tags : undefined,
      }),
    });
  }

  #addAnnotations(annotations: unknown): void {
    const citations = annotationsIn(annotations);
    if (citations.length > 0) this.#lastContent().citations.push(...citations);
  }

  #addToolCalls(delta: Delta): void {
    if (delta.tool_calls === undefined && delta.function_call === undefined) return;
    const legacy = asObject(delta.function_call);
    const entries = legacy === undefined ? objectsIn(delta.tool_calls) : [{ function: legacy }];
    if (entries.length === 0) return;
    this.#endThinking();
    this.#calls.push(entries);
  }

  #addAudio(audio: JsonObject | undefined): void {
    if (audio === undefined) return;
    this.#endThinking();
    this.#audio ??= new AudioCollector(this.#writer.reserve());
    this.#audio.add(audio);
    this.#addText("transcript", textIn(audio.transcript));
  }

  #addImage(entry: JsonObject): void {
    this.#addPart(imagePartOf(entry, this.#states) ?? this.#nativePart("image_url", entry));
  }

  /** Adds a part that is whole. What comes after it is a part of its own. */
  #addPart(part: ContentPart): void {
    this.#endThinking();
    this.#text = undefined;
    this.#writer.addPart(part);
  }

  #nativePart(kind: string, block: JsonObject): ContentPart {
    const value = { provider: this.#states.provider, kind, dataJson: JSON.stringify(block) };
    return create(ContentPartSchema, { part: { case: "native", value } });
  }

  #lastOf(role: TextRole): TextRun | undefined {
    return this.#texts.findLast((run) => run.role === role);
  }

  /** The text that sources belong to; an empty one where there is none. */
  #lastContent(): TextRun {
    return this.#lastOf("content") ?? this.#startText("content");
  }
}

/** Where servers put reasoning; of several, the first that holds any, since some repeat it. */
const REASONING_FIELDS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_text"];
