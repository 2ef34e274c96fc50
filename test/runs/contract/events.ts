import { expect, it } from "vitest";
import { InternalError } from "../../../src/core/errors.ts";
import type { RunNotice } from "../../../src/runs/store.ts";
import type { StoreContext } from "../store-contract.ts";
import { createdRun, creation, getClaim, message, otherHolder, step, textEvent } from "./data.ts";

/** Events of runs. */
export function eventTests(context: StoreContext): void {
  it("gives the events after any sequence number, in order and without gaps", async () => {
    const { store } = context;
    const toCreate = creation();
    await store.createRun(toCreate);
    const { id } = toCreate.run;
    const events = Array.from({ length: 50 }, (_, index) => textEvent(index + 1, `text ${index}`));
    for (let at = 0; at < events.length; at += 7) {
      expect(await store.write({ claim: getClaim(id), events: events.slice(at, at + 7) })).toBe(true);
    }
    const all = [...toCreate.events, ...events];
    for (let after = -1; after <= 50; after += 1) {
      expect(await store.readEvents(id, after, 1000)).toEqual(all.slice(after + 1));
    }
  });

  it("gives at most as many events as asked, and at least one if there is one", async () => {
    const { store } = context;
    const run = await createdRun(store);
    const events = Array.from({ length: 20 }, (_, index) => textEvent(index + 1, "x"));
    await store.write({ claim: getClaim(run.id), events });
    for (const maxEvents of [1, 2, 5, 19]) {
      const read = await store.readEvents(run.id, 3, maxEvents);
      expect(read.length).toBeGreaterThan(0);
      expect(read.length).toBeLessThanOrEqual(maxEvents);
      expect(read).toEqual(events.slice(3, 3 + read.length));
    }
  });

  it("gives all large events, in several reads", async () => {
    const { store } = context;
    const run = await createdRun(store);
    const events = Array.from({ length: 30 }, (_, index) => textEvent(index + 1, `${index}`.repeat(200_000)));
    for (const event of events) await store.write({ claim: getClaim(run.id), events: [event] });
    const found = [];
    for (let after = 0; after < 30; ) {
      const read = await store.readEvents(run.id, after, 1000);
      expect(read.length).toBeGreaterThan(0);
      found.push(...read);
      after = read.at(-1)?.sequence ?? 31;
    }
    expect(found).toEqual(events);
  });

  it("refuses events that leave a gap, repeat a number or run backwards, and writes none", async () => {
    const { store } = context;
    const run = await createdRun(store);
    const wrong = [[textEvent(2, "x")], [textEvent(0, "x")], [textEvent(1, "x"), textEvent(3, "x")]];
    for (const events of wrong) {
      const write = { claim: getClaim(run.id), events, steps: [step("x")], messages: [message("x")] };
      await expect(store.write(write)).rejects.toThrow(InternalError);
      await expect(store.write({ claim: getClaim(run.id), events })).rejects.toThrow(InternalError);
    }
    expect(await store.readEvents(run.id, 0, 10)).toEqual([]);
    expect(await store.readSteps(run.id)).toEqual([]);
  });

  it("notifies current subscribers of events, and no former ones", async () => {
    const { store } = context;
    const run = await createdRun(store);
    const other = await createdRun(store);
    const notices: RunNotice[] = [];
    const others: RunNotice[] = [];
    const leave = store.subscribe(run.id, (notice) => notices.push(notice));
    const leaveOther = store.subscribe(other.id, (notice) => others.push(notice));
    await store.write({ claim: getClaim(run.id), events: [textEvent(1, "x")] });
    await expect.poll(() => notices).toContain("change");
    leave();
    const before = notices.length;
    await store.write({ claim: getClaim(run.id), events: [textEvent(2, "x")] });
    await store.write({ claim: getClaim(other.id), events: [textEvent(1, "x")] });
    await expect.poll(() => others).toContain("change");
    expect(notices).toHaveLength(before);
    leaveOther();
  });

  it("notifies subscribers of a cancellation and of a deletion", async () => {
    const { store } = context;
    const run = await createdRun(store);
    const notices: RunNotice[] = [];
    const leave = store.subscribe(run.id, (notice) => notices.push(notice));
    await store.requestCancel("owner", run.id);
    await expect.poll(() => notices).toContain("cancel");
    expect(notices).not.toContain("change");
    await store.deleteRun("owner", run.id);
    await expect.poll(() => notices).toContain("change");
    leave();
  });

  it("does not write the events of a process that does not claim the run", async () => {
    const { store } = context;
    const run = await createdRun(store);
    expect(await store.write({ claim: getClaim(run.id, 1, otherHolder), events: [textEvent(1, "x")] })).toBe(
      false,
    );
    expect(await store.readEvents(run.id, 0, 10)).toEqual([]);
  });
}
