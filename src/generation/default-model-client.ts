import { ConfigurationError } from "../core/errors.ts";
import type { ModelClient } from "./loop/model-calls.ts";

let source: (() => ModelClient) | undefined;

/**
 * Sets the source of the client for generations that are not given one. Called by the first module of a package: the
 * client depends on whether the package calls providers or a sidecar.
 */
export function setModelClientSource(next: () => ModelClient): void {
  source = next;
}

/** Returns the client for generations that are not given one. @throws ConfigurationError if there is none. */
export function defaultModelClient(): ModelClient {
  if (source === undefined)
    throw new ConfigurationError("expected the option client, because there is no default client");
  return source();
}
