import { chmodSync, closeSync, existsSync, openSync, unlinkSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { ConfigurationError } from "../../core/errors.ts";
import { checkOrigin, OWNER_ONLY, toOpenError } from "./sqlite-file.ts";

/**
 * Copies the file of a store while a sidecar may use it. The copy holds all runs that were complete when it began, without
 * the space of deleted ones. Only its owner can read it.
 * @throws ConfigurationError that names the file.
 */
export function copySqliteFile(from: string, to: string): void {
  if (!existsSync(from))
    throw new ConfigurationError(`cannot copy the run store ${from}: there is no such file`);
  if (existsSync(to)) throw new ConfigurationError(`cannot copy to ${to}: the file exists already`);
  let connection: DatabaseSync | undefined;
  let isCreated = false;
  try {
    connection = new DatabaseSync(from, { readOnly: true });
    checkOrigin(connection, from);
    closeSync(openSync(to, "ax", OWNER_ONLY));
    isCreated = true;
    chmodSync(to, OWNER_ONLY);
    connection.prepare("VACUUM INTO ?").run(to);
  } catch (thrown) {
    if (isCreated) unlinkSync(to);
    throw toOpenError(thrown, from);
  } finally {
    connection?.close();
  }
}
