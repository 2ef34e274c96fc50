/** An assistant message -> theirs: parts that the server wrote go back unchanged. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, Message, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { CUSTOM_INPUT } from "../../kit/adapter/custom-tool.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import type { Origin } from "../../kit/adapter/state-origin.ts";
import { wireToolCallName } from "../../kit/adapter/tool-call-names.ts";
import { asJson, isJson, type JsonObject, objectIn, parseObjectField } from "../../kit/json/json.ts";
import type {
  CustomToolCall,
  FunctionToolCall,
  GeneratedImage,
  ReasoningDetail,
  SignatureParam,
  ThinkingBlock,
  ToolCall as WireToolCall,
} from "../../wire/openai-chat/parts.ts";
import type {
  AssistantMessageParam,
  ContentParam,
  ContentPartParam,
} from "../../wire/openai-chat/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME, type RequestContext } from "./context.ts";
import { toImageEntry } from "./images.ts";
import { type MediaPart, mediaPart } from "./media.ts";
import {
  getOrigin,
  isReport,
  type ReasoningState,
  readCall,
  readImage,
  readReasoning,
  readSignatures,
  readTextField,
} from "./state.ts";
import { toThinkPart } from "./think-part.ts";
import type { PendingCall } from "./tool-results.ts";
import { verbatim } from "./verbatim.ts";

/** An assistant message in the form that the server takes. */
export interface AssistantMessage {
  /** Undefined if it would be empty: the API accepts no empty message. */
  readonly message: AssistantMessageParam | undefined;
  /** Calls of the message, whose results must come next. */
  readonly calls: readonly PendingCall[];
  /** Parts that must be moved to a user message after the results. */
  readonly moved: readonly ContentPartParam[];
}

/**
 * Translates an assistant message.
 * @param field Path of the message in the request.
 */
export async function toAssistantMessage(
  { content, name }: Message,
  field: string,
  context: RequestContext,
): Promise<AssistantMessage> {
  const builder = new AssistantMessageBuilder(name, context);
  for (const [index, part] of content.entries()) await builder.add(part, `${field}.content[${index}]`);
  return builder.build(field);
}

/** The fields of a message except its role and content. */
type MessageFields = Omit<AssistantMessageParam, "role" | "content">;

const REFUSED_IN_NAMES = /[^a-zA-Z0-9_-]/g;

/** Builds one message. */
class AssistantMessageBuilder {
  readonly #context: RequestContext;
  readonly #name: string;
  readonly #content: ContentPartParam[] = [];
  readonly #calls: WireToolCall[] = [];
  readonly #pending: PendingCall[] = [];
  readonly #images: GeneratedImage[] = [];
  readonly #details: Untrusted<ReasoningDetail>[] = [];
  readonly #thinkingBlocks: Untrusted<ThinkingBlock>[] = [];
  readonly #moved: ContentPartParam[] = [];
  /** Whether the content is nothing but text that can be joined. */
  #isOnlyText = true;
  #reasoning = "";
  #reasoningField = "";
  #refusal = "";
  #transcript = "";
  #signatures: Untrusted<SignatureParam> = {};
  #audio: AssistantMessageParam["audio"];

  constructor(name: string, context: RequestContext) {
    this.#name = name;
    this.#context = context;
  }

  async add(whole: ContentPart, field: string): Promise<void> {
    const { part } = whole;
    switch (part.case) {
      case "text":
        return this.#addText(part.value, whole);
      case "reasoning":
        return this.#addReasoning(whole, part.value.text, field);
      case "toolCall":
        return this.#addCall(part.value, whole, `${field}.tool_call`);
      case "image":
        return this.#addImage(part, whole, `${field}.image`);
      case "native":
        return this.#addNative(whole, part.value.provider, part.value.dataJson, field);
      default: {
        const expected = "expected text, reasoning, a tool call, an image or a native part";
        throw invalidField(field, `${expected}, found ${part.case ?? "nothing"}`);
      }
    }
  }

