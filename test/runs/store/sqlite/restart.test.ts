import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { ConfigurationError, ServerError } from "../../../../src/core/errors.ts";
import { type Run, RunStatus } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import {
  createdRun,
  creation,
  endedRun,
  getHold,
  historyOf,
  holder,
  otherHolder,
  textEvent,
} from "../../contract/data.ts";
import { getDriver, newKey, newPath, openFile } from "./open-store.ts";

describe("a SQLite store that is opened again", () => {
  it("has everything that was written", async () => {
    const path = newPath();
    const first = await openFile({}, path);
    const root = await endedRun(first, { input: ["q"] }, RunStatus.COMPLETED, "a");
    const running = await createdRun(first, { previousRunId: root.id });
    await first.write({ hold: getHold(running.id), events: [textEvent(1, "x")] });
    await first.close();
    const second = await openFile({}, path);
    expect((await second.getRun("owner", root.id))?.run).toEqual(root);
    expect(await historyOf(second, running.id)).toEqual(["q", "a"]);
    expect(await second.readEvents(running.id, 0, 10)).toEqual([textEvent(1, "x")]);
    await second.close();
  });

  it("gives up the runs that were in progress at once, and delivers those that were queued", async () => {
    const path = newPath();
    const first = await openFile({}, path);
    const running = await createdRun(first);
    const queued = await createdRun(first, { queued: true });
    const taken = await createdRun(first, { queued: true });
    const waiting = await endedRun(first, {}, RunStatus.REQUIRES_ACTION);
    await first.take(taken.id, holder);
    await first.take(waiting.id, holder);
    await first.close();
    const second = await openFile({}, path);
    const abandoned = await second.takeAbandoned(otherHolder, 10);
    expect(abandoned.map(({ run }) => run.id)).toEqual([running.id]);
    expect(await second.takeAbandoned(otherHolder, 10)).toEqual([]);
    const delivered: string[] = [];
    const stop = await second.deliverQueued(async (runId) => {
      delivered.push(runId);
      await second.take(runId, otherHolder);
    }, 2);
    await expect.poll(() => delivered).toEqual([queued.id, taken.id]);
    expect((await second.take(waiting.id, otherHolder))?.run).toEqual(waiting);
    expect(await second.write({ hold: getHold(running.id), events: [textEvent(1, "x")] })).toBe(false);
    await stop();
    await second.close();
  });

  it("keeps what was acknowledged when the process is killed, and its lock ends with it", async () => {
    const path = newPath();
    const program = `
      import { SqliteStore } from "./src/runs/store/sqlite/store.ts";
      import { createdRun } from "./test/runs/contract/data.ts";
      const store = SqliteStore.open({ maxBodyBytes: 1e6, location: { kind: "file", path: ${JSON.stringify(path)} } });
      for (let run = 0; run < 20; run += 1) console.log((await createdRun(store)).id);
      process.kill(process.pid, "SIGKILL");`;
    const { stdout, signal } = spawnSync(
      process.execPath,
      ["--input-type=module-typescript", "-e", program],
      {
        encoding: "utf8",
      },
    );
    expect(signal).toBe("SIGKILL");
    const ids = stdout.trim().split("\n");
    expect(ids).toHaveLength(20);
    const store = await openFile({}, path);
    const abandoned = await store.takeAbandoned(holder, 100);
    expect(abandoned.map(({ run }) => run.id)).toEqual(ids);
    await store.close();
  });
});

