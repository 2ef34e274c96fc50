import { sameModel } from "../../catalog/catalog.ts";
import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import { asObject, tryParseJson } from "../json/json.ts";

/** Whether a part's state was written by the provider and the model that are asked now. */
export type Origin = "none" | "foreign" | "other_model" | "own";

/** Who is asked now. */
export interface AskedModel {
  /** Names under which the provider writes state. */
  readonly owners: readonly string[];
  /** The model as the request names it. */
  readonly model: string;
  /** Provider under which the catalog knows the model. */
  readonly catalog: string;
}

/**
 * Where the state of a part comes from. A model is the same under its alias and its dated id,
 * and under the name that was asked for when it wrote (`model` in the state), where the
 * provider reports another: the name of a deployment.
 */
export function originOf(
  { providerState: state }: ContentPart,
  { owners, model, catalog }: AskedModel,
): Origin {
  if (state === undefined) return "none";
  if (!owners.includes(state.provider)) return "foreign";
  const isSame =
    state.model === model ||
    sameModel(state.model, model, catalog) ||
    asObject(tryParseJson(state.dataJson))?.model === model;
  return isSame ? "own" : "other_model";
}
