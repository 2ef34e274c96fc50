import { EventEmitter } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ReadGate } from "../../../src/server/listen/read-gate.ts";

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
  const gate = new ReadGate();
  const sessions = [new FakeSession(), new FakeSession(), new FakeSession()] as const;
  for (const { session } of sessions) gate.add(session);
  /** Which sessions are read now. */
  const read = () => sessions.map(({ isRead }) => isRead);
  return { gate, sessions, read };
}

describe("ReadGate", () => {
  it("reads no connection in the turn in which one has brought much, and then the others before that one", async () => {
    const { gate, sessions, read } = open();
    gate.close(sessions[1].session);
    expect(read()).toEqual([false, false, false]);
    await nextTurn();
    expect(read()).toEqual([true, false, true]);
    await nextTurn();
    expect(read()).toEqual([true, true, true]);
  });

  it("reads one of those that have brought much in each later turn, in their order", async () => {
    const { gate, sessions, read } = open();
    gate.close(sessions[2].session);
    gate.close(sessions[0].session);
    await nextTurn();
    expect(read()).toEqual([false, true, false]);
    await nextTurn();
    expect(read()).toEqual([false, true, true]);
    await nextTurn();
    expect(read()).toEqual([true, true, true]);
  });

  it("gives the others a turn between two that bring much again and again", async () => {
    const { gate, sessions, read } = open();
    const turns: boolean[][] = [];
    gate.close(sessions[0].session);
    gate.close(sessions[1].session);
    for (let turn = 0; turn < 6; turn += 1) {
      await nextTurn();
      turns.push(read());
      const heavy = sessions.slice(0, 2).find(({ isRead }) => isRead);
      if (heavy !== undefined) gate.close(heavy.session);
    }
    const [others, first, second] = [
      [false, false, true],
      [true, false, true],
      [false, true, true],
    ];
    expect(turns).toEqual([others, first, others, second, others, first]);
  });

  it("reads those that have brought much even if new ones bring much in every turn", async () => {
    const { gate, sessions, read } = open();
    gate.close(sessions[0].session);
    const turns: boolean[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      await nextTurn();
      turns.push(read()[0] === true);
      const added = new FakeSession();
      gate.add(added.session);
      gate.close(added.session);
    }
    expect(turns).toEqual([false, true, true, true]);
  });

  it("ends the reading of a connection that was added in the same turn and brings much", () => {
    const { gate, sessions } = open();
    gate.close(sessions[0].session);
    const added = new FakeSession();
    gate.add(added.session);
    gate.close(added.session);
    expect(added.isRead).toBe(false);
  });

  it("forgets a connection that is closed", async () => {
    const { gate, sessions, read } = open();
    gate.close(sessions[0].session);
    sessions[0].emit("close");
    await nextTurn();
    await nextTurn();
    expect(read()).toEqual([false, true, true]);
  });
});
