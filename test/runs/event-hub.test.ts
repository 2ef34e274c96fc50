import { describe, expect, it } from "vitest";
import { EventHub, type HubReader } from "../../src/runs/event-hub.ts";
import { createRunEvent } from "../../src/runs/run-log.ts";

/** Events with the sequence numbers from `first` on. */
function eventsFrom(first: number, count: number) {
  return Array.from({ length: count }, (_, index) => createRunEvent(first + index, 1, { case: undefined }));
}

function sequencesAfter(hub: EventHub, sequence: number): number[] | undefined {
  return hub.eventsAfter(sequence)?.map((event) => event.sequence);
}

/** A reader that notes how it is called. */
function createReader(cursor = -1) {
  const calls: string[] = [];
  const reader: HubReader & { cursor: number } = {
    cursor,
    wake: () => void calls.push("wake"),
    fail: (error) => void calls.push(error.message),
  };
  return { reader, calls };
}

async function isSettled(promise: Promise<void> | undefined): Promise<boolean> {
  return Promise.race([
    promise?.then(() => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
  ]).then((settled) => settled === true);
}

describe("EventHub", () => {
  it("gives the events after a sequence number", () => {
    const hub = new EventHub(5);
    expect(hub.last).toBe(4);
    expect(sequencesAfter(hub, 4)).toEqual([]);
    hub.publish(eventsFrom(5, 3));
    expect(hub.last).toBe(7);
    expect(sequencesAfter(hub, 4)).toEqual([5, 6, 7]);
    expect(sequencesAfter(hub, 6)).toEqual([7]);
    expect(sequencesAfter(hub, 7)).toEqual([]);
    expect(sequencesAfter(hub, 3)).toBeUndefined();
  });

  it("keeps the latest 128 events at least, and twice as many at most", () => {
    const hub = new EventHub(0);
    hub.publish(eventsFrom(0, 255));
    expect(hub.eventsAfter(-1)).toHaveLength(255);
    hub.publish(eventsFrom(255, 1));
    expect(hub.eventsAfter(126)).toBeUndefined();
    expect(sequencesAfter(hub, 127)?.[0]).toBe(128);
    expect(hub.eventsAfter(127)).toHaveLength(128);
    expect(hub.last).toBe(255);
  });

  it("keeps what its caller has not read", () => {
    const hub = new EventHub(0);
    const { reader } = createReader();
    hub.setCaller(reader);
    hub.publish(eventsFrom(0, 300));
    expect(hub.eventsAfter(-1)).toHaveLength(300);
    reader.cursor = 9;
    hub.publish(eventsFrom(300, 1));
    expect(hub.eventsAfter(8)).toBeUndefined();
    expect(hub.eventsAfter(9)).toHaveLength(291);
  });

  it("keeps what its caller has read for other readers, unless there can be none", () => {
    for (const [hasOneReader, kept] of [
      [false, [0, 1, 2]],
      [true, undefined],
    ] as const) {
      const hub = new EventHub(0, hasOneReader);
      const { reader } = createReader();
      hub.setCaller(reader);
      hub.publish(eventsFrom(0, 3));
      expect(sequencesAfter(hub, -1)).toEqual([0, 1, 2]);
      reader.cursor = 2;
      hub.noteRead(reader);
      expect(sequencesAfter(hub, -1)).toEqual(kept);
      hub.publish(eventsFrom(3, 1));
      expect(sequencesAfter(hub, 2)).toEqual([3]);
    }
  });

  it("wakes waiting readers once, when there are events or the hub is closed", () => {
    const hub = new EventHub(0);
    const [first, second, gone] = [createReader(), createReader(), createReader()];
    for (const { reader } of [first, second, gone]) hub.wait(reader);
    hub.forget(gone.reader);
    hub.publish(eventsFrom(0, 1));
    hub.publish(eventsFrom(1, 1));
    hub.wait(second.reader);
    hub.close({ case: "over" });
    expect([first.calls, second.calls, gone.calls]).toEqual([["wake"], ["wake", "wake"], []]);
  });

  it("keeps the first reason of its end", () => {
    const hub = new EventHub(0);
    expect(hub.end).toBeUndefined();
    hub.close({ case: "elsewhere" });
    hub.close({ case: "over" });
    expect(hub.end).toEqual({ case: "elsewhere" });
  });

  it("makes the run wait until its caller has read everything", async () => {
    const hub = new EventHub(0);
    expect(hub.pace).toBeUndefined();
    const [{ reader }, other] = [createReader(), createReader(1)];
    hub.setCaller(reader);
    expect(hub.pace).toBeUndefined();
    hub.publish(eventsFrom(0, 2));
    const { pace } = hub;
    expect(pace).toBeInstanceOf(Promise);
    expect(hub.pace).toBe(pace);
    hub.noteRead(other.reader);
    reader.cursor = 0;
    hub.noteRead(reader);
    expect(await isSettled(pace)).toBe(false);
    reader.cursor = 1;
    hub.noteRead(reader);
    expect(await isSettled(pace)).toBe(true);
    expect(hub.pace).toBeUndefined();
  });

  it.each<[string, (hub: EventHub) => void]>([
    ["the hub is closed", (hub) => hub.close({ case: "over" })],
    ["it has no caller any more", (hub) => hub.setCaller(undefined)],
    ["its caller is given up", (hub) => hub.failCaller(new Error("stalled"))],
  ])("lets the run continue if %s", async (_name, change) => {
    const hub = new EventHub(0);
    hub.setCaller(createReader().reader);
    hub.publish(eventsFrom(0, 1));
    const { pace } = hub;
    change(hub);
    expect(await isSettled(pace)).toBe(true);
    expect(hub.pace).toBeUndefined();
    expect(hub.stalledMs).toBe(0);
  });

  it("ends the reading of a caller that it drops", () => {
    const hub = new EventHub(0);
    const { reader, calls } = createReader();
    hub.failCaller(new Error("nobody"));
    hub.setCaller(reader);
    hub.failCaller(new Error("stalled"));
    hub.failCaller(new Error("again"));
    expect(calls).toEqual(["stalled"]);
  });

  it("measures how long the run has been waiting for its caller", async () => {
    const hub = new EventHub(0);
    hub.setCaller(createReader().reader);
    hub.publish(eventsFrom(0, 1));
    expect(hub.stalledMs).toBe(0);
    const begun = performance.now();
    expect(hub.pace).toBeDefined();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(hub.pace).toBeDefined();
    expect(hub.stalledMs).toBeGreaterThanOrEqual(15);
    expect(hub.stalledMs).toBeLessThanOrEqual(performance.now() - begun + 1);
  });
});
