import { ConfigurationError } from "../../core/errors.ts";

/**
 * Checks a credential that an adapter requires, so that an unset variable fails when the adapter is created instead of
 * being sent as the text `undefined`.
 * @param what The credential with its article: `an API key`.
 * @throws ConfigurationError naming the provider. It never holds the credential.
 */
export function requireCredential(provider: string, value: unknown, what: string, remedy = ""): void {
  if (typeof value === "string" && value.trim() !== "") return;
  const found = `provider ${JSON.stringify(provider)}: expected ${what}, found ${describe(value)}`;
  throw new ConfigurationError(remedy === "" ? found : `${found}; ${remedy}`);
}

/**
 * Checks a credential that an adapter can do without. An option that is given as undefined is an unset variable, which
 * is not the same as an option that is left out.
 */
export function checkOptionalKey(provider: string, options: { readonly apiKey?: unknown }): void {
  if (!("apiKey" in options)) return;
  requireCredential(provider, options.apiKey, "an API key", "leave the option out if none is needed");
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return typeof value === "string" ? "an empty one" : `a ${typeof value}`;
}
