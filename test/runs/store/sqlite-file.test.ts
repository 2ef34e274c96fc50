import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConfigurationError, InternalError, ServerError } from "../../../src/core/errors.ts";
import { NotConnectedError } from "../../../src/runs/store/driver.ts";
import {
  checkOrigin,
  isFull,
  openSqlite,
  toOpenError,
  toSqlite,
  toStoreError,
} from "../../../src/runs/store/sqlite-file.ts";
import { newPath } from "./sqlite/open-store.ts";

/** An error as node:sqlite throws it. */
function failure(errcode: unknown, code = "ERR_SQLITE_ERROR"): Error {
  return Object.assign(new Error("text of SQLite"), { code, errcode });
}

const REASONS: readonly (readonly [number, string])[] = [
  [5, "another process uses it"],
  [261, "another process uses it"],
  [6, "another process uses it"],
  [8, "it is read-only"],
  [10, "reading or writing failed"],
  [11, "it is damaged"],
  [13, "there is no space left"],
  [14, "it cannot be opened"],
  [26, "it is not a SQLite database, or it is damaged"],
];

describe("an error of SQLite", () => {
  it.each(REASONS)("with the code %i tells callers that %s, without its text", (code, reason) => {
    const thrown = failure(code);
    const error = toStoreError(thrown);
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({ message: `cannot use the run store: ${reason}`, cause: thrown });
  });

  it.each(REASONS)(
    "with the code %i tells the operator that %s, with the file and the text",
    (code, reason) => {
      const hint = reason.startsWith("another") && code !== 6 ? ": every sidecar needs a separate file" : "";
      const error = toOpenError(failure(code), "/runs.db");
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error).toMatchObject({
        message: `cannot use the run store /runs.db: ${reason} (text of SQLite)${hint}`,
      });
    },
  );

  it("is an outage in which nothing was executed if another program has a lock", () => {
    for (const [code] of REASONS)
      expect(toStoreError(failure(code)) instanceof NotConnectedError).toBe([5, 6, 261].includes(code));
  });

  it("with another code is named by it", () => {
    expect(toStoreError(failure(99))).toMatchObject({
      message: "cannot use the run store: SQLite failed with the code 99",
    });
    expect(toOpenError(failure(99), "/runs.db")).toMatchObject({
      message: "cannot use the run store /runs.db: SQLite failed (text of SQLite)",
    });
  });

  it("is a mistake of this program if a row breaks a constraint", () => {
    for (const code of [19, 2067]) {
      const error = toStoreError(failure(code));
      expect(error).toBeInstanceOf(InternalError);
      expect(error).toMatchObject({ message: "the run store refused a row" });
    }
  });

  it("is distinguished from other errors, which are unchanged", () => {
    const others = [
      new Error("another"),
      failure(5, "ERR_INVALID_STATE"),
      failure("5"),
      Object.assign(new Error("no code"), { code: "ERR_SQLITE_ERROR" }),
      new ServerError("ours"),
      "a text",
    ];
    for (const other of others) {
      expect(toStoreError(other)).toBe(other);
      expect(toOpenError(other, "/runs.db")).toBe(other);
      expect(isFull(other)).toBe(false);
    }
  });

  it("says whether there was no space", () => {
    expect([13, 13 | (1 << 8), 5].map((code) => isFull(failure(code)))).toEqual([true, true, false]);
  });
});

describe("the words of SQLite", () => {
  it("replace those of a statement", () => {
    expect(
      toSqlite(
        "SELECT :inserted_number, :now FROM :schema.runs WHERE id = :any_text($1) OR n = :any_number($12) :skip_locked",
      ),
    ).toBe(
      "SELECT last_insert_rowid(), process_clock() FROM runs WHERE id IN (SELECT value FROM json_each(?1)) " +
        "OR n IN (SELECT value FROM json_each(?12)) ",
    );
    expect(toSqlite("a :for_update b :for_share c $3")).toBe("a  b  c ?3");
  });
});

