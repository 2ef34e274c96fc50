/**
 * `provider_options_json`: some options belong to Outrigger and control the translation; the rest is merged into the
 * body unchanged.
 */

import { invalidField } from "../../core/errors.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import { readBodyOptions, readToolChoicePolicy } from "../../kit/adapter/request-context.ts";
import { type JsonValue, without } from "../../kit/json/json.ts";
import { PROVIDER_NAME, type ProviderOptions } from "./context.ts";

/** The beta that prompt caching needed before it became part of the API; a no-op since. */
const LEGACY_CACHE_BETA = "prompt-caching-2024-07-31";

const ADAPTER_OPTIONS = [
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
export function readOptions(request: Request, provider: string): ProviderOptions {
  const found = readBodyOptions(request, provider, PROVIDER_NAME);
  const { options, field } = found;
  const flag = (key: string, defaultValue: boolean) =>
    readFlag(options[key], defaultValue, `${field}.${key}`);
  const betas = ["beta_headers", "beta_features"].flatMap((key) =>
    readBetas(options[key], `${field}.${key}`),
  );
  if (flag("send_legacy_cache_header", false)) betas.push(LEGACY_CACHE_BETA);
  return {
    body: without(options, ...ADAPTER_OPTIONS),
    betas: [...new Set(betas)],
    autoCache: flag("auto_cache", true),
    documentCitations: flag("document_citations", false),
    relaxesToolChoice: readToolChoicePolicy(found),
  };
}

function readFlag(value: JsonValue | undefined, defaultValue: boolean, field: string): boolean {
  if (value === undefined || value === null) return defaultValue;
  if (typeof value === "boolean") return value;
  throw invalidField(field, "expected true or false");
}

/** A list of names, or one string of comma-separated names, as in the header. */
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
