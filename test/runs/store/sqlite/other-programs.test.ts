/** Other programs that lock the file of a store, or remove it, while a sidecar uses it. */
import { readdirSync, renameSync, symlinkSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServerError } from "../../../../src/core/errors.ts";
import { RunStatus } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import { createdRun, creation, endedRun, finished, getClaim, textEvent } from "../../contract/data.ts";
import { newPath, openFile } from "./open-store.ts";

/** How long the other program has the lock, in milliseconds. */
const LOCKED_MS = 300;

/** Longer than the pause between two looks at the files, in milliseconds. */
const NEXT_LOOK_MS = 1_100;

/** Begins a transaction of another program that writes. Returns a function that ends it. */
function lock(path: string): () => void {
  const other = new DatabaseSync(path);
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  return () => other.exec("ROLLBACK");
}

describe("a program that locks the file", () => {
  it("delays creating runs and writing to them", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    const run = await createdRun(store);
    const unlock = lock(path);
    const writes = [
      ...Array.from({ length: 20 }, () => createdRun(store)),
      store.write({ claim: getClaim(run.id), events: [textEvent(1, "x")] }),
    ];
    await sleep(LOCKED_MS);
    unlock();
    const results = await Promise.all(writes);
    expect(results.at(-1)).toBe(true);
    expect(results).toHaveLength(21);
    expect(await store.readEvents(run.id, 0, 10)).toEqual([textEvent(1, "x")]);
    await store.write({ claim: getClaim(run.id), run: finished(run, RunStatus.COMPLETED) });
    await store.close();
  });
});

describe("a log that is removed while the store uses it", () => {
  it("is moved into the database and begun again, so that no run is lost", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    const before = await endedRun(store);
    unlinkSync(`${path}-wal`);
    const unnoticed = await endedRun(store);
    await sleep(NEXT_LOOK_MS);
    const noticed = await endedRun(store);
    expect(readdirSync(dirname(path))).toContain("runs.db-wal");
    // What a process that is killed leaves.
    const other = new DatabaseSync(path, { readOnly: true });
    const ids = other.prepare("SELECT id FROM runs ORDER BY number").all();
    other.close();
    expect(ids).toEqual([before, unnoticed, noticed].map(({ id }) => ({ id })));
    await store.close();
  });
});

describe("a file that is removed while the store uses it", () => {
  it("takes no further runs until it is back", async () => {
    const path = newPath();
    const store = await openFile({}, path);
    const run = await endedRun(store);
    renameSync(path, `${path}-moved`);
    await sleep(NEXT_LOOK_MS);
    const message =
      "cannot use the run store: its file was removed or replaced; move it back, or restart the sidecar";
    await expect(store.createRun(creation())).rejects.toThrow(new ServerError(message));
    await expect(store.deleteRun("owner", run.id)).rejects.toThrow(new ServerError(message));
    expect((await store.getRun("owner", run.id))?.run).toEqual(run);
    renameSync(`${path}-moved`, path);
    await sleep(NEXT_LOOK_MS);
    const later = await endedRun(store);
    await store.close();
    const again = await openFile({}, path);
    expect((await again.getRun("owner", later.id))?.run).toEqual(later);
    await again.close();
  });
});

describe("a folder that cannot be searched while the store uses its file", () => {
  it("takes no further runs until it can, and says why", async () => {
    const path = newPath();
    const folder = dirname(path);
    const store = await openFile({}, path);
    renameSync(folder, `${folder}-moved`);
    // A link to itself fails for every user, as a folder without permissions does for most.
    symlinkSync(folder, folder);
    await sleep(NEXT_LOOK_MS);
    const message = "cannot use the run store: its file cannot be reached (ELOOP)";
    await expect(store.createRun(creation())).rejects.toThrow(new ServerError(message));
    await expect(store.createRun(creation())).rejects.toThrow(new ServerError(message));
    unlinkSync(folder);
    renameSync(`${folder}-moved`, folder);
    await sleep(NEXT_LOOK_MS);
    await endedRun(store);
    await store.close();
  });
});
