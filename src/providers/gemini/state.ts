/**
 * What rides on our parts so that a part can be sent back as the API gave it: everything of it
 * that has no unified form, its thought signature above all. Written here while answers are
 * read, read here while requests are built.
 */
import { create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  type ProviderState,
  ProviderStateSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { type Origin, originOf as stateOriginOf } from "../../kit/adapter/state-origin.ts";
import { asObject, type JsonObject, tryParseJson } from "../../kit/json/json.ts";
import { type Part, WIRE_NAME } from "./wire.ts";

/** The JSON in `ProviderState.data_json`. */
export interface PartState {
  /** The part as the API gave it, without what our part says itself; empty for a native part, which says all. */
  readonly part: Part;
  /** Whether the part holds what was said of an answer as a whole, and is never sent back. */
  readonly ofAnswer: boolean;
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

  /** State of a part. @param part What the unified part does not say of it. */
  of(part: Part): ProviderState {
    return this.#state({ part });
  }

  /** State of a native part that holds what was said of an answer as a whole. */
  ofAnswer(): ProviderState {
    return this.#state({ part: {}, of_answer: true });
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
  const part = asObject(data?.part);
  if (data === undefined || part === undefined) return undefined;
  return { part, ofAnswer: data.of_answer === true };
}
