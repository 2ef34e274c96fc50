import type { ProviderState } from "../../gen/outrigger/v1/message_pb.ts";
import type { CallFacts } from "../call/call-facts.ts";
import { asObject, asString, type JsonObject, tryParseJson } from "../json/json.ts";

/**
 * Writes the `ProviderState` of one answer's parts: everything of a provider's block that has no unified form, so that
 * the block can be sent back unchanged. An adapter adds one method for each kind of part.
 */
export abstract class PartStateWriter {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly #requested: string;
  readonly #withoutKeys: CallFacts["withoutKeys"];
  #reported = "";

  /** @param model The model as the provider reports it; empty while that is not known. */
  constructor({ provider, request, withoutKeys }: CallFacts, model = "") {
    this.provider = provider;
    this.#requested = request.model;
    this.#withoutKeys = withoutKeys;
    this.model = model;
  }

  /** The model as the provider reports it; the requested one before that. */
  get model(): string {
    return this.#reported || this.#requested;
  }

  /** Takes the model that the provider reports. Only the first one counts. */
  set model(model: string) {
    const named = model.toWellFormed();
    this.#reported ||= this.#withoutKeys?.(named) ?? named;
  }

  /**
   * Returns the state, with the requested model if the provider reports another one, such as the name of a deployment.
   */
  protected state(data: JsonObject): ProviderState {
    const { provider } = this;
    const model = this.#reported || this.#requested;
    const whole = model === this.#requested ? data : { ...data, model: this.#requested };
    return { $typeName: "outrigger.v1.ProviderState", provider, model, dataJson: JSON.stringify(whole) };
  }
}

/** Returns the bare signature that `reasoningPart` keeps; undefined for a state that an adapter wrote. */
export function getBareSignature(state: ProviderState | undefined): string | undefined {
  return asString(dataOfState(state).signature);
}

/** Returns the JSON object that a state holds. Empty if there is none. */
export function dataOfState(state: ProviderState | undefined): JsonObject {
  return asObject(tryParseJson(state?.dataJson ?? "")) ?? {};
}
