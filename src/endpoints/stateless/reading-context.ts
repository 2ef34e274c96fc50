import { create } from "@bufbuild/protobuf";
import { type ProviderState, ProviderStateSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { ModelTarget, ServedModel } from "../models/model-directory.ts";
import { mistake } from "../openai/fields.ts";
import type { RequestNotes } from "../openai/request-notes.ts";
import { type CarriedState, decodeStates, valuesIn } from "../responses/provider-state.ts";

/** Maximum number of JSON values in the provider states of one request. */
const MAX_STATE_VALUES = 65_536;

/** The served model, the notes about one request, and the limit on the states in it. */
export class ReadingContext {
  readonly served: ServedModel;
  readonly notes: RequestNotes;
  readonly #model: string;
  #stateValues = 0;
  #hasCarried = false;

  constructor({ served, model }: ModelTarget, notes: RequestNotes) {
    this.served = served;
    this.notes = notes;
    this.#model = served.model || model;
  }

  /** Creates state of a part as if the served model had written it. */
  createState(data: JsonObject, provider = this.served.provider): ProviderState {
    const dataJson = JSON.stringify(data);
    return create(ProviderStateSchema, { provider, model: this.#model, dataJson });
  }

  /** Whether the body carries state that only Outrigger understands. */
  get hasCarried(): boolean {
    return this.#hasCarried;
  }

  /**
   * Reads state that an earlier answer carried. @param path Its path in the body.
   * @throws InvalidRequestError if it was changed, or if the states of the request are too large.
   */
  readCarried(data: string, path: string): readonly CarriedState[] {
    this.#hasCarried = true;
    const states = decodeStates(data, MAX_STATE_VALUES - this.#stateValues);
    for (const state of states ?? [])
      this.#stateValues += valuesIn(state, MAX_STATE_VALUES - this.#stateValues);
    if (states !== undefined && this.#stateValues <= MAX_STATE_VALUES) return states;
    const expected = `expected the value from an earlier answer, and at most ${MAX_STATE_VALUES} JSON values in all`;
    throw mistake(path, "invalid_value", `was changed or truncated, or is too large; ${expected}`);
  }
}
