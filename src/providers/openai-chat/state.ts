/**
 * The state of parts, which makes it possible to send a message back unchanged: all its fields that have no unified
 * form. Written here while answers are read, read here while requests are built.
 */
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { dataOfState, getBareSignature, PartStateWriter } from "../../kit/adapter/part-state.ts";
import { getOrigin as getStateOrigin, type Origin } from "../../kit/adapter/state-origin.ts";
import { asJson, asObject, isEmpty, type JsonObject, objectsIn, textIn } from "../../kit/json/json.ts";
import type {
  GeneratedImage,
  ReasoningDetail,
  SignatureParam,
  ThinkingBlock,
  ThinkPart,
  ToolCall,
} from "../../wire/openai-chat/parts.ts";
import type { TokenLogprob } from "../../wire/openai-chat/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/**
 * The place in which the reasoning was found: a field, a list of details, a part of a content list, or tags in the
 * text.
 */
export interface ReasoningState {
  /** Field of the message, `reasoning_content` for instance; empty if it was not in a field. */
  readonly field: string;
  /** `reasoning_details`, verbatim: they carry signatures and encrypted reasoning (OpenRouter). */
  readonly details: readonly Untrusted<ReasoningDetail>[];
  /** `thinking_blocks`, verbatim: they carry signatures and encrypted reasoning (LiteLLM). */
  readonly thinkingBlocks: readonly Untrusted<ThinkingBlock>[];
  /** The part of the content list without its text (Mistral). */
  readonly part: Untrusted<ThinkPart> | undefined;
  /** The tags around it, with the white space next to them. */
  readonly tags: ThinkTags | undefined;
}

/** The tags around reasoning that was split off a text. */
export interface ThinkTags {
  readonly open: string;
  /** Empty if the answer was cut inside its reasoning. */
  readonly close: string;
}

/** The field of a message that became a text part. */
export type TextField = "content" | "refusal" | "transcript";

/** The JSON in `ProviderState.data_json`. Each part has the fields of its kind. */
interface PartState {
  readonly field: string;
  readonly details: readonly Untrusted<ReasoningDetail>[];
  readonly thinkingBlocks: readonly Untrusted<ThinkingBlock>[];
  readonly chunk: Untrusted<ThinkPart>;
  readonly tags: ThinkTags;
  readonly text: TextField;
  readonly logprobs: readonly Untrusted<TokenLogprob>[];
  readonly signatures: Untrusted<SignatureParam>;
  readonly call: JsonObject;
  readonly image: JsonObject;
  /** Whether the part is a field of the message that no server takes back. */
  readonly isReport: boolean;
}

/** Writes the state of one answer's parts. */
export class StateWriter extends PartStateWriter {
  /** Returns the state of a reasoning part. */
  ofReasoning({ field, details, thinkingBlocks, part, tags }: ReasoningState): ProviderState {
    return this.#toState({
      ...(field === "" ? {} : { field }),
      ...(details.length === 0 ? {} : { details }),
      ...(thinkingBlocks.length === 0 ? {} : { thinkingBlocks }),
      ...(part === undefined ? {} : { chunk: part }),
      ...(tags === undefined ? {} : { tags }),
    });
  }

  /**
   * Returns the state of a text part; undefined if there is nothing to keep.
   * @param signatures Signatures of the message, kept with one of its texts.
   */
  ofText(
    field: TextField,
    logprobs: readonly Untrusted<TokenLogprob>[],
    signatures: Untrusted<SignatureParam>,
  ): ProviderState | undefined {
    const isSigned = !isEmpty(signatures);
    if (field === "content" && logprobs.length === 0 && !isSigned) return undefined;
    return this.#toState({
      text: field,
      ...(logprobs.length === 0 ? {} : { logprobs }),
      ...(isSigned ? { signatures } : {}),
    });
  }

  /**
   * Returns the state of a tool call; undefined if there is nothing to keep.
   * @param call The call without the fields that the part holds.
   */
  ofCall(call: JsonObject): ProviderState | undefined {
    return Object.keys(call).length === 0 ? undefined : this.#toState({ call });
  }

  /** Returns the state of a generated image. @param image The entry of `images` without its URL. */
  ofImage(image: JsonObject): ProviderState {
    return this.#toState({ image });
  }

  /** Returns the state of a field that only reports what the server did. */
  ofField(): ProviderState {
    return this.#toState({ isReport: true });
  }

  #toState(state: Partial<PartState>): ProviderState {
    return this.state(asJson(state));
  }
}

/**
 * Returns the origin of a part's state.
 * @param catalog Provider under which the catalog knows the models.
 */
export function getOrigin(part: ContentPart, provider: string, model: string, catalog: string): Origin {
  return getStateOrigin(part, { owners: [provider], model, catalog });
}

/** Reads the state of a reasoning part. */
export function readReasoning({ part, providerState }: ContentPart): ReasoningState {
  const state = readPartState(providerState);
  const tags = asObject<ThinkTags>(state.tags);
  const signature = getBareSignature(providerState);
  const text = part.case === "reasoning" ? part.value.text : "";
  return {
    field: textIn(state.field),
    details:
      signature === undefined
        ? objectsIn<ReasoningDetail>(state.details)
        : [{ type: "reasoning.text", text, signature }],
    thinkingBlocks: objectsIn<ThinkingBlock>(state.thinkingBlocks),
    part: asObject<ThinkPart>(state.chunk),
    tags: tags && { open: textIn(tags.open), close: textIn(tags.close) },
  };
}

/** Returns the field that a text part came from. */
export function readTextField({ providerState }: ContentPart): TextField {
  const { text } = readPartState(providerState);
  return text === "refusal" || text === "transcript" ? text : "content";
}

/** Returns the signatures of a message that are kept with its text part. */
export function readSignatures({ providerState }: ContentPart): Untrusted<SignatureParam> {
  return asObject<SignatureParam>(readPartState(providerState).signatures) ?? {};
}

/** Returns the fields of a tool call other than its id, name and input. */
export function readCall({ providerState }: ContentPart): Untrusted<ToolCall> {
  return asObject<ToolCall>(readPartState(providerState).call) ?? {};
}

/** Returns the fields of a generated image other than its URL; undefined if the part was none. */
export function readImage({ providerState }: ContentPart): Untrusted<GeneratedImage> | undefined {
  return asObject<GeneratedImage>(readPartState(providerState).image);
}

/** Reports whether a part only describes what the server did, and is not sent back. */
export function isReport({ providerState }: ContentPart): boolean {
  return readPartState(providerState).isReport === true;
}

function readPartState(state: ProviderState | undefined): Untrusted<PartState> {
  return dataOfState(state);
}
