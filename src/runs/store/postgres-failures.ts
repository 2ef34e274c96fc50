import { DatabaseError } from "pg";
import { InternalError, SDKError, ServerError } from "../../core/errors.ts";
import { StoreFullError, StoreUnreachableError } from "../errors.ts";
import { NotConnectedError } from "./driver.ts";

/** Messages for callers by the class of the SQLSTATE, its first two characters. */
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
  ["53300", "the database of runs has no free connections"],
  ["57014", "the database of runs took too long"],
]);

const DISK_FULL = "53100";

/** SQLSTATEs and classes for a server that is shutting down, starting up, or out of connections. */
const UNREACHABLE: ReadonlySet<string> = new Set(["08", "25006", "53300", "57P01", "57P02", "57P03"]);

/** SQLSTATEs of transactions that disturbed each other: the same transaction can succeed at once. */
const REPEATABLE: ReadonlySet<string> = new Set(["40001", "40P01"]);

/**
 * The error for the failure of a statement. Neither its message nor its cause holds text of PostgreSQL or of `pg`: they
 * quote values, which are content of runs, and connection strings.
 */
export function toStoreError(thrown: unknown): SDKError {
  if (thrown instanceof SDKError) return thrown;
  const code = getSqlState(thrown);
  if (code === undefined) {
    return new StoreUnreachableError(`the database of runs cannot be reached (${getReason(thrown)})`);
  }
  if (code === DISK_FULL) {
    return new StoreFullError(`the disk of the database of runs is full (SQLSTATE ${code})`);
  }
  const reason = SQLSTATES.get(code) ?? SQLSTATE_CLASSES.get(code.slice(0, 2));
  if (reason === undefined) {
    return new InternalError(`the database of runs refused a statement (SQLSTATE ${code})`);
  }
  const message = `${reason} (SQLSTATE ${code})`;
  const isAway = UNREACHABLE.has(code) || UNREACHABLE.has(code.slice(0, 2));
  return isAway ? new StoreUnreachableError(message) : new ServerError(message);
}

/** The error for the failure to connect. */
export function toConnectError(thrown: unknown): SDKError {
  const failure = toStoreError(thrown);
  return failure instanceof StoreUnreachableError ? new NotConnectedError(failure.message) : failure;
}

/** Whether the transaction can be repeated at once. */
export function isRepeatable(thrown: unknown): boolean {
  return REPEATABLE.has(getSqlState(thrown) ?? "");
}

/** Whether the connection can be used further: the server answered, or the failure is not one of the connection. */
export function isConnectionUsable(thrown: unknown): boolean {
  return thrown instanceof SDKError || (thrown instanceof DatabaseError && thrown.severity === "ERROR");
}

/** Undefined if the failure is not the server's. */
function getSqlState(thrown: unknown): string | undefined {
  return thrown instanceof DatabaseError ? thrown.code : undefined;
}

/** A code of the system, such as ECONNREFUSED; `pg` reports other failures by messages alone. */
function getReason(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown";
  if ("code" in thrown && typeof thrown.code === "string") return thrown.code;
  return /timeout/i.test(thrown.message) ? "timeout" : "connection lost";
}
