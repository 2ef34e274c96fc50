/**
 * What rides on our parts so that an item can be sent back as the API gave it: everything of
 * it that has no unified form. Written here while answers are read, read here while requests
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
import { asObject, type JsonObject, objectsIn, tryParseJson, without } from "../../kit/json/json.ts";
import { type Item, WIRE_NAME } from "./wire.ts";

/** The JSON in `ProviderState.data_json`. */
export interface PartState {
  /** The same for the parts of one message, and for no others where the API gives its messages ids. */
  readonly key: string;
  /** The item without what the part itself says; a reasoning item whole. */
  readonly item: Item;
  /** The message's content part without its text and annotations. */
  readonly part: JsonObject | undefined;
  /** Whether the item is a message without any content part. */
  readonly empty: boolean;
}

/** Writes the state of one answer's parts. */
export class StateWriter {
  readonly provider: string;
  readonly #model: string;
  readonly #asked: JsonObject;

  /** @param model The model as the provider reports it. */
  constructor({ provider, request }: CallFacts, model: string) {
    this.provider = provider;
    this.#model = model || request.model;
    this.#asked = this.#model === request.model ? {} : { model: request.model };
  }

  /** State of a content part of a message; the item's own fields ride on each of its parts. */
  ofMessagePart(item: Item, part: JsonObject): ProviderState {
    const text = part.type === "refusal" ? "refusal" : "text";
    const noise = objectsIn(part.logprobs).length === 0 ? ["logprobs"] : [];
    return this.#state({
      item: without(item, "content"),
      part: without(part, text, "annotations", ...noise),
    });
  }

  /** State of a content part that is kept whole. */
  ofNativePart(item: Item): ProviderState {
    return this.#state({ item: without(item, "content") });
  }

  /** State of a message that came without content. */
  ofEmptyMessage(item: Item): ProviderState {
    return this.#state({ item: without(item, "content"), empty: true });
  }

  /** State of a reasoning item: the item whole, since its encrypted content belongs to all of it. */
  ofReasoning(item: Item): ProviderState {
    return this.#state({ item });
  }

  /** State of a function or custom tool call. */
  ofCall(item: Item): ProviderState {
    return this.#state({ item: without(item, "call_id", "name", "arguments", "input") });
  }

  /** State of a generated image. */
  ofImage(item: Item): ProviderState {
    return this.#state({ item: without(item, "result") });
  }

  #state(data: JsonObject): ProviderState {
    const dataJson = JSON.stringify({ ...data, ...this.#asked });
    return create(ProviderStateSchema, { provider: this.provider, model: this.#model, dataJson });
  }
}

/** Where the state of a part comes from. */
export function originOf(part: ContentPart, provider: string, model: string): Origin {
  return stateOriginOf(part, { owners: [provider], model, catalog: WIRE_NAME });
}

/** Reads a part's state; undefined where there is none or it is not one of ours. */
export function readState(state: ProviderState | undefined): PartState | undefined {
  if (state === undefined) return undefined;
  const data = asObject(tryParseJson(state.dataJson));
  const item = asObject(data?.item);
  if (data === undefined || item === undefined) return undefined;
  return {
    key: JSON.stringify(item),
    item,
    part: asObject(data.part),
    empty: data.empty === true,
  };
}
