/** The parts of a provider's answer that have no unified form, for the APIs that have fields for them. */
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import { asObject, type JsonObject, type JsonValue, objectIn, tryParseJson } from "../../kit/json/json.ts";

/** The metadata of an answer. Every object may be empty. */
export interface AnswerMetadata {
  /** All members, by their names in the provider's API. */
  readonly members: JsonObject;
  /** Counts without a field in the contract, from `usage` of OpenAI's and Anthropic's APIs. */
  readonly usage: JsonObject;
  /** The same from `usageMetadata` of Gemini's API. */
  readonly usageMetadata: JsonObject;
  /** Fields of the candidate of Gemini's API. */
  readonly candidate: JsonObject;
  /** The tier that served the request, in OpenAI's words. Undefined if it is unknown or has no such word. */
  readonly tier: string | undefined;
}

/** Reads the metadata of an answer. */
export function readAnswerMetadata({
  providerMetadataJson,
}: Pick<Response, "providerMetadataJson">): AnswerMetadata {
  const members = providerMetadataJson === "" ? {} : (asObject(tryParseJson(providerMetadataJson)) ?? {});
  const usage = objectIn(members.usage);
  const usageMetadata = objectIn(members.usageMetadata);
  const tier = members.service_tier ?? usage.service_tier ?? usageMetadata.serviceTier;
  return { members, usage, usageMetadata, candidate: objectIn(members.candidate), tier: TIERS.get(tier) };
}

/** OpenAI's words for the tiers of all APIs. */
const TIERS: ReadonlyMap<unknown, string> = new Map([
  ...["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"].map(
    (tier) => [tier, tier] as const,
  ),
  ["standard", "default"],
]);

/** Returns the members with these names. Names without a member are skipped. */
export function pickMembers(members: JsonObject, names: readonly string[]): JsonObject {
  const picked: Record<string, JsonValue | undefined> = {};
  for (const name of names) if (Object.hasOwn(members, name)) picked[name] = members[name];
  return picked;
}
