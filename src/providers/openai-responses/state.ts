/**
 * The state that a part keeps so that its item can be sent back unchanged: all fields of the item that have no unified
 * form. Written while answers are read, read while requests are built.
 */
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { dataOfState, getBareSignature, PartStateWriter } from "../../kit/adapter/part-state.ts";
import { getOrigin as getStateOrigin, type Origin } from "../../kit/adapter/state-origin.ts";
import { asJson, asObject, objectsIn, without } from "../../kit/json/json.ts";
import type { OutputContent, OutputItem } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME } from "./context.ts";

/** The JSON in `ProviderState.data_json`. */
export interface PartState {
  /** The same for the parts of one message, and for no others if the API gives its messages ids. Not stored. */
  readonly key: string;
  /** The item without the fields that the part holds; a whole reasoning item. */
  readonly item: Untrusted<OutputItem>;
  /** The message's content part without its text and annotations. */
  readonly part: Untrusted<OutputContent> | undefined;
  /** Whether the item is a message without any content part. */
  readonly empty: boolean;
}

/** Writes the state of one answer's parts. */
export class StateWriter extends PartStateWriter {
  /** Returns the state of a content part of a message. Each part of a message keeps the fields of the item. */
  ofMessagePart(item: Untrusted<OutputItem>, part: Untrusted<OutputContent>): ProviderState {
    const text = part.type === "refusal" ? "refusal" : "text";
    const unused = objectsIn(part.logprobs).length === 0 ? ["logprobs"] : [];
    return this.state({
      item: without(item, "content"),
      part: without(part, text, "annotations", ...unused),
    });
  }

  /** Returns the state of a content part that becomes a native part. */
  ofNativePart(item: Untrusted<OutputItem>): ProviderState {
    return this.state({ item: without(item, "content") });
  }

  /** Returns the state of a message that came without content. */
  ofEmptyMessage(item: Untrusted<OutputItem>): ProviderState {
    return this.state({ item: without(item, "content"), empty: true });
  }

  /** Returns the state of a reasoning item: the whole item, to which its encrypted content belongs. */
  ofReasoning(item: Untrusted<OutputItem>): ProviderState {
    return this.state({ item: asJson(item) });
  }

  /** Returns the state of a function or custom tool call. */
  ofCall(item: Untrusted<OutputItem>): ProviderState {
    return this.state({ item: without(item, "call_id", "name", "arguments", "input") });
  }

  /** Returns the state of a generated image. */
  ofImage(item: Untrusted<OutputItem>): ProviderState {
    return this.state({ item: without(item, "result") });
  }
}

/** Returns the origin of a part's state. */
export function getOrigin(part: ContentPart, provider: string, model: string): Origin {
  return getStateOrigin(part, { owners: [provider], model, catalog: PROVIDER_NAME });
}

/** Returns the item of reasoning if only its encrypted content was kept. */
function bareReasoningItem(state: ProviderState | undefined): Untrusted<OutputItem> | undefined {
  const encrypted = getBareSignature(state);
  return encrypted === undefined
    ? undefined
    : { type: "reasoning", summary: [], encrypted_content: encrypted };
}

/** Reads a part's state; undefined if there is none or this adapter did not write it. */
export function readState(state: ProviderState | undefined): PartState | undefined {
  const data: Untrusted<PartState> = dataOfState(state);
  const item = asObject<OutputItem>(data.item) ?? bareReasoningItem(state);
  if (item === undefined) return undefined;
  return {
    key: JSON.stringify(item),
    item,
    part: asObject<OutputContent>(data.part),
    empty: data.empty === true,
  };
}