describe("the file of a SQLite store", () => {
  it("can be read by its owner only, and so can the log beside it", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    await createdRun(store);
    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it("belongs to one process at a time, also for readers", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    const open = () => openFile({}, path);
    expect(open).toThrow(ConfigurationError);
    expect(open).toThrow(`cannot use the run store ${path}: another process uses it`);
    const reader = new DatabaseSync(path, { readOnly: true, timeout: 10 });
    expect(() => reader.prepare("SELECT * FROM runs").all()).toThrow("locked");
    reader.close();
    await createdRun(store);
    await store.close();
    await open().close();
  }, 30_000);

  it("needs a folder that exists and a path that is a file", () => {
    const path = newPath();
    const missing = join(dirname(path), "missing", "runs.db");
    expect(() => openFile({}, missing)).toThrow(`cannot open the run store ${missing}: there is no`);
    mkdirSync(path);
    expect(() => openFile({}, path)).toThrow(`cannot open the run store ${path}: it is not a file`);
  });

  it("is refused where it is not a database, is damaged, or is that of another program", async () => {
    const path = newPath();
    writeFileSync(path, "This is a text and no database. ".repeat(100));
    expect(() => openFile({}, path)).toThrow(`${path}: it is not a SQLite database, or it is damaged`);
    const foreign = newPath();
    const other = new DatabaseSync(foreign);
    other.exec("CREATE TABLE things (id TEXT)");
    other.close();
    const before = readFileSync(foreign);
    expect(() => openFile({}, foreign)).toThrow(`${foreign}: it is the database of another program`);
    expect(readFileSync(foreign).equals(before)).toBe(true);
  });

  it("is refused where a newer version has changed its schema, and is left as it is", async () => {
    const path = newPath();
    await openFile({}, path).close();
    const newer = new DatabaseSync(path);
    newer.exec(
      "INSERT INTO migrations VALUES (1000, 0); CREATE TABLE later (id TEXT); PRAGMA journal_mode = DELETE;",
    );
    newer.close();
    const before = readFileSync(path);
    expect(() => openFile({}, path)).toThrow(ConfigurationError);
    expect(() => openFile({}, path)).toThrow(
      "schema version 1000, of a newer Outrigger; this one knows up to 1",
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("reports damage that is found later as a failure of the store, with its path", async () => {
    const path = newPath();
    const first = await openFile({}, path);
    const runs: Run[] = [];
    for (let index = 0; index < 200; index += 1) runs.push(await endedRun(first));
    await first.close();
    const bytes = readFileSync(path);
    bytes.fill(0xee, Math.floor(bytes.byteLength / 2));
    writeFileSync(path, bytes);
    const store = await openFile({}, path);
    const answers = await Promise.allSettled(runs.map(({ id }) => store.getRun("owner", id)));
    const failure = answers.find((answer) => answer.status === "rejected")?.reason;
    expect(failure).toBeInstanceOf(ServerError);
    expect(failure).toMatchObject({ message: expect.stringContaining(`${path}: it is damaged`) });
    await store.close();
  });

  it.skipIf(process.getuid?.() === 0)("is refused where it cannot be written to", () => {
    const path = newPath();
    writeFileSync(path, "");
    chmodSync(path, 0o400);
    expect(() => openFile({}, path)).toThrow(ConfigurationError);
  });
});

describe("the keys of a SQLite store", () => {
  it("are checked at the start", async () => {
    const path = newPath();
    const [first, second] = [newKey("first.key"), newKey("second.key")];
    const store = await openFile({ keys: [first] }, path);
    const run = await endedRun(store, { input: ["a secret"] });
    await store.close();
    expect(() => openFile({}, path)).toThrow(`${path}: it is encrypted, but no key is configured`);
    expect(() => openFile({ keys: [second] }, path)).toThrow(
      `${path}: it is encrypted with another key than that of second.key`,
    );
    const rotated = await openFile({ keys: [second, first] }, path);
    expect((await rotated.getRun("owner", run.id))?.run).toEqual(run);
    const young = await createdRun(rotated);
    await rotated.close();
    const later = await openFile({ keys: [second] }, path);
    expect((await later.getRun("owner", young.id))?.run).toEqual(young);
    await expect(later.getRun("owner", run.id)).rejects.toThrow(
      `it is encrypted with the key ${first.id.toString("hex")}, which is not configured`,
    );
    await later.close();
  });

  it("are refused for a store that has runs which are not encrypted", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    await createdRun(store);
    await store.close();
    expect(() => openFile({ keys: [newKey()] }, path)).toThrow("it has runs that are not encrypted");
    const empty = newPath();
    await openFile({}, empty).close();
    await openFile({ keys: [newKey()] }, empty).close();
  });

  it("keep every text out of the file", async () => {
    const path = newPath();
    const [secret, label] = ["a secret text of the test", "a label of the test"];
    for (const keys of [[], [newKey()]]) {
      const file = keys.length === 0 ? path : newPath();
      const store = await openFile({ keys }, file);
      const run = await endedRun(
        store,
        { input: [secret], run: { metadata: { label } } },
        RunStatus.COMPLETED,
        secret,
      );
      const content = Buffer.concat([readFileSync(file), readFileSync(`${file}-wal`)]);
      expect(content.includes(secret)).toBe(keys.length === 0);
      expect(content.includes(label)).toBe(keys.length === 0);
      expect(content.includes(run.id)).toBe(true);
      await store.close();
    }
  });

  it("do not read a body that was moved to another row", async () => {
    const store = await openFile({ keys: [newKey()] });
    const [one, two] = [await createdRun(store), await createdRun(store)];
    getDriver(store).change(
      "UPDATE runs SET body = (SELECT body FROM runs WHERE id = ?) WHERE id = ?",
      one.id,
      two.id,
    );
    expect(await store.getRun("owner", one.id)).toBeDefined();
    await expect(store.getRun("owner", two.id)).rejects.toThrow(
      `cannot read run ${two.id} from the run store`,
    );
    await store.close();
  });
});

describe("deleted content of a SQLite store", () => {
  it("is overwritten in the file", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    const secret = "a secret text of the test ".repeat(1000);
    const run = await endedRun(store, { input: [secret] }, RunStatus.COMPLETED, secret);
    await store.createRun(creation());
    await store.deleteRun("owner", run.id);
    await store.close();
    expect(readFileSync(path).includes(run.id)).toBe(false);
    expect(readFileSync(path).includes("a secret text")).toBe(false);
  });
});
