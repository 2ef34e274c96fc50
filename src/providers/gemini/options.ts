import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import { PROVIDER_NAME } from "./context.ts";

/**
 * Reads the `provider_options_json` of a request for this provider, by its registered name or by the name of its API.
 * They are merged into the body last.
 * @throws InvalidRequestError if they are not a JSON object.
 */
export function readOptions({ providerOptionsJson }: Request, provider: string): JsonObject {
  const name = providerOptionsJson[provider] === undefined ? PROVIDER_NAME : provider;
  const text = providerOptionsJson[name];
  return text === undefined ? {} : parseObjectField(text, `provider_options_json["${name}"]`);
}
