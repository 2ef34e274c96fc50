/** The parts of an assistant message -> the parts of a `model` content, one for one and in order. */

import { invalidField } from "../../core/errors.ts";
import type { ContentPart, NativePart, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { CUSTOM_INPUT } from "../../kit/adapter/custom-tool.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import type { Origin } from "../../kit/adapter/state-origin.ts";
import { type ToolCallNameRule, wireToolCallName } from "../../kit/adapter/tool-call-names.ts";
import {
  asJson,
  isObject,
  type JsonObject,
  objectIn,
  parseObjectField,
  tryParseJson,
  without,
} from "../../kit/json/json.ts";
import { sourceObject, toMembers } from "../../kit/json/json-source.ts";
import type { FunctionCall, Part } from "../../wire/gemini/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME, type RequestContext } from "./context.ts";
import { type MediaContext, type MediaPart, toMediaPart } from "./media.ts";
import { getOrigin, getStatePart, isAnswerData } from "./state.ts";
import { type ExpectedCall, getNativeId } from "./tool-results.ts";

/** An assistant message in the provider's terms. */
export interface AssistantContent {
  readonly parts: readonly Part[];
  /** The calls in it, whose results the API expects directly after it. */
  readonly calls: readonly ExpectedCall[];
}

/**
 * Translates the content of an assistant message. Parts are never merged, since signatures belong to single parts.
 * @param field Path of the content, for errors.
 * @throws InvalidRequestError if the API has no form for a part.
 */
export async function toAssistantContent(
  content: readonly ContentPart[],
  field: string,
  context: RequestContext,
  media: MediaContext,
): Promise<AssistantContent> {
  const writer = new AssistantWriter(context, media);
  for (const [index, part] of content.entries()) await writer.add(part, `${field}[${index}]`);
  return writer;
}

/**
 * A signature that skips the check, documented for calls that have none from the model; quality suffers (provider
 * documentation: "Thought signatures", FAQ).
 */
const PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator";

const CALL_NAMES: ToolCallNameRule = { refused: /[^a-zA-Z0-9_.:-]/g, maxChars: 128 };

class AssistantWriter implements AssistantContent {
  readonly parts: Part[] = [];
  readonly calls: ExpectedCall[] = [];
  readonly #context: RequestContext;
  readonly #media: MediaContext;

  constructor(context: RequestContext, media: MediaContext) {
    this.#context = context;
    this.#media = media;
  }

  async add(whole: ContentPart, field: string): Promise<void> {
    const { part } = whole;
    const origin = getOrigin(whole, this.#context.provider, this.#context.request.model);
    const rest = getRest(whole, origin);
    switch (part.case) {
      case "text":
        return this.#addText(part.value, rest ?? {});
      case "reasoning":
        return this.#addReasoning(
          whole,
          part.value.text,
          origin === "current_model" ? rest : undefined,
          field,
        );
      case "toolCall":
        return this.#addCall(
          part.value,
          origin === "current_model" ? (rest ?? {}) : undefined,
          `${field}.tool_call`,
        );
      case "image":
        return this.#addImage(part, rest ?? {}, `${field}.image`);
      case "native":
        return this.#addNative(whole, part.value, origin, field);
      default: {
        const expected = "expected text, reasoning, a tool call, an image or a native part";
        throw invalidField(field, `${expected}, found ${part.case ?? "nothing"}`);
      }
    }
  }

  #addText(text: string, rest: Untrusted<Part>): void {
    // The API refuses empty texts, except those with a signature.
    if (text !== "" || rest.thoughtSignature !== undefined) this.parts.push({ text, ...asJson(rest) });
  }

  #addReasoning(whole: ContentPart, text: string, rest: Untrusted<Part> | undefined, field: string): void {
    if (rest !== undefined) {
      this.parts.push({ text, ...asJson(rest) });
      return;
    }
    const { request, loss } = this.#context;
    const replaced = replaceForeignPart(whole, request.foreignState, field, loss);
    if (replaced?.part.case === "text") this.parts.push({ text: replaced.part.value });
  }

  /**
   * @param rest The fields that the API gave with the call; undefined if another provider or model wrote it.
   */
  #addCall(call: ToolCall, rest: Untrusted<Part> | undefined, field: string): void {
    const nativeCall = objectIn<FunctionCall>(rest?.functionCall);
    const name = wireToolCallName(call.name, CALL_NAMES, `${field}.name`, this.#context.loss);
    const functionCall = { ...asJson(nativeCall), name, args: this.#toArguments(call, field) };
    const signature = rest === undefined ? this.#placeholder(field) : {};
    this.parts.push({ ...asJson(rest ?? {}), functionCall, ...signature });
    this.calls.push({ id: call.id, name, nativeId: getNativeId(nativeCall), field });
  }

  /** Models that check signatures require one on the first call of a step. */
  #placeholder(field: string): Pick<Part, "thoughtSignature"> {
    if (!this.#context.traits.thoughtSignatures || this.calls.length > 0) return {};
    const message =
      "the call has no thought signature of this model; the documented placeholder was sent instead";
    this.#context.loss.note(field, "converted_content", message);
    return { thoughtSignature: PLACEHOLDER_SIGNATURE };
  }

  /** Returns the arguments of a call. The API takes only objects: free text and invalid JSON are put into one. */
  #toArguments({ input }: ToolCall, field: string): JsonObject {
    const text = input.value ?? "";
    if (text === "" && input.case !== "text") return {};
    if (input.case !== "text" && isObject(tryParseJson(text))) return sourceObject(text);
    const message = "the arguments are not a JSON object; they were sent in one, as the text `input`";
    this.#context.loss.note(`${field}.arguments_json`, "converted_content", message);
    return { [CUSTOM_INPUT]: text };
  }

  async #addImage(part: MediaPart & { case: "image" }, rest: Untrusted<Part>, field: string): Promise<void> {
    const data = await toMediaPart(part, field, this.#media);
    if (data.inlineData === undefined) this.parts.push({ ...asJson(rest), ...data });
    else {
      const inlineData = { ...objectIn(rest.inlineData), ...data.inlineData };
      this.parts.push({ ...asJson(rest), inlineData });
    }
  }

  #addNative(whole: ContentPart, native: NativePart, origin: Origin, field: string): void {
    const { request, loss, provider } = this.#context;
    // Data about an answer as a whole, for instance its grounding, is not part of the conversation.
    if (isAnswerData(whole)) return;
    if (native.provider !== provider && native.provider !== PROVIDER_NAME) {
      replaceForeignPart(whole, request.foreignState, field, loss);
      return;
    }
    parseObjectField(native.dataJson, `${field}.native.data_json`);
    this.parts.push(origin === "other_model" ? unsigned(native.dataJson) : sourceObject(native.dataJson));
  }
}

/** Returns the fields that the API gave with a part. A signature is valid only for the model that wrote it. */
function getRest(whole: ContentPart, origin: Origin): Untrusted<Part> | undefined {
  if (origin === "none" || origin === "foreign") return undefined;
  const part = getStatePart(whole);
  return part === undefined || origin === "current_model" ? part : without(part, "thoughtSignature");
}

/** Returns a part without its signature; the other fields keep their source text. */
function unsigned(json: string): Part {
  const members = [...toMembers(json)].filter(([key]) => key !== "thoughtSignature");
  return Object.fromEntries(members.map(([key, source]) => [key, sourceObject(source)]));
}
