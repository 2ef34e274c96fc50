import { ConfigurationError } from "../core/errors.ts";
import type { ModelClient } from "./loop/model-calls.ts";

let source: (() => ModelClient) | undefined;

/**
 * Says where generations find the client that they are not given. For the first module of a package: which client that
 * is depends on whether the package calls providers or a sidecar.
 */
export function setModelClientSource(next: () => ModelClient): void {
  source = next;
}

/** The client of generations that are not given one. @throws ConfigurationError where there is none. */
export function defaultModelClient(): ModelClient {
  if (source === undefined)
    throw new ConfigurationError("expected the option client: there is no default client");
  return source();
}
