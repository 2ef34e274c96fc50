import { ConfigurationError, InternalError, SDKError, ServerError } from "../../../core/errors.ts";

/** Result codes of SQLite (https://www.sqlite.org/rescode.html), without their extension. */
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_CONSTRAINT = 19;
const SQLITE_NOTADB = 26;

/** The low byte of an extended result code is the code itself. */
const CODE_MASK = 0xff;

const REASONS: ReadonlyMap<number, string> = new Map([
  [SQLITE_BUSY, "another process uses it"],
  [SQLITE_LOCKED, "another process uses it"],
  [SQLITE_READONLY, "it cannot be written to"],
  [SQLITE_IOERR, "reading or writing failed"],
  [SQLITE_CORRUPT, "it is damaged"],
  [SQLITE_FULL, "there is no space left"],
  [SQLITE_CANTOPEN, "it cannot be opened"],
  [SQLITE_NOTADB, "it is not a SQLite database, or it is damaged"],
]);

/** The result code of SQLite's error; undefined for any other error. */
function codeOf(error: unknown): number | undefined {
  const isFromSqlite = error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
  if (!isFromSqlite || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & CODE_MASK;
}

/** Whether an error of the store says that there was no room for what was to be written. */
export function isFullFailure(error: unknown): boolean {
  return error instanceof ServerError && codeOf(error.cause) === SQLITE_FULL;
}

/** The error of a method of the store. Errors of ours stay as they are. */
export function failureOf(error: unknown, name: string): unknown {
  const code = codeOf(error);
  if (code === undefined || error instanceof SDKError) return error;
  // SQLite's text names a table and a column, never a value.
  const text = error instanceof Error ? error.message : "";
  if (code === SQLITE_CONSTRAINT)
    return new InternalError(`the run store refused a row: ${text}`, { cause: error });
  return new ServerError(`${describe(name, code)} (${text})`, { cause: error });
}

/** The error of opening the store. */
export function openFailureOf(error: unknown, name: string): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  const text = error instanceof Error ? error.message : "";
  const hint = code === SQLITE_BUSY ? ": every sidecar needs a file of its own" : "";
  return new ConfigurationError(`${describe(name, code)} (${text})${hint}`, { cause: error });
}

function describe(name: string, code: number): string {
  return `cannot use the run store ${name}: ${REASONS.get(code) ?? "SQLite failed"}`;
}