describe("a file", () => {
  async function open(path = newPath(), options = {}) {
    const problems: unknown[] = [];
    const opened = await openSqlite({ kind: "file", path, ...options }, (problem) => problems.push(problem));
    let isOpen = true;
    const close = () => {
      if (isOpen) {
        opened.connection.close();
        opened.release();
      }
      isOpen = false;
    };
    onTestFinished(close);
    const read = (pragma: string) =>
      Object.values(opened.connection.prepare(`PRAGMA ${pragma}`).get() ?? {})[0];
    return { ...opened, path, problems, read, close };
  }

  it("is a log before it is a database, is overwritten when it is deleted, and shrinks", async () => {
    const { read } = await open();
    expect(read("journal_mode")).toBe("wal");
    expect(read("secure_delete")).toBe(1);
    expect(read("auto_vacuum")).toBe(2);
    expect(read("synchronous")).toBe(1);
    expect(read("journal_size_limit")).toBe(64 * 1024 * 1024);
    // A wait would hold the event loop.
    expect(read("busy_timeout")).toBe(0);
    expect(read("foreign_keys")).toBe(1);
    expect(read("trusted_schema")).toBe(0);
    expect(read("application_id")).toBe(0x4f555452);
    expect((await open(newPath(), { isDurable: true })).read("synchronous")).toBe(2);
  });

  it("has as many pages as its limit allows", async () => {
    const { read } = await open(newPath(), { maxBytes: 1_000_000 });
    expect(read("max_page_count")).toBe(Math.ceil(1_000_000 / 4096));
    const memory = await openSqlite({ kind: "memory", maxBytes: 1_000_000 }, () => {});
    expect(memory.connection.prepare("PRAGMA max_page_count").get()).toEqual({
      max_page_count: Math.ceil(1_000_000 / 4096),
    });
    memory.release();
    memory.connection.close();
  });

  it("has its schema once, however often it is opened", async () => {
    const first = await open();
    const count = "SELECT count(*) AS rows, max(version) AS version FROM migrations";
    expect(first.connection.prepare(count).get()).toEqual({ rows: 1, version: 1 });
    first.close();
    const second = await open(first.path);
    expect(second.connection.prepare(count).get()).toEqual({ rows: 1, version: 1 });
    expect(second.problems).toEqual([]);
    expect(statSync(first.path).mode & 0o777).toBe(0o600);
    expect(statSync(`${first.path}-lock`).mode & 0o777).toBe(0o600);
  });

  it("is refused if it is of another program, or has a newer schema", async () => {
    const connection = new DatabaseSync(":memory:");
    onTestFinished(() => connection.close());
    expect(() => checkOrigin(connection, "/runs.db")).not.toThrow();
    connection.exec("CREATE TABLE mine (id)");
    expect(() => checkOrigin(connection, "/runs.db")).toThrow("it is the database of another program");
    connection.exec(`PRAGMA application_id = ${0x4f555452}; CREATE TABLE migrations (version INTEGER)`);
    expect(() => checkOrigin(connection, "/runs.db")).not.toThrow();
    connection.exec("INSERT INTO migrations VALUES (1)");
    expect(() => checkOrigin(connection, "/runs.db")).not.toThrow();
    connection.exec("INSERT INTO migrations VALUES (2)");
    expect(() => checkOrigin(connection, "/runs.db")).toThrow(
      "it has schema version 2, of a newer Outrigger; this one knows up to 1",
    );
  });

  it("needs a folder, and must not be one", async () => {
    const path = newPath();
    const missing = `${dirname(path)}/none/runs.db`;
    await expect(open(missing)).rejects.toThrow(
      `cannot open the run store ${missing}: the folder ${dirname(path)}/none does not exist`,
    );
    mkdirSync(path);
    await expect(open(path)).rejects.toThrow(`cannot open the run store ${path}: it is not a file`);
  });
});
