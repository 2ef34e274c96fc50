import { create } from "@bufbuild/protobuf";
import { type ProviderState, ProviderStateSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { ModelTarget, ServedModel } from "../models/model-directory.ts";
import { invalidParameter } from "../openai/fields.ts";
import { RequestNotes } from "../openai/request-notes.ts";
import { type CarriedState, countStateValues, decodeStates } from "../responses/provider-state.ts";

/** Maximum number of JSON values in the provider states of one request. */
const MAX_STATE_VALUES = 65_536;

/** The model that a body names, the notes about the body, and the limit on the states in it. */
export class ReadingContext {
  readonly target: ModelTarget;
  readonly notes = new RequestNotes();
  #stateValues = 0;
  #hasCarried = false;

  constructor(target: ModelTarget) {
    this.target = target;
  }

  get served(): ServedModel {
    return this.target.served;
  }

  /** Warns of a setting that is left out. */
  warnAboutSetting(path: string): void {
    const message = "the model's provider has no such setting; it was left out";
    this.notes.warn(path, "unsupported_setting", message);
  }

  /** Creates state of a part as if the served model had written it. */
  createState(data: JsonObject, provider = this.served.provider): ProviderState {
    const model = this.served.model || this.target.model;
    return create(ProviderStateSchema, { provider, model, dataJson: JSON.stringify(data) });
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
      this.#stateValues += countStateValues(state, MAX_STATE_VALUES - this.#stateValues);
    if (states !== undefined && this.#stateValues <= MAX_STATE_VALUES) return states;
    const expected = `expected the value from an earlier answer, and at most ${MAX_STATE_VALUES} JSON values in all`;
    throw invalidParameter(path, "invalid_value", `was changed or truncated, or is too large; ${expected}`);
  }
}
