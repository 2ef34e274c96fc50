/** The parts of an assistant message -> the parts of a `model` content, each by itself and in its place. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, NativePart, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import type { Origin } from "../../kit/adapter/state-origin.ts";
import { type ToolCallNameRule, wireToolCallName } from "../../kit/adapter/tool-call-names.ts";
import {
  asString,
  isObject,
  type JsonObject,
  objectIn,
  parseObjectField,
  tryParseJson,
  without,
} from "../../kit/json/json.ts";
import { membersOf, sourceObject } from "../../kit/json/json-source.ts";
import type { InputContext } from "./context.ts";
import { type MediaContext, type MediaPart, mediaPart } from "./media.ts";
import { originOf, readState } from "./state.ts";
import type { ExpectedCall } from "./tool-results.ts";
import { type Part, WIRE_NAME } from "./wire.ts";

/**
 * Documented for calls that no signature of the model exists for (provider documentation:
 * "Thought signatures", FAQ): it skips the check, and some quality is lost.
 */
const PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator";

const CALL_NAMES: ToolCallNameRule = { refused: /[^a-zA-Z0-9_.:-]/g, maxChars: 128 };

/** Translates one turn of the model. Parts are never merged: signatures sit on parts. */
export class ModelTurn {
  /** The parts so far. */
  readonly parts: Part[] = [];
  /** The calls so far, whose results the API expects behind the turn. */
  readonly calls: ExpectedCall[] = [];
  readonly #context: InputContext;
  readonly #media: MediaContext;

  constructor(context: InputContext, media: MediaContext) {
    this.#context = context;
    this.#media = media;
  }

  /** Adds a part. @param field Its path, for errors. Throws InvalidRequestError where the API has no form for it. */
  async add(whole: ContentPart, field: string): Promise<void> {
    const { part } = whole;
    const origin = originOf(whole, this.#context.provider, this.#context.request.model);
    const rest = this.#restOf(whole, origin);
    switch (part.case) {
      case "text":
        return this.#addText(part.value, rest ?? {});
      case "reasoning":
        return this.#addThinking(whole, part.value.text, origin === "own" ? rest : undefined, field);
      case "toolCall":
        return this.#addCall(part.value, origin === "own" ? (rest ?? {}) : undefined, `${field}.tool_call`);
      case "image":
        return this.#addImage(part, rest ?? {}, `${field}.image`);
      case "native":
        return this.#addNative(whole, part.value, origin, field);
      default: {
        const expected = "expected text, thinking, a tool call, an image or a native part";
        throw invalidField(field, `${expected}, found ${part.case ?? "nothing"}`);
      }
    }
  }

  /** What the API gave with a part. A signature is of use only to the model that wrote it. */
  #restOf(whole: ContentPart, origin: Origin): Part | undefined {
    if (origin === "none" || origin === "foreign") return undefined;
    const part = readState(whole.providerState)?.part;
    return part === undefined || origin === "own" ? part : without(part, "thoughtSignature");
  }

  #addText(text: string, rest: Part): void {
    // The API refuses empty texts, but for those that carry a signature.
    if (text !== "" || rest.thoughtSignature !== undefined) this.parts.push({ text, ...rest });
  }

  #addThinking(whole: ContentPart, text: string, rest: Part | undefined, field: string): void {
    if (rest !== undefined) {
      this.parts.push({ text, ...rest });
      return;
    }
    const { request, loss } = this.#context;
    const replaced = replaceForeignPart(whole, request.foreignState, field, loss);
    if (replaced?.part.case === "text") this.parts.push({ text: replaced.part.value });
  }

  /** @param rest What the API gave with the call; undefined where another provider or model wrote it. */
  #addCall(call: ToolCall, rest: Part | undefined, field: string): void {
    const own = objectIn(rest?.functionCall);
    const name = wireToolCallName(call.name, CALL_NAMES, `${field}.name`, this.#context.loss);
    const functionCall = { ...own, name, args: this.#argumentsOf(call, field) };
    const signature = rest === undefined ? this.#placeholder(field) : {};
    this.parts.push({ ...rest, functionCall, ...signature });
    this.calls.push({ id: call.id, name, nativeId: asString(own.id), field });
  }

  /** The first call of a step wants a signature, by models that check them. */
  #placeholder(field: string): Part {
    if (!this.#context.traits.thoughtSignatures || this.calls.length > 0) return {};
    const message =
      "the call has no thought signature of this model; the documented placeholder was sent in its place";
    this.#context.loss.note(field, "converted_content", message);
    return { thoughtSignature: PLACEHOLDER_SIGNATURE };
  }

  /** The API takes arguments as an object and nothing else; free text and broken JSON go inside one. */
  #argumentsOf({ input }: ToolCall, field: string): JsonObject {
    const text = input.value ?? "";
    if (text === "" && input.case !== "text") return {};
    if (input.case !== "text" && isObject(tryParseJson(text))) return sourceObject(text);
    const message = "the arguments are no JSON object; they were sent as the text `input` in one";
    this.#context.loss.note(`${field}.arguments_json`, "converted_content", message);
    return { input: text };
  }

  async #addImage(part: MediaPart & { case: "image" }, rest: Part, field: string): Promise<void> {
    const data = await mediaPart(part, field, this.#media);
    const inlineData = objectIn(data.inlineData);
    if (data.inlineData === undefined) this.parts.push({ ...rest, ...data });
    else this.parts.push({ ...rest, inlineData: { ...objectIn(rest.inlineData), ...inlineData } });
  }

  #addNative(whole: ContentPart, { provider, dataJson }: NativePart, origin: Origin, field: string): void {
    const { request, loss, provider: asked } = this.#context;
    // What was said of an answer, its grounding for instance, is no part of it.
    if (readState(whole.providerState)?.ofAnswer === true) return;
    if (provider !== asked && provider !== WIRE_NAME) {
      replaceForeignPart(whole, request.foreignState, field, loss);
      return;
    }
    parseObjectField(dataJson, `${field}.native.data_json`);
    this.parts.push(origin === "other_model" ? unsigned(dataJson) : sourceObject(dataJson));
  }
}

/** A part without its signature, the rest of it as it is spelled. */
function unsigned(json: string): Part {
  const members = [...membersOf(json)].filter(([key]) => key !== "thoughtSignature");
  return Object.fromEntries(members.map(([key, source]) => [key, sourceObject(source)]));
}
