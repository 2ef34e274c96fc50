/** An assistant message -> theirs: what the server itself wrote goes back as it came. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, Message, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { CUSTOM_INPUT } from "../../kit/adapter/custom-tool.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import type { Origin } from "../../kit/adapter/state-origin.ts";
import { wireToolCallName } from "../../kit/adapter/tool-call-names.ts";
import { isJson, type JsonObject, objectIn, parseObjectField } from "../../kit/json/json.ts";
import type { RequestContext } from "./context.ts";
import { imageEntryOf } from "./images.ts";
import { type MediaPart, mediaChunk } from "./media.ts";
import { originOf, readCall, readImage, readTextRole, readThinking, type ThinkingState } from "./state.ts";
import { thinkingChunkOf } from "./thinking-chunk.ts";
import type { WaitingCall } from "./tool-results.ts";
import { type ContentChunk, WIRE_NAME, type WireMessage } from "./wire.ts";

/** An assistant message in the server's words. */
export interface AssistantTurn {
  /** Undefined where nothing is left of it: the API takes no empty message. */
  readonly message: WireMessage | undefined;
  /** Its calls, whose results must come next. */
  readonly calls: readonly WaitingCall[];
  /** What the API takes from no assistant, to be sent as the user's behind the results. */
  readonly carried: readonly ContentChunk[];
}

/**
 * Translates an assistant message.
 * @param field Path of the message in the request.
 */
export async function assistantTurn(
  { content, name }: Message,
  field: string,
  context: RequestContext,
): Promise<AssistantTurn> {
  const turn = new TurnBuilder(name, context);
  for (const [index, part] of content.entries()) await turn.add(part, `${field}.content[${index}]`);
  return turn.build(field);
}

const REFUSED_IN_NAMES = /[^a-zA-Z0-9_-]/g;

/** A piece of the message's content, in the order of its parts. */
type ContentPiece = { readonly text: string } | { readonly chunk: ContentChunk };

