import { EventEmitter } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ReadScheduler } from "../../../src/server/listen/read-scheduler.ts";

/** A session whose socket notes whether it is read. */
class FakeSession extends EventEmitter {
  readonly destroyed = false;
  isRead = true;
  readonly socket = {
    _handle: {
      readStop: () => {
        this.isRead = false;
      },
      readStart: () => {
        this.isRead = true;
      },
    },
  };

  get session(): ServerHttp2Session {
    return this as unknown as ServerHttp2Session;
  }
}

function open() {
  const scheduler = new ReadScheduler();
  const sessions = [new FakeSession(), new FakeSession(), new FakeSession()] as const;
  for (const { session } of sessions) scheduler.add(session);
  /** Which sessions are read now. */
  const read = () => sessions.map(({ isRead }) => isRead);
  return { scheduler, sessions, read };
}

describe("ReadScheduler", () => {
  it("pauses all connections when one has sent much data, then reads the others before that one", async () => {
    const { scheduler, sessions, read } = open();
    scheduler.pause(sessions[1].session);
    expect(read()).toEqual([false, false, false]);
    await nextTurn();
    expect(read()).toEqual([true, false, true]);
    await nextTurn();
    expect(read()).toEqual([true, true, true]);
  });

  it("reads one heavy connection in each later turn, in order", async () => {
    const { scheduler, sessions, read } = open();
    scheduler.pause(sessions[2].session);
    scheduler.pause(sessions[0].session);
    await nextTurn();
    expect(read()).toEqual([false, true, false]);
    await nextTurn();
    expect(read()).toEqual([false, true, true]);
    await nextTurn();
    expect(read()).toEqual([true, true, true]);
  });

  it("reads the others between two heavy connections", async () => {
    const { scheduler, sessions, read } = open();
    const turns: boolean[][] = [];
    scheduler.pause(sessions[0].session);
    scheduler.pause(sessions[1].session);
    for (let turn = 0; turn < 6; turn += 1) {
      await nextTurn();
      turns.push(read());
      const heavy = sessions.slice(0, 2).find(({ isRead }) => isRead);
      if (heavy !== undefined) scheduler.pause(heavy.session);
    }
    const [others, first, second] = [
      [false, false, true],
      [true, false, true],
      [false, true, true],
    ];
    expect(turns).toEqual([others, first, others, second, others, first]);
  });

  it("reads heavy connections even if new ones send much data in every turn", async () => {
    const { scheduler, sessions, read } = open();
    scheduler.pause(sessions[0].session);
    const turns: boolean[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      await nextTurn();
      turns.push(read()[0] === true);
      const added = new FakeSession();
      scheduler.add(added.session);
      scheduler.pause(added.session);
    }
    expect(turns).toEqual([false, true, true, true]);
  });

  it("pauses a heavy connection that was added in the same turn", () => {
    const { scheduler, sessions } = open();
    scheduler.pause(sessions[0].session);
    const added = new FakeSession();
    scheduler.add(added.session);
    scheduler.pause(added.session);
    expect(added.isRead).toBe(false);
  });

  it("forgets a connection that is closed", async () => {
    const { scheduler, sessions, read } = open();
    scheduler.pause(sessions[0].session);
    sessions[0].emit("close");
    await nextTurn();
    await nextTurn();
    expect(read()).toEqual([false, true, true]);
  });
});
