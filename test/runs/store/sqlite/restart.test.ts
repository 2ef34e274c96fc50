import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { ConfigurationError, ServerError } from "../../../../src/core/errors.ts";
import { type Run, RunStatus } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import { copySqliteFile } from "../../../../src/runs/store/sqlite-file.ts";
import { testLoop } from "../../../support/event-loop/test-loop.ts";
import {
  createdRun,
  createHistory,
  creation,
  endedRun,
  getClaim,
  holder,
  otherHolder,
  textEvent,
} from "../../contract/data.ts";
import { getDriver, newKey, newPath, openFile } from "./open-store.ts";

describe("a SQLite store that is opened again", () => {
  it("keeps everything that was written", async () => {
    const path = newPath();
    const first = await openFile({}, path);
    const root = await endedRun(first, { input: ["q"] }, RunStatus.COMPLETED, "a");
    const running = await createdRun(first, { previousRunId: root.id });
    await first.write({ claim: getClaim(running.id), events: [textEvent(1, "x")] });
    await first.close();
    const second = await openFile({}, path);
    expect((await second.getRun("owner", root.id))?.run).toEqual(root);
    expect(await createHistory(second, running.id)).toEqual(["q", "a"]);
    expect(await second.readEvents(running.id, 0, 10)).toEqual([textEvent(1, "x")]);
    await second.close();
  });

  it("abandons the runs that were in progress at once, and delivers the queued ones", async () => {
    const path = newPath();
    const first = await openFile({}, path);
    const running = await createdRun(first);
    const queued = await createdRun(first, { queued: true });
    const taken = await createdRun(first, { queued: true });
    const waiting = await endedRun(first, {}, RunStatus.REQUIRES_ACTION);
    await first.claim(taken.id, holder);
    await first.claim(waiting.id, holder);
    await first.close();
    const second = await openFile({}, path);
    const abandoned = await second.claimAbandoned(otherHolder, [], 10);
    expect(abandoned.map(({ run }) => run.id)).toEqual([running.id]);
    expect(await second.claimAbandoned(otherHolder, [running.id], 10)).toEqual([]);
    const delivered = await second.claimQueued(otherHolder, 10, []);
    expect(delivered.map(({ run }) => run.id)).toEqual([queued.id, taken.id]);
    expect((await second.claim(waiting.id, otherHolder))?.run).toEqual(waiting);
    expect(await second.write({ claim: getClaim(running.id), events: [textEvent(1, "x")] })).toBe(false);
    await second.close();
  });

  it("fails an abandoned run that cannot be read, reports it, and takes all others", async () => {
    const path = newPath();
    const first = await openFile({}, path);
    const conversation = await endedRun(first);
    const runs = [];
    for (let index = 0; index < 6; index += 1) runs.push(await createdRun(first));
    const damaged = await createdRun(first, { previousRunId: conversation.id });
    await getDriver(first).read("UPDATE runs SET body = $1 WHERE id = $2", [Buffer.from("x"), damaged.id]);
    await first.close();
    const problems: unknown[] = [];
    const second = await openFile({ onProblem: (problem) => problems.push(problem) }, path);
    const taken = await second.claimAbandoned(holder, [], 10);
    expect(taken.map(({ run }) => run.id)).toEqual(runs.map(({ id }) => id));
    expect(problems.map(String)).toEqual([expect.stringContaining(`cannot read run ${damaged.id}`)]);
    const failed = await second.getRun("owner", damaged.id);
    expect(failed?.run).toMatchObject({ status: RunStatus.FAILED, threadId: conversation.threadId });
    const [event] = await second.readEvents(damaged.id, damaged.lastSequence, 10);
    expect(event?.event.value).toEqual(failed?.run);
    expect((await createdRun(second, { previousRunId: conversation.id })).id).toBeDefined();
    await second.close();
  });

  it("keeps acknowledged writes when the process is killed, and releases its lock", async () => {
    const path = newPath();
    const program = `
      import { openSqliteStore } from "./src/runs/store/open-store.ts";
      import { createdRun } from "./test/runs/contract/data.ts";
      const location = { kind: "file", path: ${JSON.stringify(path)} };
      const store = await openSqliteStore({ maxBodyBytes: 1e6, location, onProblem: () => {} });
      for (let run = 0; run < 20; run += 1) console.log((await createdRun(store)).id);
      process.kill(process.pid, "SIGKILL");`;
    const args = ["--input-type=module-typescript", "-e", program];
    const { stdout, signal } = testLoop.uncounted(() =>
      spawnSync(process.execPath, args, { encoding: "utf8" }),
    );
    expect(signal).toBe("SIGKILL");
    const ids = stdout.trim().split("\n");
    expect(ids).toHaveLength(20);
    const store = await openFile({}, path);
    const abandoned = await store.claimAbandoned(holder, [], 100);
    expect(abandoned.map(({ run }) => run.id)).toEqual(ids);
    await store.close();
  });
});

