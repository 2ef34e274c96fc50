import type { DatabaseSync } from "node:sqlite";
import { ConfigurationError } from "../../../core/errors.ts";
import { migrations } from "./schema.ts";

/** Marks files as Outrigger's: "OUTR". */
const APPLICATION_ID = 0x4f555452;

const CREATE_MIGRATIONS =
  "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL) STRICT";

/**
 * Checks whose database it is, and changes nothing.
 * @throws ConfigurationError where it is another program's, or that of a newer version of this one.
 */
export function checkOrigin(connection: DatabaseSync, name: string): void {
  const isEmpty = numberOf(connection, "SELECT count(*) AS value FROM sqlite_schema") === 0;
  if (!isEmpty && applicationIdOf(connection) !== APPLICATION_ID) {
    throw new ConfigurationError(`cannot use the run store ${name}: it is the database of another program`);
  }
  const version = versionOf(connection);
  if (version > migrations.length) throw new ConfigurationError(newerSchema(name, version));
}

/** Applies the migrations that a database does not have yet, each in a transaction of its own. */
export function migrate(connection: DatabaseSync): void {
  if (applicationIdOf(connection) !== APPLICATION_ID) {
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  }
  connection.exec(CREATE_MIGRATIONS);
  const applied = versionOf(connection);
  migrations.slice(applied).forEach((sql, index) => {
    applyMigration(connection, sql, applied + index + 1);
  });
}

function applyMigration(connection: DatabaseSync, sql: string, version: number): void {
  connection.exec("BEGIN IMMEDIATE");
  try {
    connection.exec(sql);
    connection.prepare("INSERT INTO migrations VALUES (?, ?)").run(version, Date.now());
    connection.exec("COMMIT");
  } catch (error) {
    if (connection.isTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}

/** The number of the latest migration that was applied; 0 for none. */
function versionOf(connection: DatabaseSync): number {
  const tables = "SELECT count(*) AS value FROM sqlite_schema WHERE name = 'migrations'";
  if (numberOf(connection, tables) === 0) return 0;
  return numberOf(connection, "SELECT coalesce(max(version), 0) AS value FROM migrations");
}

function applicationIdOf(connection: DatabaseSync): number {
  return numberOf(connection, "SELECT application_id AS value FROM pragma_application_id");
}

function newerSchema(name: string, applied: number): string {
  return (
    `cannot use the run store ${name}: it has schema version ${applied}, of a newer Outrigger; ` +
    `this one knows up to ${migrations.length}`
  );
}

function numberOf(connection: DatabaseSync, sql: string): number {
  return Number(connection.prepare(sql).get()?.value);
}
