/**
 * What rides on our parts so that a message can be sent back as the server gave it: everything
 * of it that has no unified form. Written here while answers are read, read here while requests
 * are built.
 */
import { create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  type ProviderState,
  ProviderStateSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { type Origin, originOf as stateOriginOf } from "../../kit/adapter/state-origin.ts";
import { asObject, type JsonObject, objectsIn, textIn, tryParseJson } from "../../kit/json/json.ts";
import type { ContentChunk } from "./wire.ts";

/** What the thinking was found in: a field, a list of details, a piece of a content list, or tags in the text. */
export interface ThinkingState {
  /** Field of the message, `reasoning_content` for instance; empty where it was none. */
  readonly field: string;
  /** `reasoning_details`, verbatim: they carry signatures and encrypted reasoning (OpenRouter). */
  readonly details: readonly JsonObject[];
  /** The piece of the content list without its text (Mistral). */
  readonly chunk: ContentChunk | undefined;
  /** The tags around it, with the white space beside them. */
  readonly tags: ThinkTags | undefined;
}

/** What stood around thinking that was split off a text. */
export interface ThinkTags {
  readonly open: string;
  /** Empty where the answer was cut inside its thinking. */
  readonly close: string;
}

/** What a text is where it is not `content`. */
export type TextRole = "content" | "refusal" | "transcript";

/** Writes the state of one answer's parts. */
export class StateWriter {
  readonly #provider: string;
  readonly #requested: string;
  #model = "";

  constructor({ provider, request }: CallFacts) {
    this.#provider = provider;
    this.#requested = request.model;
  }

  /** Name under which the provider is registered. */
  get provider(): string {
    return this.#provider;
  }

  /** The model as the server reports it; what was asked for until it does. */
  get model(): string {
    return this.#model || this.#requested;
  }

  /** Takes the model that a chunk names. The first one stands. */
  set model(model: string) {
    this.#model ||= model;
  }

  /** State of a thinking part. */
  ofThinking({ field, details, chunk, tags }: ThinkingState): ProviderState {
    return this.#state({
      ...(field === "" ? {} : { field }),
      ...(details.length === 0 ? {} : { details }),
      ...(chunk === undefined ? {} : { chunk }),
      ...(tags === undefined ? {} : { tags: { ...tags } }),
    });
  }

  /** State of a text part; undefined where there is nothing to keep. */
  ofText(role: TextRole, logprobs: readonly JsonObject[]): ProviderState | undefined {
    if (role === "content" && logprobs.length === 0) return undefined;
    return this.#state({ text: role, ...(logprobs.length === 0 ? {} : { logprobs }) });
  }

  /** State of a tool call; undefined where there is nothing to keep. @param call The call without what our part says. */
  ofCall(call: JsonObject): ProviderState | undefined {
    return Object.keys(call).length === 0 ? undefined : this.#state({ call });
  }

  /** State of a generated image. @param image The entry of `images` without its URL. */
  ofImage(image: JsonObject): ProviderState {
    return this.#state({ image });
  }

  #state(data: JsonObject): ProviderState {
    const asked = this.model === this.#requested ? {} : { model: this.#requested };
    const dataJson = JSON.stringify({ ...data, ...asked });
    return create(ProviderStateSchema, { provider: this.#provider, model: this.model, dataJson });
  }
}

/**
 * Where the state of a part comes from.
 * @param catalog Provider under which the catalog knows the models.
 */
export function originOf(part: ContentPart, provider: string, model: string, catalog: string): Origin {
  return stateOriginOf(part, { owners: [provider], model, catalog });
}

/** Reads the state of a thinking part. */
export function readThinking({ providerState }: ContentPart): ThinkingState {
  const data = dataOf(providerState);
  const tags = asObject(data.tags);
  return {
    field: textIn(data.field),
    details: objectsIn(data.details),
    chunk: asObject(data.chunk),
    tags: tags && { open: textIn(tags.open), close: textIn(tags.close) },
  };
}

/** What a text part was. */
export function readTextRole({ providerState }: ContentPart): TextRole {
  const { text } = dataOf(providerState);
  return text === "refusal" || text === "transcript" ? text : "content";
}

/** What a tool call had beside its id, name and arguments. */
export function readCall({ providerState }: ContentPart): JsonObject {
  return asObject(dataOf(providerState).call) ?? {};
}

/** What a generated image had beside its URL; undefined where the part was none. */
export function readImage({ providerState }: ContentPart): JsonObject | undefined {
  return asObject(dataOf(providerState).image);
}

function dataOf(state: ProviderState | undefined): JsonObject {
  return asObject(tryParseJson(state?.dataJson ?? "")) ?? {};
}