  build(field: string): AssistantMessage {
    // Audio that goes back holds its transcript.
    if (this.#audio === undefined && this.#transcript !== "") this.#addContentText(this.#transcript);
    const rest = { calls: this.#pending, moved: this.#moved };
    const fields = this.#fields();
    const content = this.#joinedContent();
    if (content === "" && Object.keys(fields).length === 0) {
      const message = "an assistant message without content is refused by the API; it was left out";
      this.#context.loss.note(field, "unsupported_content", message);
      return { message: undefined, ...rest };
    }
    const { emptyAssistantContent } = this.#context.profile;
    const name = this.#name === "" ? {} : { name: this.#name };
    const message: AssistantMessageParam = {
      role: "assistant",
      ...name,
      content: content === "" ? emptyAssistantContent : content,
      ...this.#requiredReasoning(fields),
      ...fields,
    };
    return { message, ...rest };
  }

  /** Returns all fields of the message except its content. */
  #fields(): MessageFields {
    return {
      ...(this.#refusal === "" ? {} : { refusal: this.#refusal }),
      ...(this.#reasoning === "" ? {} : { [this.#reasoningField]: this.#reasoning }),
      ...(this.#details.length === 0
        ? {}
        : { reasoning_details: this.#details.map(verbatim<ReasoningDetail>) }),
      ...(this.#thinkingBlocks.length === 0
        ? {}
        : { thinking_blocks: this.#thinkingBlocks.map(verbatim<ThinkingBlock>) }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
      ...(this.#images.length === 0 ? {} : { images: this.#images }),
      ...(this.#audio === undefined ? {} : { audio: this.#audio }),
      ...verbatim<SignatureParam>(this.#signatures),
    };
  }

  /** Returns a list only if there is more than text, since some models imitate a list that has only text. */
  #joinedContent(): ContentParam {
    if (this.#isOnlyText)
      return this.#content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return this.#content;
  }

  /** Adds the empty reasoning that a server requires if there is none. */
  #requiredReasoning(fields: MessageFields): MessageFields {
    const { requiresReasoning, reasoningField } = this.#context.profile;
    const name = reasoningField === "received" ? "reasoning_content" : reasoningField;
    return requiresReasoning && fields[name] === undefined ? { [name]: "" } : {};
  }

  #addText(text: string, whole: ContentPart): void {
    const isCurrent = this.#getOrigin(whole) === "current_model";
    const field = isCurrent ? readTextField(whole) : "content";
    if (isCurrent) this.#signatures = { ...this.#signatures, ...readSignatures(whole) };
    if (field === "refusal") this.#refusal += text;
    else if (field === "transcript") this.#transcript += text;
    else if (text !== "") this.#addContentText(text);
  }

  #addContentText(text: string): void {
    this.#content.push({ type: "text", text });
  }

  /** Adds a part other than text, or a block whose form is not known. */
  #addPart(part: ContentPartParam): void {
    this.#isOnlyText = false;
    this.#content.push(part);
  }

  #addReasoning(whole: ContentPart, text: string, field: string): void {
    const { request, loss, profile } = this.#context;
    if (this.#getOrigin(whole) !== "current_model") {
      const replaced = replaceForeignPart(whole, request.foreignState, field, loss);
      if (replaced?.part.case === "text") this.#addContentText(`${replaced.part.value}\n\n`);
      return;
    }
    const state = readReasoning(whole);
    // A server that sends blocks requires them in the next turn, whichever profile it has.
    for (const block of state.thinkingBlocks) this.#thinkingBlocks.push(block);
    if (profile.replayReasoning) this.#replay(state, text);
    else if (state.thinkingBlocks.length === 0)
      loss.note(field, "foreign_state_stripped", "the server takes no reasoning back; it was left out");
  }

  /**
   * Returns reasoning in the form in which the server sent it. Details and blocks hold the whole reasoning if there are
   * any.
   */
  #replay(state: ReasoningState, text: string): void {
    const { reasoningField } = this.#context.profile;
    for (const detail of state.details) this.#details.push(detail);
    if (state.details.length > 0 || state.thinkingBlocks.length > 0) return;
    if (state.part !== undefined) this.#addPart(toThinkPart(state.part, text));
    else if (state.tags !== undefined) this.#addContentText(`${state.tags.open}${text}${state.tags.close}`);
    else {
      this.#reasoningField = reasoningField === "received" ? state.field : reasoningField;
      this.#reasoning += text;
    }
  }

  #addCall(call: ToolCall, whole: ContentPart, field: string): void {
    const id = this.#context.callIds.ofCall(call.id, `${field}.id`);
    const rest = this.#getOrigin(whole) === "current_model" ? readCall(whole) : {};
    this.#calls.push(this.#wireCall(id, call, rest, field));
    this.#pending.push({ id: call.id, field });
  }

  #wireCall(id: string, call: ToolCall, rest: Untrusted<WireToolCall>, field: string): WireToolCall {
    const { profile, loss } = this.#context;
    const { input } = call;
    const rule = { refused: REFUSED_IN_NAMES, maxChars: profile.maxToolNameChars };
    const name = wireToolCallName(call.name, rule, `${field}.name`, loss);
    if (input.case !== "text")
      return functionCall(id, name, this.#toArguments(input.value ?? "", field), rest);
    if (this.#context.customAsFunctions.has(name))
      return functionCall(id, name, JSON.stringify({ [CUSTOM_INPUT]: input.value }), rest);
    const custom: CustomToolCall["custom"] = { ...objectIn(rest.custom), name, input: input.value };
    return { ...asJson(rest), id, type: "custom", custom };
  }

  #toArguments(text: string, field: string): string {
    const { profile, loss } = this.#context;
    if (text === "") return "{}";
    if (!profile.parsesArguments || isJson(text)) return text;
    const message = "arguments that do not parse were wrapped into an object, since the server parses them";
    loss.note(`${field}.arguments_json`, "converted_content", message);
    return JSON.stringify({ invalid_arguments: text });
  }

  /** Adds an image. One that the server made goes back unchanged; the API accepts no others from an assistant. */
  async #addImage(part: MediaPart & { case: "image" }, whole: ContentPart, field: string): Promise<void> {
    const { loss, media, profile } = this.#context;
    const state = this.#getOrigin(whole) === "current_model" ? readImage(whole) : undefined;
    const entry = state && toImageEntry(part.value, state);
    if (entry !== undefined) {
      this.#images.push(entry);
      return;
    }
    const message = "the API takes no images from an assistant; it was moved to a user message";
    loss.lose(field, "converted_content", message);
    this.#moved.push(await mediaPart(part, field, media, profile));
  }

  #addNative(whole: ContentPart, owner: string, dataJson: string, field: string): void {
    if (isReport(whole)) return;
    const { provider, request, loss } = this.#context;
    if (owner !== provider && owner !== PROVIDER_NAME) {
      replaceForeignPart(whole, request.foreignState, field, loss);
      return;
    }
    const block = parseObjectField(dataJson, `${field}.native.data_json`);
    if (whole.part.case === "native" && whole.part.value.kind === "audio") this.#addAudio(block, field);
    else this.#addPart(verbatim<ContentPartParam>(block));
  }

  /** Adds audio, which goes back by its id. */
  #addAudio({ id }: JsonObject, field: string): void {
    if (typeof id === "string" && id !== "") this.#audio = { id };
    else
      this.#context.loss.lose(
        field,
        "unsupported_content",
        "audio without an id cannot be sent back; its transcript was sent",
      );
  }

  #getOrigin(part: ContentPart): Origin {
    const { provider, request, profile } = this.#context;
    return getOrigin(part, provider, request.model, profile.catalog ?? provider);
  }
}

/** Creates a function call. @param rest Further fields of the server's call. */
function functionCall(
  id: string,
  name: string,
  input: string,
  rest: Untrusted<WireToolCall>,
): FunctionToolCall {
  const called: FunctionToolCall["function"] = { ...objectIn(rest.function), name, arguments: input };
  return { ...asJson(rest), id, type: "function", function: called };
}
