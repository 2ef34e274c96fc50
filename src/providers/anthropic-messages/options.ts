/**
 * What a request says in the provider's own words: `provider_options_json`. Some options are
 * ours and steer the translation; the rest is merged into the body.
 */

import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { type JsonObject, type JsonValue, parseObjectField, without } from "../../kit/json/json.ts";
import { WIRE_NAME } from "./wire.ts";

/** The options of one request. */
export interface ProviderOptions {
  /** What is merged into the body, last. */
  readonly body: JsonObject;
  /** `beta_headers` and `beta_features`: names for the header `anthropic-beta`, none twice. */
  readonly betas: readonly string[];
  /** `auto_cache`: whether cache breakpoints are placed. Default true. */
  readonly autoCache: boolean;
  /** `document_citations`: whether the model cites the documents of the request. Default false. */
  readonly documentCitations: boolean;
  /**
   * `unsupported_tool_choice`: what becomes of a forced tool choice that the model does not take,
   * `error` (default), or `auto`: the model is free, and a named tool is the only one offered.
   */
  readonly freesToolChoice: boolean;
}

/** The beta that prompt caching needed before it became part of the API; a no-op since. */
const LEGACY_CACHE_BETA = "prompt-caching-2024-07-31";

const OWN_OPTIONS = [
  "auto_cache",
  "beta_headers",
  "beta_features",
  "document_citations",
  "send_legacy_cache_header",
  "unsupported_tool_choice",
];

/**
 * Reads the options that a request has for this provider, by its registered name or by the
 * name of its API.
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
  const flag = (key: string, unset: boolean) => readFlag(options[key], unset, `${field}.${key}`);
  const betas = ["beta_headers", "beta_features"].flatMap((key) =>
    readBetas(options[key], `${field}.${key}`),
  );
  if (flag("send_legacy_cache_header", false)) betas.push(LEGACY_CACHE_BETA);
  return {
    body: without(options, ...OWN_OPTIONS),
    betas: [...new Set(betas)],
    autoCache: flag("auto_cache", true),
    documentCitations: flag("document_citations", false),
    freesToolChoice: readToolChoicePolicy(
      options.unsupported_tool_choice,
      `${field}.unsupported_tool_choice`,
    ),
  };
}

function readFlag(value: JsonValue | undefined, unset: boolean, field: string): boolean {
  if (value === undefined || value === null) return unset;
  if (typeof value === "boolean") return value;
  throw invalidField(field, "expected true or false");
}

/** A list of names, or one text with commas between them, as the header itself has it. */
function readBetas(value: JsonValue | undefined, field: string): string[] {
  if (value === undefined || value === null) return [];
  const names: readonly unknown[] = typeof value === "string" ? value.split(",") : [value].flat();
  return names.map((name) => {
    if (typeof name === "string" && BETA_NAME.test(name.trim())) return name.trim();
    throw invalidField(
      field,
      "expected a list of names of beta features, such as context-management-2025-06-27",
    );
  });
}

const BETA_NAME = /^[\w.:-]+$/;

function readToolChoicePolicy(value: JsonValue | undefined, field: string): boolean {
  if (value === undefined || value === null || value === "error") return false;
  if (value === "auto") return true;
  throw invalidField(field, 'expected "error" or "auto"');
}
