import { create } from "@bufbuild/protobuf";
import { measureMemory } from "../../core/memory-pool.ts";
import { type Citation, type ContentPart, ContentPartSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { asObject, isEmpty, objectIn, objectsIn, textIn, without } from "../../kit/json/json.ts";
import type { ReasoningBlock, StreamWriter, TextBlock } from "../../kit/stream/stream-writer.ts";
import type {
  AnyMessage,
  AudioDelta,
  MessageExtensions,
  ToolCallDelta,
} from "../../wire/openai-chat/message.ts";
import type {
  GeneratedImage,
  ReasoningDetail,
  SignatureParam,
  ThinkingBlock,
  ThinkPart,
} from "../../wire/openai-chat/parts.ts";
import type { ContentPartParam } from "../../wire/openai-chat/request.ts";
import type { Logprobs, TokenLogprob } from "../../wire/openai-chat/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { AudioCollector } from "./audio.ts";
import { AnnotationSpans, type SpannedCitation, toCitations, toDocumentCitation } from "./citations.ts";
import { FurtherFields } from "./further-fields.ts";
import { toImagePart } from "./images.ts";
import { isEmptyEntry, ToolCallReader } from "./open-blocks.ts";
import type { ServerProfile } from "./profile.ts";
import { addDetails, getDetailsText } from "./reasoning-details.ts";
import type { StateWriter, TextField } from "./state.ts";
import { isEmptyThinkPart, ThinkPartCollector } from "./think-part.ts";
import { type ThinkTagName, ThinkTagSplitter } from "./think-tags.ts";
import { addThinkingBlocks, getThinkingText } from "./thinking-blocks.ts";

/** A text part that is being written. It stays open until the end, since its citations come last. */
interface OpenText {
  readonly field: TextField;
  readonly block: TextBlock;
  readonly citations: SpannedCitation[];
  readonly logprobs: Untrusted<TokenLogprob>[];
  /** Signatures of the message; usually none. */
  signatures: Untrusted<SignatureParam>;
}

/** A reasoning part that is being written. It ends when text or a tool call begins. */
interface OpenReasoning {
  /** The place in which the reasoning was found: the name of a field, `CONTENT_LIST` or `TAGS`. */
  readonly source: string;
  readonly block: ReasoningBlock;
  readonly details: Untrusted<ReasoningDetail>[];
  readonly thinkingBlocks: Untrusted<ThinkingBlock>[];
  /** Collects the parts of a content list. */
  readonly thinkPart: ThinkPartCollector;
}

const CONTENT_LIST = "content";
const TAGS = "<think>";

/**
 * Writes one message while its deltas arrive; a whole message is one delta. Decides which part a piece belongs to:
 * reasoning, text and refusal form parts in the order in which they come; tool calls are written alongside them.
 */
export class MessageWriter {
  readonly #writer: StreamWriter;
  readonly #states: StateWriter;
  readonly #reasoningFields: readonly ReasoningField[];
  readonly #calls: ToolCallReader;
  #splitter: ThinkTagSplitter | undefined;
  readonly #texts: OpenText[] = [];
  /** The text to which further text of its field is added. */
  #text: OpenText | undefined;
  #reasoning: OpenReasoning | undefined;
  #signatures: Untrusted<SignatureParam> = {};
  readonly #reasoningItems: object[] = [];
  /** Reasoning that was split off the content, with its tags. */
  #tagged = "";
  readonly #further = new FurtherFields();
  readonly #audio = new AudioCollector();
  /** Index of the audio in the message; undefined until there is any. */
  #audioIndex: number | undefined;

  constructor(writer: StreamWriter, states: StateWriter, profile: ServerProfile) {
    this.#writer = writer;
    this.#states = states;
    this.#calls = new ToolCallReader(writer, states);
    const { reasoningField, thinkTags } = profile;
    this.#reasoningFields =
      reasoningField === "received" ? REASONING_FIELDS : [reasoningField, ...REASONING_FIELDS];
    if (thinkTags) this.#splitter = this.#createSplitter("think");
  }

  #createSplitter(name: ThinkTagName): ThinkTagSplitter {
    const sink = {
      reasoning: (piece: string) => this.#reasoningIn(TAGS).block.append(piece),
      text: (piece: string) => this.#addText("content", piece),
    };
    return new ThinkTagSplitter(sink, name);
  }

  /** Whether the model calls tools. */
  get hasToolCalls(): boolean {
    return this.#calls.any;
  }

  /** Whether the model refuses. */
  get hasRefusal(): boolean {
    return this.#texts.some(({ field }) => field === "refusal");
  }

  /** Adds the next delta. */
  push(delta: Untrusted<AnyMessage>): void {
    if (delta.extra_content !== undefined && isThought(delta))
      this.#splitter ??= this.#createSplitter("thought");
    this.#addReasoning(delta);
    this.#addContent(delta.content);
    this.#addText("refusal", textIn(delta.refusal));
    this.#addAudio(asObject<AudioDelta>(delta.audio));
    this.#addToolCalls(delta);
    if (delta.images !== undefined)
      for (const image of objectsIn<GeneratedImage>(delta.images)) this.#addImage(image);
    if (delta.annotations !== undefined) this.#addAnnotations(delta.annotations);
    if (
      delta.extra_content !== undefined ||
      delta.thought_signature !== undefined ||
      delta.reasoning_opaque !== undefined
    )
      this.#keepSignatures(delta);
    if (delta.reasoning_items !== undefined)
      for (const item of objectsIn(delta.reasoning_items)) this.#keepReasoningItem(item);
    this.#writer.hold(this.#further.add(delta));
  }

  /** Adds the log probabilities of the tokens in the last delta. */
  pushLogprobs({ content, refusal }: Untrusted<Logprobs>): void {
    this.#hold(content, refusal);
    this.#addLogprobs("content", content);
    this.#addLogprobs("refusal", refusal);
  }

  #addLogprobs(field: TextField, list: unknown): void {
    const tokens = objectsIn<TokenLogprob>(list);
    if (tokens.length === 0) return;
    const logprobs = this.#getLast(field)?.logprobs;
    for (const token of tokens) logprobs?.push(token);
  }

  /**
   * Ends the message.
   * @param sources Sources that the server lists alongside it.
   * @param isStopped Whether the answer was stopped before the model had ended it.
   */
  end(sources: readonly Citation[], isStopped: boolean): void {
    this.#splitter?.end();
    this.#endReasoning();
    const listed = [...sources, ...this.#further.documents.map(toDocumentCitation)];
    this.#writer.countCitations(listed.length);
    if (listed.length > 0)
      this.#lastContent().citations.push(...listed.map((citation) => ({ citation, span: undefined })));
    if (this.#reasoningItems.length > 0)
      this.#signatures = { ...this.#signatures, reasoning_items: this.#reasoningItems };
    if (!isEmpty(this.#signatures)) this.#lastContent().signatures = this.#signatures;
    this.#setSpans();
    for (const { block, field, citations, logprobs, signatures } of this.#texts) {
      const providerState = this.#states.ofText(field, logprobs, signatures);
      block.end({ citations: citations.map(({ citation }) => citation), providerState });
    }
    this.#calls.end(isStopped);
    if (this.#audioIndex !== undefined)
      this.#writer.addPart(this.#nativePart("audio", this.#audio.whole), this.#audioIndex);
    for (const [name, field] of this.#further) {
      const part = this.#nativePart(name, field);
      part.providerState = this.#states.ofField();
      this.#writer.addPart(part);
    }
  }

  #setSpans(): void {
    if (this.#texts.every(({ citations }) => citations.length === 0)) return;
    const spans = new AnnotationSpans(this.#tagged);
    for (const { field, block, citations } of this.#texts)
      if (field === "content") spans.setIn(block.text, citations);
  }

  #addReasoning(delta: Untrusted<AnyMessage>): void {
    const field = this.#reasoningFieldIn(delta);
    if (field === undefined && delta.reasoning_details === undefined && delta.thinking_blocks === undefined)
      return;
    const details = objectsIn<ReasoningDetail>(delta.reasoning_details);
    const blocks = objectsIn<ThinkingBlock>(delta.thinking_blocks);
    if (field === undefined && details.length === 0 && blocks.length === 0) return;
    // Details and blocks that come alone belong to the preceding reasoning.
    const usual = details.length > 0 ? "reasoning" : "reasoning_content";
    const open = this.#reasoningIn(field ?? this.#reasoning?.source ?? usual);
    const text =
      field === undefined ? getDetailsText(details) || getThinkingText(blocks) : textIn(delta[field]);
    open.block.append(text);
    if (details.length + blocks.length > 0) this.#hold(details, blocks);
    addDetails(open.details, details);
    addThinkingBlocks(open.thinkingBlocks, blocks);
  }

  #reasoningFieldIn(delta: Untrusted<AnyMessage>): ReasoningField | undefined {
    for (const name of this.#reasoningFields) if (textIn(delta[name]) !== "") return name;
    return undefined;
  }

  /** Adds content: a text; at Mistral also a list of texts, reasoning and more; at Cloudflare the requested JSON. */
  #addContent(content: unknown): void {
    if (typeof content === "string") return this.#addAnswerText(content);
    if (content === undefined || content === null) return;
    if (!isPartList(content)) return this.#addAnswerText(JSON.stringify(content));
    for (const part of content) {
      if (typeof part === "string") this.#addAnswerText(part);
      else if (part !== null) this.#addContentPart(part);
    }
  }

  #addContentPart(part: Untrusted<ContentPartParam>): void {
    switch (part.type) {
      case "text":
        return this.#addAnswerText(textIn(part.text));
      case "refusal":
        return this.#addText("refusal", textIn(part.refusal));
      case "thinking":
        return this.#addThinkPart(part);
      default:
        return this.#addPart(this.#nativePart(textIn(part.type), part));
    }
  }

  #addThinkPart(part: Untrusted<ThinkPart>): void {
    // Some servers close reasoning with an empty part.
    if (this.#reasoning === undefined && isEmptyThinkPart(part)) return;
    if (this.#reasoning?.thinkPart.isEndedBy(part) === true) this.#endReasoning();
    this.#hold(part);
    const open = this.#reasoningIn(CONTENT_LIST);
    open.block.append(open.thinkPart.add(part));
  }

  /** Adds text of the content, which may begin with tagged reasoning. */
  #addAnswerText(piece: string): void {
    if (this.#splitter === undefined) this.#addText("content", piece);
    else {
      // White space next to a tag is kept with it.
      if (piece.trim() === "") this.#writer.hold(piece.length);
      this.#splitter.push(piece);
    }
  }

  #addText(field: TextField, piece: string): void {
    if (piece === "") return;
    this.#endReasoning();
    const open = this.#text?.field === field ? this.#text : this.#startText(field);
    open.block.append(piece);
  }

  #startText(field: TextField): OpenText {
    const block = this.#writer.startText(field === "refusal");
    const open = { field, block, citations: [], logprobs: [], signatures: {} };
    this.#texts.push(open);
    this.#text = open;
    return open;
  }

  /** Returns the open reasoning, or a new one if the reasoning was found in another place. */
  #reasoningIn(source: string): OpenReasoning {
    if (this.#reasoning?.source === source) return this.#reasoning;
    this.#endReasoning();
    this.#text = undefined;
    const block = this.#writer.startReasoning();
    const open = { source, block, details: [], thinkingBlocks: [], thinkPart: new ThinkPartCollector() };
    this.#reasoning = open;
    return open;
  }

  #endReasoning(): void {
    if (this.#reasoning === undefined) return;
    const { source, block, details, thinkingBlocks, thinkPart } = this.#reasoning;
    this.#reasoning = undefined;
    const tags = source === TAGS ? this.#splitter?.tags : undefined;
    if (tags !== undefined) this.#tagged = `${tags.open}${block.text}${tags.close}`;
    block.end({
      redacted: block.text === "" && details.length + thinkingBlocks.length > 0,
      providerState: this.#states.ofReasoning({
        field: source === CONTENT_LIST || source === TAGS ? "" : source,
        details,
        thinkingBlocks,
        part: source === CONTENT_LIST ? thinkPart.state : undefined,
        tags,
      }),
    });
  }

  #addAnnotations(annotations: unknown): void {
    if (Array.isArray(annotations)) this.#writer.countCitations(annotations.length);
    this.#hold(annotations);
    const citations = toCitations(annotations);
    if (citations.length > 0) this.#lastContent().citations.push(...citations);
  }

  #keepSignatures(delta: Untrusted<AnyMessage>): void {
    const { thought_signature: signature, reasoning_opaque: opaque } = delta;
    // Whether the content is a thought is not sent back.
    const extra = isThought(delta) ? withoutThought(delta) : delta.extra_content;
    const kept = {
      ...(isEmpty(objectIn(extra)) ? {} : { extra_content: extra }),
      ...(textIn(signature) === "" ? {} : { thought_signature: signature }),
      ...(textIn(opaque) === "" ? {} : { reasoning_opaque: opaque }),
    };
    this.#hold(kept);
    this.#signatures = { ...this.#signatures, ...kept };
  }

  #addToolCalls(delta: Untrusted<AnyMessage>): void {
    if (delta.tool_calls === undefined && delta.function_call === undefined) return;
    const single = asObject<ToolCallDelta>(delta.tool_calls);
    // TGI sends a call without its list.
    const calls = single === undefined ? objectsIn<ToolCallDelta>(delta.tool_calls) : [single];
    // Some servers send the older field alongside the newer one, empty or with the same call.
    const entries = calls.length > 0 ? calls : [{ function: objectIn(delta.function_call) }];
    if (entries.every(isEmptyEntry)) return;
    this.#endReasoning();
    this.#calls.push(entries);
  }

  #addAudio(audio: Untrusted<AudioDelta> | undefined): void {
    if (audio === undefined) return;
    this.#hold(audio);
    this.#audio.add(audio);
    // Some servers send the field with empty values in every message.
    if (this.#audio.isEmpty) return;
    this.#endReasoning();
    this.#audioIndex ??= this.#writer.reserve();
    this.#addText("transcript", textIn(audio.transcript));
  }

  #keepReasoningItem(item: object): void {
    this.#hold(item);
    this.#reasoningItems.push(item);
  }

  /** Counts the memory of values that are kept until the end. */
  #hold(...values: readonly unknown[]): void {
    for (const value of values) this.#writer.hold(measureMemory(value));
  }

  #addImage(entry: Untrusted<GeneratedImage>): void {
    this.#addPart(toImagePart(entry, this.#states) ?? this.#nativePart("image_url", entry));
  }

  /** Adds a part that is whole. Text that follows begins a new part. */
  #addPart(part: ContentPart): void {
    this.#endReasoning();
    this.#text = undefined;
    this.#writer.addPart(part);
  }

  #nativePart(kind: string, block: object): ContentPart {
    const value = { provider: this.#states.provider, kind, dataJson: JSON.stringify(block) };
    return create(ContentPartSchema, { part: { case: "native", value } });
  }

  #getLast(field: TextField): OpenText | undefined {
    return this.#texts.findLast((text) => text.field === field);
  }

  /** Returns the text that sources belong to; an empty one if there is none. */
  #lastContent(): OpenText {
    return this.#getLast("content") ?? this.#startText("content");
  }
}

