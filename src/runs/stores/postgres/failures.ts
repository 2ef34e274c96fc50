import { DatabaseError } from "pg";
import { InternalError, SDKError, ServerError } from "../../../core/errors.ts";

/** Messages for callers by the class of the SQLSTATE, which is its first two characters. */
const SQLSTATE_CLASSES: ReadonlyMap<string, string> = new Map([
  ["08", "the connection to the database of runs broke"],
  ["28", "the database of runs refused the sidecar's credentials"],
  ["3D", "the database of runs does not exist"],
  ["53", "the database of runs is out of resources"],
  ["57", "the database of runs is shutting down or took too long"],
]);

/** Messages for SQLSTATEs that are more specific than their class. */
const SQLSTATES: ReadonlyMap<string, string> = new Map([
  ["08P01", "the database of runs, or a pooler before it, refuses a parameter of the connection"],
  ["25006", "the database of runs is read-only"],
  ["26000", "a pooler before the database of runs does not keep prepared statements"],
  ["40001", "the database of runs is too busy"],
  ["40P01", "the database of runs is too busy"],
  ["42P05", "a pooler before the database of runs does not keep prepared statements"],
  ["42501", "the sidecar's role lacks rights that it needs in the database of runs"],
  ["53100", "the disk of the database of runs is full"],
  ["53300", "the database of runs has no free connections"],
  ["57014", "the database of runs took too long"],
]);

/** The database was lost on the way: whether what was asked of it has happened is not known. */
export class DatabaseUnreachableError extends ServerError {}

/** There is no connection to the database, so that nothing was asked of it. */
export class NotConnectedError extends DatabaseUnreachableError {}

/** SQLSTATEs and classes of them with which a server says that it goes, is not there yet, or takes nobody more. */
const UNREACHABLE: ReadonlySet<string> = new Set(["08", "25006", "53300", "57P01", "57P02", "57P03"]);

/** Outcomes of transactions that disturbed each other: the same transaction can succeed at once. */
const REPEATABLE: ReadonlySet<string> = new Set(["40001", "40P01"]);

/**
 * The failure of an operation on the database. Neither its message nor its cause holds what PostgreSQL or `pg` wrote:
 * they quote values, that is content of runs, and connection strings.
 */
export function storeFailure(thrown: unknown): SDKError {
  if (thrown instanceof SDKError) return thrown;
  const code = sqlStateOf(thrown);
  if (code === undefined) {
    return new DatabaseUnreachableError(`the database of runs cannot be reached (${reasonOf(thrown)})`);
  }
  const reason = SQLSTATES.get(code) ?? SQLSTATE_CLASSES.get(code.slice(0, 2));
  const isAway = UNREACHABLE.has(code) || UNREACHABLE.has(code.slice(0, 2));
  if (reason !== undefined) {
    const message = `${reason} (SQLSTATE ${code})`;
    return isAway ? new DatabaseUnreachableError(message) : new ServerError(message);
  }
  return new InternalError(`the database of runs refused a statement (SQLSTATE ${code})`);
}

/** The failure to get a connection. */
export function connectFailure(thrown: unknown): SDKError {
  const failure = storeFailure(thrown);
  return failure instanceof DatabaseUnreachableError ? new NotConnectedError(failure.message) : failure;
}

/** Whether the transaction can be repeated at once. */
export function isRepeatable(thrown: unknown): boolean {
  return REPEATABLE.has(sqlStateOf(thrown) ?? "");
}

/** Whether the server answered, and its connection can be used further. */
export function isAnswered(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && thrown.severity === "ERROR";
}

/** Undefined where it is not the server that failed. */
function sqlStateOf(thrown: unknown): string | undefined {
  return thrown instanceof DatabaseError ? thrown.code : undefined;
}

/** A code of the system, such as ECONNREFUSED; `pg` reports the rest by messages alone. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown";
  if ("code" in thrown && typeof thrown.code === "string") return thrown.code;
  return /timeout/i.test(thrown.message) ? "timeout" : "connection lost";
}
