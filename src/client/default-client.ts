import { Client } from "./client.ts";

let client: Client | undefined;

/**
 * Returns the client for functions that are called without one. Created from the environment at the first call.
 * @throws ConfigurationError if a variable has an invalid value.
 */
export function getDefaultClient(): Client {
  client ??= Client.fromEnv();
  return client;
}

/**
 * Replaces the default client. If undefined, the next use creates one from the environment again. The previous client
 * is not closed.
 */
export function setDefaultClient(replacement: Client | undefined): void {
  client = replacement;
}
