/**
 * `ProviderState` of the Messages API: what a content block holds beside what its part has, so that the block can be
 * sent back as the API gave it.
 */
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { bareSignatureIn, dataOfState, PartStateWriter } from "../../kit/adapter/part-state.ts";
import { type Origin, getOrigin as stateOriginOf } from "../../kit/adapter/state-origin.ts";
import { asJson, asObject, type JsonObject, without } from "../../kit/json/json.ts";
import type { ContentBlock } from "../../wire/anthropic-messages/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME } from "./context.ts";

/** Writes the state of one answer's parts: `{"block": …}`, the block without what the part has. */
export class StateWriter extends PartStateWriter {
  /** State of a text block; undefined where the part has all of it. */
  ofText(block: Untrusted<ContentBlock>): ProviderState | undefined {
    return this.#stateUnlessEmpty(without(block, "type", "text", "citations"));
  }

  /** State of a thinking block: its signature. */
  ofThinking(block: Untrusted<ContentBlock>): ProviderState {
    return this.state({ block: without(block, "thinking") });
  }

  /** State of a redacted thinking block: all of it. */
  ofRedactedThinking(block: Untrusted<ContentBlock>): ProviderState {
    return this.state({ block: asJson(block) });
  }

  /** State of a tool call: its caller and its toolset. Undefined where the part has all of it. */
  ofToolUse(block: Untrusted<ContentBlock>): ProviderState | undefined {
    return this.#stateUnlessEmpty(without(block, "type", "id", "name", "input"));
  }

  #stateUnlessEmpty(block: JsonObject): ProviderState | undefined {
    return Object.keys(block).length === 0 ? undefined : this.state({ block });
  }
}

/** Where the state of a part comes from, as seen by the provider and model of the request. */
export function getOrigin(part: ContentPart, provider: string, model: string): Origin {
  return stateOriginOf(part, { owners: [provider, PROVIDER_NAME], model, catalog: PROVIDER_NAME });
}

/** Whether a name is this provider's: the one under which it is registered, or that of its API. */
export function isOwnProvider(name: string, provider: string): boolean {
  return name === provider || name === PROVIDER_NAME;
}

/** The fields of the block that a part's state keeps; undefined where the state is another provider's. */
export function getStateBlock(part: ContentPart, provider: string): Untrusted<ContentBlock> | undefined {
  const { providerState: state } = part;
  if (state === undefined || !isOwnProvider(state.provider, provider)) return undefined;
  const signature = bareSignatureIn(state);
  if (signature !== undefined) return { type: "thinking", signature };
  return asObject<ContentBlock>(dataOfState(state).block);
}