/** The marks of Gemini's API for OpenAI clients. */
type ExtraContent = NonNullable<SignatureParam["extra_content"]>;

/** Reports whether the content begins with thoughts, between tags (Gemini). */
function isThought({ extra_content: extra }: Untrusted<AnyMessage>): boolean {
  return objectIn<ExtraContent["google"] & object>(objectIn<ExtraContent>(extra).google).thought === true;
}

function withoutThought({ extra_content: extra }: Untrusted<AnyMessage>): object {
  const google = without(objectIn(objectIn<ExtraContent>(extra).google), "thought");
  const rest = without(objectIn(extra), "google");
  return isEmpty(google) ? rest : { ...rest, google };
}

/** Reports whether content is a list of texts and parts, which have a type, as opposed to JSON that the model wrote. */
function isPartList(content: unknown): content is readonly (string | null | Untrusted<ContentPartParam>)[] {
  return (
    Array.isArray(content) &&
    content.every(
      (part) => part === null || typeof part === "string" || typeof asObject(part)?.type === "string",
    )
  );
}

/** A field of a message that holds the text of its reasoning. */
type ReasoningField = Exclude<
  keyof MessageExtensions,
  "images" | "reasoning_details" | "thinking_blocks" | keyof SignatureParam
>;

/** The fields in which servers put reasoning. The first one with content is read, since some servers repeat it. */
const REASONING_FIELDS: readonly ReasoningField[] = ["reasoning_content", "reasoning", "reasoning_text"];
