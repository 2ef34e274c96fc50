import { ProviderError, type SDKError, withViolations } from "../core/errors.ts";

/**
 * How errors name the fields of a request: as TypeScript does (`toolChoice.mode`) or as the contract does
 * (`tool_choice.mode`).
 */
export type FieldPaths = "typescript" | "contract";

/** Returns the error with the fields of a request named as in TypeScript. The same error if it names none. */
export function withTypeScriptPaths(error: SDKError): SDKError {
  return withFieldPaths(error, toTypeScriptPath);
}

/** Returns the error with other names for the fields of its request. The same error if it names none. */
export function withFieldPaths(error: SDKError, toPath: (field: string) => string): SDKError {
  if (error.violations.length === 0) return error;
  const violations = error.violations.map(({ field, description }) => ({
    field: toPath(field),
    description,
  }));
  // Text that a provider wrote is repeated unchanged.
  const isReported = error instanceof ProviderError && error.provider !== "";
  const message = error.violations.reduce(
    (text, { field }) => (isReported ? text : text.replaceAll(`${field}: `, `${toPath(field)}: `)),
    error.message,
  );
  return withViolations(error, message, violations);
}

/** Quoted keys of maps are the caller's words and stay unchanged. */
function toTypeScriptPath(field: string): string {
  return field.replace(
    /"[^"]*"|_([a-z0-9])/g,
    (found, letter: string | undefined) => letter?.toUpperCase() ?? found,
  );
}
