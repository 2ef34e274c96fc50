import { expect, it } from "vitest";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { StoreContext } from "../store-contract.ts";
import { createdRun, endedRun, endRun, finished, getClaim, holder, otherHolder } from "./data.ts";

/** Deliveries of queued runs. */
export function queueTests(context: StoreContext): void {
  it("gives each queued run once to one of several processes", async () => {
    const { store } = context;
    const ids = [];
    for (let index = 0; index < 25; index += 1) ids.push((await createdRun(store, { queued: true })).id);
    await createdRun(store);
    const another = (await context.openAnother?.()) ?? store;
    const taken = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        index % 2 === 0 ? store.claimQueued(holder, 3, []) : another.claimQueued(otherHolder, 3, []),
      ),
    );
    expect(
      taken
        .flat()
        .map(({ run }) => run.id)
        .sort(),
    ).toEqual([...ids].sort());
    expect(taken.every((part) => part.length <= 3)).toBe(true);
    if (another !== store) await another.close();
  });

  it("gives the runs that were created first, and leaves out owners", async () => {
    const { store } = context;
    const ids = [];
    for (const owner of ["a", "b", "a", "c", "b"]) {
      ids.push((await createdRun(store, { queued: true, owner })).id);
    }
    const first = await store.claimQueued(holder, 2, ["b"]);
    expect(first.map(({ run }) => run.id)).toEqual([ids[0], ids[2]]);
    expect(first.map(({ claim }) => claim)).toEqual([getClaim(ids[0] ?? ""), getClaim(ids[2] ?? "")]);
    const rest = await store.claimQueued(holder, 10, []);
    expect(rest.map(({ run }) => run.id)).toEqual([ids[1], ids[3], ids[4]]);
    expect(await store.claimQueued(holder, 10, [])).toEqual([]);
  });

  it("counts the queued runs of an owner and of all owners", async () => {
    const { store } = context;
    expect(await store.countQueued("owner")).toEqual({ owner: 0, total: 0 });
    const run = await createdRun(store, { queued: true });
    await createdRun(store, { queued: true, owner: "someone" });
    await createdRun(store);
    expect(await store.countQueued("owner")).toEqual({ owner: 1, total: 2 });
    await store.claim(run.id, holder);
    await endRun(store, run);
    expect(await store.countQueued("owner")).toEqual({ owner: 0, total: 1 });
  });

  it("gives a run again that was put back into the queue", async () => {
    const { store } = context;
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    const taken = await store.claim(waiting.id, holder);
    const queued = { ...waiting, status: RunStatus.QUEUED };
    await store.write({ claim: taken?.claim ?? getClaim(""), run: queued });
    const [again] = await store.claimQueued(otherHolder, 1, []);
    expect(again?.run).toEqual(queued);
    expect(again?.claim).toEqual(getClaim(waiting.id, 3, otherHolder));
  });

  it("gives no run that was cancelled or deleted in the queue", async () => {
    const { store } = context;
    const cancelled = await createdRun(store, { queued: true });
    const deleted = await createdRun(store, { queued: true });
    const kept = await createdRun(store, { queued: true });
    await store.claim(cancelled.id, holder);
    const ended = finished(cancelled, RunStatus.CANCELLED);
    await store.write({ claim: getClaim(cancelled.id), run: { ...ended, lastSequence: 0 } });
    await store.deleteRun("owner", deleted.id);
    expect((await store.claimQueued(holder, 10, [])).map(({ run }) => run.id)).toEqual([kept.id]);
  });

  it("notifies its subscribers whenever runs are queued, and no former ones", async () => {
    const { store } = context;
    let notices = 0;
    const unsubscribe = store.subscribeToQueue(() => {
      notices += 1;
    });
    await createdRun(store);
    expect(notices).toBe(0);
    await createdRun(store, { queued: true });
    await expect.poll(() => notices).toBe(1);
    unsubscribe();
    await createdRun(store, { queued: true });
    expect(notices).toBe(1);
  });
}
