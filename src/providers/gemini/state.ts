/**
 * The provider state of parts: every field of a wire part that has no unified form, above all its thought signature, so
 * that the part can be sent back unchanged. Written while answers are read, read while requests are built.
 */
import type { ContentPart, ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import { dataOfState, getBareSignature, PartStateWriter } from "../../kit/adapter/part-state.ts";
import { getOrigin as getStateOrigin, type Origin } from "../../kit/adapter/state-origin.ts";
import { asJson, asObject } from "../../kit/json/json.ts";
import type { Part } from "../../wire/gemini/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME } from "./context.ts";

/** Writes the state of one answer's parts. */
export class StateWriter extends PartStateWriter {
  /** Returns the state of a part. @param rest The fields that the unified part does not hold. */
  ofPart(rest: Untrusted<Part>): ProviderState {
    return this.state({ part: asJson(rest) });
  }

  /** Returns the state of a native part that holds data about the answer as a whole. */
  ofAnswer(): ProviderState {
    return this.state({ part: {}, of_answer: true });
  }
}

/** Returns the origin of a part's state. */
export function getOrigin(part: ContentPart, provider: string, model: string): Origin {
  return getStateOrigin(part, { owners: [provider], model, catalog: PROVIDER_NAME });
}

/**
 * Returns the fields of the wire part that a part's state keeps; empty for a native part, which holds them all itself.
 * Undefined if the part has no state of this API.
 */
export function getStatePart({ providerState }: ContentPart): Untrusted<Part> | undefined {
  const signature = getBareSignature(providerState);
  if (signature !== undefined) return { thought: true, thoughtSignature: signature };
  return asObject<Part>(dataOfState(providerState).part);
}

/** Reports whether a part holds data about an answer as a whole, which is never sent back. */
export function isAnswerData({ providerState }: ContentPart): boolean {
  return dataOfState(providerState).of_answer === true;
}