/** Puts one message together. */
class TurnBuilder {
  readonly #context: RequestContext;
  readonly #name: string;
  readonly #content: ContentPiece[] = [];
  readonly #calls: JsonObject[] = [];
  readonly #waiting: WaitingCall[] = [];
  readonly #images: JsonObject[] = [];
  readonly #details: JsonObject[] = [];
  readonly #carried: ContentChunk[] = [];
  #reasoning = "";
  #reasoningField = "";
  #refusal = "";
  #audio: JsonObject | undefined;

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
        return this.#addThinking(whole, part.value.text, field);
      case "toolCall":
        return this.#addCall(part.value, whole, `${field}.tool_call`);
      case "image":
        return this.#addImage(part, whole, `${field}.image`);
      case "native":
        return this.#addNative(whole, part.value.provider, part.value.dataJson, field);
      default: {
        const expected = "expected text, thinking, a tool call, an image or a native part";
        throw invalidField(field, `${expected}, found ${part.case ?? "nothing"}`);
      }
    }
  }

  build(field: string): AssistantTurn {
    const rest = { calls: this.#waiting, carried: this.#carried };
    const fields = this.#fields();
    const content = this.#contentOf();
    if (content === "" && Object.keys(fields).length === 0) {
      const message = "an assistant message without content is refused by the API; it was left out";
      this.#context.loss.note(field, "unsupported_content", message);
      return { message: undefined, ...rest };
    }
    const { emptyAssistantContent } = this.#context.profile;
    const name = this.#name === "" ? {} : { name: this.#name };
    const message = {
      role: "assistant",
      ...name,
      content: content === "" ? emptyAssistantContent : content,
      ...this.#backfill(fields),
      ...fields,
    };
    return { message, ...rest };
  }

  /** Everything of the message but its content. */
  #fields(): WireMessage {
    return {
      ...(this.#refusal === "" ? {} : { refusal: this.#refusal }),
      ...(this.#reasoning === "" ? {} : { [this.#reasoningField]: this.#reasoning }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
      ...(this.#images.length === 0 ? {} : { images: this.#images }),
      ...(this.#audio === undefined ? {} : { audio: this.#audio }),
    };
  }

  /** A list where there is more than text, since some models copy the form of a list that has only text. */
  #contentOf(): string | readonly ContentChunk[] {
    if (this.#content.every((piece) => "text" in piece))
      return this.#content.map(({ text }) => text).join("");
    return this.#content.map((piece) => ("text" in piece ? { type: "text", text: piece.text } : piece.chunk));
  }

  /** The empty reasoning that a server wants where there is none. */
  #backfill(fields: WireMessage): WireMessage {
    const { requiresReasoning, reasoningField } = this.#context.profile;
    const name = reasoningField === "received" ? "reasoning_content" : reasoningField;
    return requiresReasoning && fields[name] === undefined ? { [name]: "" } : {};
  }

  #addText(text: string, whole: ContentPart): void {
    const role = this.#originOf(whole) === "own" ? readTextRole(whole) : "content";
    if (role === "refusal") this.#refusal += text;
    // The transcript of a spoken answer is in its audio.
    else if (role === "content" && text !== "") this.#content.push({ text });
  }

  #addThinking(whole: ContentPart, text: string, field: string): void {
    const { request, loss, profile } = this.#context;
    if (this.#originOf(whole) !== "own") {
      const replaced = replaceForeignPart(whole, request.foreignState, field, loss);
      if (replaced?.part.case === "text") this.#content.push({ text: `${replaced.part.value}\n\n` });
    } else if (profile.replayReasoning) {
      this.#replay(readThinking(whole), text);
    } else {
      loss.note(field, "foreign_state_stripped", "the server takes no reasoning back; it was left out");
    }
  }

  /** Reasoning in the form in which the server gave it. Details hold all of it where there are any. */
  #replay(state: ThinkingState, text: string): void {
    const { reasoningField } = this.#context.profile;
    if (state.details.length > 0) this.#details.push(...state.details);
    else if (state.chunk !== undefined) this.#content.push({ chunk: thinkingChunkOf(state.chunk, text) });
    else if (state.tags !== undefined)
      this.#content.push({ text: `${state.tags.open}${text}${state.tags.close}` });
    else {
      this.#reasoningField = reasoningField === "received" ? state.field : reasoningField;
      this.#reasoning += text;
    }
  }

  #addCall(call: ToolCall, whole: ContentPart, field: string): void {
    const id = this.#context.callIds.ofCall(call.id, `${field}.id`);
    const rest = this.#originOf(whole) === "own" ? readCall(whole) : {};
    this.#calls.push(this.#wireCall(id, call, rest, field));
    this.#waiting.push({ id: call.id, field });
  }

  #wireCall(id: string, { name: said, input }: ToolCall, rest: JsonObject, field: string): JsonObject {
    const { profile, loss } = this.#context;
    const rule = { refused: REFUSED_IN_NAMES, maxChars: profile.maxToolNameChars };
    const name = wireToolCallName(said, rule, `${field}.name`, loss);
    if (input.case === "text" && this.#isFunctionNow(name)) {
      const called = {
        ...objectIn(rest.function),
        name,
        arguments: JSON.stringify({ [CUSTOM_INPUT]: input.value }),
      };
      return { ...rest, id, type: "function", function: called };
    }
    if (input.case === "text") {
      const custom = { ...objectIn(rest.custom), name, input: input.value };
      return { ...rest, id, type: "custom", custom };
    }
    const called = {
      ...objectIn(rest.function),
      name,
      arguments: this.#argumentsOf(input.value ?? "", field),
    };
    return { ...rest, id, type: "function", function: called };
  }

  /** Whether the request declares a custom tool of that name and the server is given a function instead. */
  #isFunctionNow(name: string): boolean {
    const { profile, request } = this.#context;
    if (profile.supportsCustomTools) return false;
    return request.tools.some(({ tool }) => tool.case === "custom" && tool.value.name === name);
  }

  #argumentsOf(text: string, field: string): string {
    const { profile, loss } = this.#context;
    if (text === "") return "{}";
    if (!profile.parsesArguments || isJson(text)) return text;
    const message = "arguments that do not parse were wrapped into an object, since the server parses them";
    loss.note(`${field}.arguments_json`, "converted_content", message);
    return JSON.stringify({ invalid_arguments: text });
  }

  /** An image that the server made goes back as it came; others the API takes from no assistant. */
  async #addImage(part: MediaPart & { case: "image" }, whole: ContentPart, field: string): Promise<void> {
    const { loss, media, profile } = this.#context;
    const state = this.#originOf(whole) === "own" ? readImage(whole) : undefined;
    const entry = state && imageEntryOf(part.value, state);
    if (entry !== undefined) {
      this.#images.push(entry);
      return;
    }
    const message = "the API takes no images from an assistant; it was sent as the user's";
    loss.lose(field, "converted_content", message);
    this.#carried.push(await mediaChunk(part, field, media, profile));
  }

  #addNative(whole: ContentPart, owner: string, dataJson: string, field: string): void {
    const { provider, request, loss } = this.#context;
    if (owner !== provider && owner !== WIRE_NAME) {
      replaceForeignPart(whole, request.foreignState, field, loss);
      return;
    }
    const block = parseObjectField(dataJson, `${field}.native.data_json`);
    // A spoken answer goes back by its id.
    if (whole.part.case === "native" && whole.part.value.kind === "audio") this.#audio = { id: block.id };
    else this.#content.push({ chunk: block });
  }

  #originOf(part: ContentPart): Origin {
    const { provider, request, profile } = this.#context;
    return originOf(part, provider, request.model, profile.catalog ?? provider);
  }
}
