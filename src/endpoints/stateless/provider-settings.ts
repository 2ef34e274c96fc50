/** The settings of a request that have no field in the contract, for the provider that serves it. */
import type { JsonObject } from "../../kit/json/json.ts";
import type { ServedModel } from "../models/model-directory.ts";

/** These settings, as fields of the request. */
export interface ProviderSettings {
  readonly providerOptionsJson: Record<string, string>;
  /** Empty if the request does not set it, or if it is among the options. */
  readonly reasoningEffort: string;
}

/** Settings in the form of another API, and the fields that they were read from. */
export interface Counterparts {
  readonly options: JsonObject;
  readonly read: readonly string[];
}

/** Returns `provider_options_json` with the options of a provider. */
export function createOptions({ provider }: ServedModel, options: JsonObject): Record<string, string> {
  return Object.keys(options).length === 0 ? {} : { [provider]: JSON.stringify(options) };
}

/** The largest thinking budget of each effort, in tokens. */
const BUDGETS = [
  ["none", 0],
  ["low", 2048],
  ["medium", 8192],
] as const;

/** Returns the reasoning effort for a thinking budget in tokens. */
export function toEffort(budget: number): string {
  return BUDGETS.find(([, tokens]) => budget <= tokens)?.[0] ?? "high";
}