describe("the file of a SQLite store", () => {
  it("can be read by its owner only, and so can the log next to it", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    await createdRun(store);
    for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it("belongs to one sidecar at a time, and can be read by other programs", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    const open = () => openFile({}, path);
    await expect(open()).rejects.toThrow(ConfigurationError);
    await expect(open()).rejects.toThrow(`cannot use the run store ${path}: another process uses it`);
    const run = await createdRun(store);
    const reader = new DatabaseSync(path, { readOnly: true });
    expect(reader.prepare("SELECT id FROM runs").all()).toEqual([{ id: run.id }]);
    reader.close();
    await createdRun(store);
    await store.close();
    await (await open()).close();
  }, 30_000);

  it("is reported if other users can read or write it", async () => {
    const path = newPath();
    await (await await openFile({}, path)).close();
    for (const [mode, count] of [
      [0o600, 0],
      [0o640, 1],
      [0o666, 1],
    ] as const) {
      chmodSync(path, mode);
      const problems: unknown[] = [];
      const store = await openFile({ onProblem: (problem) => problems.push(problem) }, path);
      expect(problems).toHaveLength(count);
      for (const problem of problems) expect(String(problem)).toContain(`${path} (mode ${mode.toString(8)})`);
      await store.close();
    }
  });

  it("needs a folder that exists and a path that is a file", async () => {
    const path = newPath();
    const missing = join(dirname(path), "missing", "runs.db");
    await expect(openFile({}, missing)).rejects.toThrow(`cannot open the run store ${missing}: the folder`);
    mkdirSync(path);
    await expect(openFile({}, path)).rejects.toThrow(`cannot open the run store ${path}: it is not a file`);
  });

  it("is refused if it is not a database, is damaged, or belongs to another program", async () => {
    const path = newPath();
    writeFileSync(path, "This is a text and no database. ".repeat(100));
    await expect(openFile({}, path)).rejects.toThrow(
      `${path}: it is not a SQLite database, or it is damaged`,
    );
    const foreign = newPath();
    const other = new DatabaseSync(foreign);
    other.exec("CREATE TABLE things (id TEXT)");
    other.close();
    const before = readFileSync(foreign);
    await expect(openFile({}, foreign)).rejects.toThrow(`${foreign}: it is the database of another program`);
    expect(readFileSync(foreign).equals(before)).toBe(true);
  });

  it("is refused if a newer version has changed its schema, and is left as it is", async () => {
    const path = newPath();
    await (await openFile({}, path)).close();
    const newer = new DatabaseSync(path);
    newer.exec(
      "INSERT INTO migrations VALUES (1000, 0); CREATE TABLE later (id TEXT); PRAGMA journal_mode = DELETE;",
    );
    newer.close();
    const before = readFileSync(path);
    await expect(openFile({}, path)).rejects.toThrow(ConfigurationError);
    await expect(openFile({}, path)).rejects.toThrow(
      "schema version 1000, of a newer Outrigger; this one knows up to 1",
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("reports damage that is found later as a failure of the store, without its path", async () => {
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
    expect(String(failure)).toContain("cannot use the run store: it is damaged");
    expect(String(failure)).not.toContain(path);
    await store.close();
  });

  it.skipIf(process.getuid?.() === 0)("is refused if it is read-only, and says so", async () => {
    const path = newPath();
    writeFileSync(path, "");
    chmodSync(path, 0o400);
    await expect(openFile({}, path)).rejects.toThrow(`${path}: it is read-only for the sidecar`);
  });
});

describe("the durability of a SQLite store", () => {
  it("survives the process by default, and the machine if that is configured", async () => {
    const readSetting = async (isDurable: boolean) => {
      const store = await openFile({ isDurable });
      const [row] = await getDriver(store).read<{ synchronous: number }>("PRAGMA synchronous", []);
      await store.close();
      return row?.synchronous;
    };
    // https://www.sqlite.org/pragma.html#pragma_synchronous: 1 is NORMAL, 2 is FULL.
    expect([await readSetting(false), await readSetting(true)]).toEqual([1, 2]);
  });
});

describe("a copy of the file of a SQLite store", () => {
  it("has all runs of a store that is in use, and can be opened", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    const run = await endedRun(store, { input: ["q"] });
    const running = await createdRun(store);
    const copy = join(dirname(path), "copy.db");
    copySqliteFile(path, copy);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    await createdRun(store);
    await store.close();
    const opened = await openFile({}, copy);
    expect((await opened.getRun("owner", run.id))?.run).toEqual(run);
    const abandoned = await opened.claimAbandoned(holder, [], 10);
    expect(abandoned.map((taken) => taken.run.id)).toEqual([running.id]);
    await opened.close();
  });

  it("replaces no file, and is made of a store only", () => {
    const path = newPath();
    expect(() => copySqliteFile(path, `${path}-copy`)).toThrow(`${path}: the file does not exist`);
    writeFileSync(path, "This is a text and no database. ".repeat(100));
    expect(() => copySqliteFile(path, path)).toThrow("the file already exists");
    expect(() => copySqliteFile(path, `${path}-copy`)).toThrow("it is not a SQLite database");
    expect(existsSync(`${path}-copy`)).toBe(false);
  });
});

describe("the keys of a SQLite store", () => {
  it("are checked at the start", async () => {
    const path = newPath();
    const [first, second] = [newKey("first.key"), newKey("second.key")];
    const store = await openFile({ keys: [first] }, path);
    const run = await endedRun(store, { input: ["a secret"] });
    await store.close();
    await expect(openFile({}, path)).rejects.toThrow(`${path}: it is encrypted, but no key is configured`);
    await expect(openFile({ keys: [second] }, path)).rejects.toThrow(
      `${path}: it is encrypted with a key other than the one in second.key`,
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
    await expect(openFile({ keys: [newKey()] }, path)).rejects.toThrow("it has runs that are not encrypted");
    const empty = newPath();
    await (await openFile({}, empty)).close();
    await (await openFile({ keys: [newKey()] }, empty)).close();
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
    const text = "UPDATE runs SET body = (SELECT body FROM runs WHERE id = $1) WHERE id = $2";
    await getDriver(store).read(text, [one.id, two.id]);
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
