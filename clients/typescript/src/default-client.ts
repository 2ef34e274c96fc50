import { Client } from "./client.ts";

let client: Client | undefined;

/**
 * Returns the client of functions that are not given one. Created at the first call, with the address in
 * `OUTRIGGER_ADDRESS`.
 */
export function getDefaultClient(): Client {
  client ??= new Client();
  return client;
}

/** Replaces the default client. Undefined: the next use creates one again. The previous client is not closed. */
export function setDefaultClient(replacement: Client | undefined): void {
  client = replacement;
}
