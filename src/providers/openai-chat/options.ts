/**
 * What a request says in the server's own words: `provider_options_json`. One option is ours and
 * steers the translation; the rest is merged into the body.
 */

import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { type JsonObject, parseObjectField, without } from "../../kit/json/json.ts";
import { WIRE_NAME } from "./wire.ts";

/** The options of one request. */
export interface ProviderOptions {
  /** What is merged into the body, last. */
  readonly body: JsonObject;
  /**
   * `unsupported_tool_choice`: what becomes of a forced tool choice that the server does not take,
   * `error` (default), or `auto`: the model is free, and a named tool is the only one offered.
   */
  readonly freesToolChoice: boolean;
}

/**
 * Reads the options that a request has for this provider, by its registered name or by the name
 * of its API.
 * @throws InvalidRequestError naming the option that is wrong.
 */
export function readOptions({ providerOptionsJson }: Request, provider: string): ProviderOptions {
  const name = providerOptionsJson[provider] === undefined ? WIRE_NAME : provider;
  const field = `provider_options_json["${name}"]`;
  const text = providerOptionsJson[name];
  const options = text === undefined ? {} : parseObjectField(text, field);
  // Whether an answer streams is decided by the method that was called.
  if (options.stream !== undefined)
    throw invalidField(`${field}.stream`, "expected no `stream` here: call Stream or Complete instead");
  const policy = options.unsupported_tool_choice ?? "error";
  if (policy !== "error" && policy !== "auto")
    throw invalidField(`${field}.unsupported_tool_choice`, 'expected "error" or "auto"');
  return { body: without(options, "unsupported_tool_choice"), freesToolChoice: policy === "auto" };
}
