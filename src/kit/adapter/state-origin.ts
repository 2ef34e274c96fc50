import { defaultCatalog } from "../../catalog/catalog.ts";
import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import { asObject, tryParseJson } from "../json/json.ts";

/** Whether a part's state was written by the provider and the model of the current call. */
export type Origin = "none" | "foreign" | "other_model" | "current_model";

/** Provider and model of the current call. */
export interface AskedModel {
  /** Names under which the provider writes state. */
  readonly owners: readonly string[];
  /** The model as the request names it. */
  readonly model: string;
  /** Provider under which the catalog knows the model. */
  readonly catalog: string;
}

/**
 * Returns the origin of a part's state. An alias and a dated id are the same model, and so is the requested name
 * (`model` in the state) if the provider reported another one, such as the name of a deployment.
 */
export function getOrigin(
  { providerState: state }: ContentPart,
  { owners, model, catalog }: AskedModel,
): Origin {
  if (state === undefined) return "none";
  if (!owners.includes(state.provider)) return "foreign";
  const isSame =
    state.model === model ||
    defaultCatalog.sameModel(state.model, model, catalog) ||
    asObject(tryParseJson(state.dataJson))?.model === model;
  return isSame ? "current_model" : "other_model";
}
