/**
 * `ProviderState` of the Messages API: the fields of a content block that its part does not hold, so that the block can
 * be sent back unchanged.
 */
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { dataOfState, getBareSignature, PartStateWriter } from "../../kit/adapter/part-state.ts";
import { getOrigin as getStateOrigin, type Origin } from "../../kit/adapter/state-origin.ts";
import { asJson, asObject, type JsonObject, without } from "../../kit/json/json.ts";
import type { ContentBlock } from "../../wire/anthropic-messages/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME } from "./context.ts";

/** Writes the state of one answer's parts: `{"block": …}`, the block without the fields that the part has. */
export class StateWriter extends PartStateWriter {
  /** Returns the state of a text block; undefined if the part holds the whole block. */
  ofText(block: Untrusted<ContentBlock>): ProviderState | undefined {
    return this.#stateUnlessEmpty(without(block, "type", "text", "citations"));
  }

  /** Returns the state of a thinking block: its signature. */
  ofThinking(block: Untrusted<ContentBlock>): ProviderState {
    return this.state({ block: without(block, "thinking") });
  }

  /** Returns the state of a redacted thinking block: the whole block. */
  ofRedactedThinking(block: Untrusted<ContentBlock>): ProviderState {
    return this.state({ block: asJson(block) });
  }

  /** Returns the state of a tool call: its caller and its toolset. Undefined if the part holds the whole block. */
  ofToolUse(block: Untrusted<ContentBlock>): ProviderState | undefined {
    return this.#stateUnlessEmpty(without(block, "type", "id", "name", "input"));
  }

  #stateUnlessEmpty(block: JsonObject): ProviderState | undefined {
    return Object.keys(block).length === 0 ? undefined : this.state({ block });
  }
}

/** Returns the origin of a part's state, as seen by the provider and model of the request. */
export function getOrigin(part: ContentPart, provider: string, model: string): Origin {
  return getStateOrigin(part, { owners: [provider, PROVIDER_NAME], model, catalog: PROVIDER_NAME });
}

/** Reports whether a name is one of this provider's: its registered name, or the name of its API. */
export function isSameProvider(name: string, provider: string): boolean {
  return name === provider || name === PROVIDER_NAME;
}

/** Returns the fields of the block that a part's state keeps; undefined if the state is another provider's. */
export function getStateBlock(part: ContentPart, provider: string): Untrusted<ContentBlock> | undefined {
  const { providerState: state } = part;
  if (state === undefined || !isSameProvider(state.provider, provider)) return undefined;
  const signature = getBareSignature(state);
  if (signature !== undefined) return { type: "thinking", signature };
  return asObject<ContentBlock>(dataOfState(state).block);
}
