import { Client } from "./client.ts";

let client: Client | undefined;

/**
 * The client of functions that are not given one: made from the environment when it is first
 * asked for (specification §2.5).
 * @throws ConfigurationError where a variable holds what cannot work.
 */
export function getDefaultClient(): Client {
  client ??= Client.fromEnv();
  return client;
}

/** Replaces the default client. Undefined: the next use makes one from the environment again. Closes nothing. */
export function setDefaultClient(replacement: Client | undefined): void {
  client = replacement;
}
