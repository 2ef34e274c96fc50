/**
 * What rides on our parts so that a block can be sent back as the API gave it: everything of
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
import { asObject, tryParseJson, without } from "../../kit/json/json.ts";
import { type Block, WIRE_NAME } from "./wire.ts";

/** The JSON in `ProviderState.data_json`. */
interface PartState {
  /** The block without what the part itself says. */
  readonly block: Block;
}

/** Writes the state of one answer's parts. */
export class StateWriter {
  readonly provider: string;
  readonly #model: string;
  readonly #asked: Block;

  /** @param model The model as the provider reports it. */
  constructor({ provider, request }: CallFacts, model: string) {
    this.provider = provider;
    this.#model = model || request.model;
    this.#asked = this.#model === request.model ? {} : { model: request.model };
  }

  /** State of a text block; undefined where the part says all of it. */
  ofText(block: Block): ProviderState | undefined {
    return this.#stateUnlessEmpty(without(block, "type", "text", "citations"));
  }

  /** State of a thinking block, its signature. */
  ofThinking(block: Block): ProviderState {
    return this.#state(without(block, "thinking"));
  }

  /** State of a redacted thinking block: all of it. */
  ofRedactedThinking(block: Block): ProviderState {
    return this.#state(block);
  }

  /** State of a tool call: who called, which toolset. Undefined where the part says all of it. */
  ofToolUse(block: Block): ProviderState | undefined {
    return this.#stateUnlessEmpty(without(block, "type", "id", "name", "input"));
  }

  #stateUnlessEmpty(block: Block): ProviderState | undefined {
    return Object.keys(block).length === 0 ? undefined : this.#state(block);
  }

  #state(block: Block): ProviderState {
    const dataJson = JSON.stringify({ block, ...this.#asked });
    return create(ProviderStateSchema, { provider: this.provider, model: this.#model, dataJson });
  }
}

/** Where the state of a part comes from, as seen by the provider and model that are asked now. */
export function originOf(part: ContentPart, provider: string, model: string): Origin {
  return stateOriginOf(part, { owners: [provider, WIRE_NAME], model, catalog: WIRE_NAME });
}

/** Whether what a provider of that name wrote is in this API's words. */
export function isOwnProvider(writer: string, provider: string): boolean {
  return writer === provider || writer === WIRE_NAME;
}

/** The fields of the block that a part's state keeps; undefined where it is none of ours. */
export function stateBlockOf(part: ContentPart, provider: string): Block | undefined {
  const { providerState: state } = part;
  return state !== undefined && isOwnProvider(state.provider, provider) ? readState(state)?.block : undefined;
}

function readState({ dataJson }: ProviderState): PartState | undefined {
  const data = asObject(tryParseJson(dataJson));
  const block = asObject(data?.block);
  return block === undefined ? undefined : { block };
}
