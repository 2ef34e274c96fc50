import { ConfigurationError, SDKError } from "../core/errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { UsageError } from "./flags.ts";
import type { Terminal } from "./terminal.ts";

/** System codes of addresses that cannot be listened on. */
const ADDRESS_CODES = new Set(["EADDRINUSE", "EADDRNOTAVAIL", "EACCES"]);

const ADDRESS_FIELDS = new Set(["listen", "admin_listen"]);

/** Returns the reason for a command's failure, in a few lines and without a stack, and the matching exit code. */
export function describeFailure(error: unknown, env: Terminal["env"]): { message: string; code: number } {
  if (error instanceof UsageError) {
    return { message: `${error.message}\nTry "outrigger --help".`, code: exitCodes.usage };
  }
  if (error instanceof ConfigurationError && isAboutAddress(error)) {
    return { message: `${error.message}${adviceFor(error)}`, code: exitCodes.address };
  }
  if (error instanceof ConfigurationError) return { message: error.message, code: exitCodes.configuration };
  if (error instanceof SDKError) return { message: error.message, code: exitCodes.failure };
  return { message: `unexpected failure: ${getStack(error, env)}`, code: exitCodes.failure };
}

/** Reports whether a system error says that an address cannot be listened on. */
export function isAddressFailure(error: unknown): boolean {
  return error instanceof Error && "code" in error && ADDRESS_CODES.has(String(error.code));
}

/** Also true for errors without a system code, such as a Unix socket in use by another process. */
function isAboutAddress({ cause, violations }: ConfigurationError): boolean {
  return isAddressFailure(cause) || violations.some(({ field }) => ADDRESS_FIELDS.has(field));
}

/** Names the flag for another address. */
function adviceFor({ violations }: ConfigurationError): string {
  const [violation] = violations;
  return violation === undefined
    ? ""
    : `\nChoose one with --${violation.field.replaceAll("_", "-")} ADDRESS.`;
}

/** Returns the stack at log levels debug and trace, otherwise the message. */
function getStack(error: unknown, env: Terminal["env"]): string {
  if (!(error instanceof Error)) return String(error);
  const detailed = /^(debug|trace)$/.test(env.OUTRIGGER_LOG_LEVEL ?? "");
  const hint = "\nSet OUTRIGGER_LOG_LEVEL=debug to see the stack trace.";
  return detailed ? (error.stack ?? error.message) : `${error.name}: ${error.message}${hint}`;
}
