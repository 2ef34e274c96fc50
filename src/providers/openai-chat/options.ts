/**
 * The part of a request in the server's format: `provider_options_json`. One option belongs to Outrigger and controls
 * the translation; the rest is merged into the body.
 */

import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { parseObjectField, without } from "../../kit/json/json.ts";
import type { ChatRequest } from "../../wire/openai-chat/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME } from "./context.ts";

/** The options of one request. */
export interface ProviderOptions {
  /** Fields that are merged into the body, last. */
  readonly body: Untrusted<ChatRequest>;
  /**
   * Whether a forced tool choice that the server does not support becomes `auto` instead of an error; a named tool is
   * then the only one that is sent. Option `unsupported_tool_choice`: `error` (default) or `auto`.
   */
  readonly relaxesToolChoice: boolean;
}

/**
 * Reads the options that a request has for this provider, under its registered name or under the name of its API.
 * @throws InvalidRequestError naming the option that is wrong.
 */
export function readOptions({ providerOptionsJson }: Request, provider: string): ProviderOptions {
  const name = providerOptionsJson[provider] === undefined ? PROVIDER_NAME : provider;
  const field = `provider_options_json["${name}"]`;
  const text = providerOptionsJson[name];
  const options = text === undefined ? {} : parseObjectField(text, field);
  // The called method decides whether an answer is streamed.
  if (options.stream !== undefined)
    throw invalidField(`${field}.stream`, "expected no `stream` here: call Stream or Complete instead");
  const policy = options.unsupported_tool_choice ?? "error";
  if (policy !== "error" && policy !== "auto")
    throw invalidField(`${field}.unsupported_tool_choice`, 'expected "error" or "auto"');
  return { body: without(options, "unsupported_tool_choice"), relaxesToolChoice: policy === "auto" };
}
