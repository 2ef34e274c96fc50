import { Client } from "./client.ts";

let client: Client | undefined;

/**
 * The client of functions that are not given one. Created from the environment at the first call.
 * @throws ConfigurationError where a variable has an invalid value.
 */
export function getDefaultClient(): Client {
  client ??= Client.fromEnv();
  return client;
}

/** Replaces the default client. Undefined: the next use creates one from the environment again. The previous client is not closed. */
export function setDefaultClient(replacement: Client | undefined): void {
  client = replacement;
}
