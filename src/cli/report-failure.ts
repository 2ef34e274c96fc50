import { ConfigurationError, SDKError } from "../spec/errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { UsageError } from "./flags.ts";

/** System codes that mean that an address cannot be listened on. */
const ADDRESS_CODES = new Set(["EADDRINUSE", "EADDRNOTAVAIL", "EACCES"]);

/**
 * Tells on stderr why a command failed, in a few lines and without a stack.
 * @returns The exit code that fits.
 */
export function reportFailure(error: unknown): number {
  const [message, code] = describe(error);
  process.stderr.write(`outrigger: ${message}\n`);
  return code;
}

function describe(error: unknown): [message: string, code: number] {
  if (error instanceof UsageError) return [`${error.message}\nTry "outrigger --help".`, exitCodes.usage];
  if (error instanceof ConfigurationError && isAddressFailure(error.cause)) {
    return [`${error.message}${adviceFor(error)}`, exitCodes.address];
  }
  if (error instanceof ConfigurationError) return [error.message, exitCodes.configuration];
  if (error instanceof SDKError) return [error.message, exitCodes.failure];
  return [`unexpected failure: ${stackOf(error)}`, exitCodes.failure];
}

/** Whether an error of the system says that an address cannot be listened on. */
export function isAddressFailure(error: unknown): boolean {
  return error instanceof Error && "code" in error && ADDRESS_CODES.has(String(error.code));
}

/** The flag that says another address. */
function adviceFor({ violations }: ConfigurationError): string {
  const [violation] = violations;
  return violation === undefined
    ? ""
    : `\nChoose one with --${violation.field.replaceAll("_", "-")} ADDRESS.`;
}

/** The stack is for whoever asked for details; anyone else wants to know what happened. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const detailed = /^(debug|trace)$/.test(process.env.OUTRIGGER_LOG_LEVEL ?? "");
  const hint = "\nSet OUTRIGGER_LOG_LEVEL=debug to see where.";
  return detailed ? (error.stack ?? error.message) : `${error.name}: ${error.message}${hint}`;
}
