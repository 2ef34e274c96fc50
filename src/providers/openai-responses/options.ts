/** The fields that a request sets in the provider's format (`provider_options_json`): merged into the body, last. */

import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { type JsonObject, mergeObjects, parseObjectField } from "../../kit/json/json.ts";
import type { CreateRequest } from "../../wire/openai-responses/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME } from "./context.ts";

/** The options of one request. */
export interface ProviderOptions {
  /** Fields that are merged into the body, last. */
  readonly body: JsonObject;
  /** `store`: whether the provider stores the response; undefined if the options do not set it. */
  readonly store: boolean | undefined;
  /** `tools`: tools that are added to the request's tools. Not checked. */
  readonly tools: unknown;
}

/**
 * Reads the options that a request has for this provider, by its registered name or by the name of its API.
 * @throws InvalidRequestError naming the option that is wrong.
 */
export function readOptions({ providerOptionsJson }: Request, provider: string): ProviderOptions {
  const name = providerOptionsJson[provider] === undefined ? PROVIDER_NAME : provider;
  const field = `provider_options_json["${name}"]`;
  const text = providerOptionsJson[name];
  const body = text === undefined ? {} : parseObjectField(text, field);
  const { store, stream, tools }: Untrusted<CreateRequest> = body;
  // The called method decides whether an answer is streamed.
  if (stream !== undefined)
    throw invalidField(`${field}.stream`, "expected no `stream` here: call Stream or Complete instead");
  return { body, store: typeof store === "boolean" ? store : undefined, tools };
}

/** Lists that the options add to instead of replacing. */
const APPENDED: readonly (keyof CreateRequest)[] = ["tools", "include"];

/** A body with the options merged into it. */
export function withOptions(body: JsonObject, { body: options }: ProviderOptions): JsonObject {
  if (Object.keys(options).length === 0) return body;
  const merged = mergeObjects(body, options, APPENDED);
  const { include }: Untrusted<CreateRequest> = merged;
  // The caller may list entries that the adapter also adds.
  return Array.isArray(include) ? { ...merged, include: [...new Set(include)] } : merged;
}
