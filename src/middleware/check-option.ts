import { ConfigurationError } from "../core/errors.ts";

/**
 * Checks the value of an option.
 * @param what Names the option: `the cache's maxAge`.
 * @throws ConfigurationError if the value is not valid.
 */
export function checkOption(what: string, value: number, isValid: boolean, expected: string): void {
  if (!isValid) throw new ConfigurationError(`${what} is ${value}; expected ${expected}`);
}
