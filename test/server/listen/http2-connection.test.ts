/** Tests of a connection over a session, streams and turns that they play. */
import { EventEmitter } from "node:events";
import { constants, type ServerHttp2Session } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import * as turns from "../../../src/core/loop-turns.ts";
import { Http2Connection, StreamBacklog } from "../../../src/server/listen/http2-connection.ts";
import type { ReadScheduler } from "../../../src/server/listen/read-scheduler.ts";

vi.mock("../../../src/core/loop-turns.ts");

/** Work that waits for a turn. */
let waiting: { readonly kind: string; readonly run: () => void }[];

beforeEach(() => {
  waiting = [];
  vi.mocked(turns.hasShare).mockReturnValue(true);
  vi.mocked(turns.runInTurn).mockImplementation((run) => void waiting.push({ kind: "in turn", run }));
  vi.mocked(turns.runAfterOthers).mockImplementation(
    (run) => void waiting.push({ kind: "after others", run }),
  );
});

class FakeStream extends EventEmitter {
  closed = false;
  destroyed = false;
  readonly close = vi.fn();
  readonly passOn = vi.fn(() => true);
  push = this.passOn as (chunk: Buffer | null) => boolean;
}

/** What a stream costs besides its header fields, in fields. */
const STREAM_COST = 10;

function open(maxWaiting = Infinity) {
  const session = Object.assign(new EventEmitter(), {
    ...{ destroyed: false, closed: false },
    ...{ goaway: vi.fn(), close: vi.fn(), destroy: vi.fn() },
    ping: vi.fn<(answered: (error: Error | null) => void) => void>(),
  });
  const limits = { maxConnectionIdleMs: Infinity, maxConnectionAgeMs: Infinity, maxConnectionAgeGraceMs: 0 };
  const scheduler = { add: vi.fn(), pause: vi.fn() };
  const served: FakeStream[] = [];
  const connection = new Http2Connection(
    session as unknown as ServerHttp2Session,
    limits,
    (stream) => void served.push(stream as unknown as FakeStream),
    new StreamBacklog(maxWaiting),
    scheduler as unknown as ReadScheduler,
  );
  const bring = (count: number, cost: number) =>
    Array.from({ length: count }, () => {
      const stream = new FakeStream();
      session.emit("stream", stream, {}, 0, Array(2 * (cost - STREAM_COST)).fill("x"));
      return stream;
    });
  return { connection, session, scheduler, served, bring };
}

/** Runs the work that waits, and returns when it was to run. */
function runNext(): string | undefined {
  const next = waiting.shift();
  next?.run();
  return next?.kind;
}

describe("the streams of a connection", () => {
  it("are served immediately up to a cost of 100 per turn, the rest after other work, 100 at a time", async () => {
    const { served, bring } = open();
    const streams = bring(14, 20);
    expect(served).toEqual(streams.slice(0, 5));
    expect(runNext()).toBe("after others");
    expect(served).toEqual(streams.slice(0, 10));
    expect(runNext()).toBe("after others");
    expect(served).toEqual(streams);
    expect(waiting).toEqual([]);
    await nextTurn();
    bring(1, 20);
    expect(served).toHaveLength(15);
  });

  it("wait for their turn if the share of this one is used up, and behind others that wait", () => {
    const { served, bring } = open();
    vi.mocked(turns.hasShare).mockReturnValueOnce(false);
    bring(2, 20);
    expect(served).toEqual([]);
    expect(runNext()).toBe("in turn");
    expect(served).toHaveLength(2);
    expect(waiting).toEqual([]);
  });

  it("are left out if they were reset before their turn, at no cost", () => {
    const { served, bring } = open();
    const streams = bring(5 + 9, 20);
    for (const index of [5, 7, 8]) Object.assign(streams[index] ?? {}, { closed: true });
    for (const index of [6, 10]) Object.assign(streams[index] ?? {}, { destroyed: true });
    runNext();
    expect(served.map((stream) => streams.indexOf(stream))).toEqual([0, 1, 2, 3, 4, 9, 11, 12, 13]);
    expect(waiting).toEqual([]);
  });

  it("are refused while the waiting ones have reached the limit of their cost", () => {
    const { served, bring } = open(40);
    const streams = bring(8, 20);
    const refused = () => streams.filter(({ close }) => close.mock.calls.length > 0);
    expect(refused()).toEqual(streams.slice(7));
    expect(streams[7]?.close).toHaveBeenCalledWith(constants.NGHTTP2_REFUSED_STREAM);
    runNext();
    expect(served).toEqual(streams.slice(0, 7));
    expect(bring(2, 20).every(({ close }) => close.mock.calls.length === 0)).toBe(true);
  });

  it("end it if they bring more than 4000 header fields beyond 64 each in one turn", async () => {
    const { session, served, bring } = open();
    const cost = STREAM_COST + 64 + 1000;
    for (let turn = 0; turn < 2; turn += 1) {
      bring(4, cost);
      bring(10, STREAM_COST + 64);
      expect(session.destroy).not.toHaveBeenCalled();
      await nextTurn();
    }
    const before = served.length;
    bring(5, cost);
    expect(session.goaway).toHaveBeenCalledExactlyOnceWith(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(session.destroy).toHaveBeenCalledOnce();
    session.destroyed = true;
    bring(1, cost);
    expect(session.goaway).toHaveBeenCalledOnce();
    expect(served.length - before).toBeLessThanOrEqual(4);
  });
});

describe("the reading of a connection", () => {
  it("ends once in a turn, when its streams and frames cost 2000", async () => {
    const { scheduler, bring } = open();
    expect(scheduler.add).toHaveBeenCalledOnce();
    for (let turn = 1; turn <= 2; turn += 1) {
      const [stream] = bring(99, 20);
      for (let frame = 0; frame < 19; frame += 1) stream?.push(Buffer.from("x"));
      expect(scheduler.pause).toHaveBeenCalledTimes(turn - 1);
      stream?.push(Buffer.from("x"));
      expect(scheduler.pause).toHaveBeenCalledTimes(turn);
      bring(200, 20);
      expect(scheduler.pause).toHaveBeenCalledTimes(turn);
      await nextTurn();
    }
  });

  it("passes 100 frames in a turn on one by one, of whatever streams, and joins the others", async () => {
    const { bring } = open();
    const [one = new FakeStream(), two = new FakeStream()] = bring(2, 20);
    for (let turn = 1; turn <= 2; turn += 1) {
      for (let frame = 0; frame < 60; frame += 1)
        for (const stream of [one, two]) stream.push(Buffer.from("x"));
      expect([one, two].map(({ passOn }) => passOn.mock.calls.length)).toEqual([
        51 * turn - 1,
        51 * turn - 1,
      ]);
      await nextTurn();
      expect([one, two].map(({ passOn }) => passOn.mock.calls.length)).toEqual([51 * turn, 51 * turn]);
    }
  });
});

describe("a connection", () => {
  it("is idle until its first stream and after its last one, which may fail", () => {
    const { connection, bring } = open();
    expect(connection.idleSince).toBeTypeOf("number");
    const [one, two] = bring(2, 20);
    one?.emit("error", new Error("reset"));
    one?.emit("close");
    expect(connection.idleSince).toBeUndefined();
    two?.emit("close");
    expect(connection.idleSince).toBeTypeOf("number");
  });

  it("is closed after a first GOAWAY when its peer answers a ping, or 200 ms later", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const [answered, silent, gone] = [open(), open(), open()];
    for (const { connection, session } of [answered, silent, gone]) {
      connection.closeGracefully();
      expect(session.goaway).toHaveBeenCalledExactlyOnceWith(0, 2 ** 31 - 1);
    }
    answered.session.ping.mock.lastCall?.[0](null);
    expect(answered.session.close).toHaveBeenCalledOnce();
    gone.session.destroyed = true;
    vi.advanceTimersByTime(199);
    expect(silent.session.close).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect([answered, silent, gone].map(({ session }) => session.close.mock.calls.length)).toEqual([1, 1, 0]);
    silent.session.closed = true;
    for (const { connection, session } of [silent, gone]) {
      connection.closeGracefully();
      expect(session.goaway).toHaveBeenCalledOnce();
    }
  });

  it("is destroyed if its peer has not answered a ping by the next check", () => {
    for (const error of [undefined, new Error("cancelled")]) {
      const { connection, session } = open();
      for (let check = 1; check <= 3; check += 1) {
        connection.checkPeer();
        expect(session.ping).toHaveBeenCalledTimes(check);
        if (check < 3) session.ping.mock.lastCall?.[0](null);
      }
      if (error !== undefined) session.ping.mock.lastCall?.[0](error);
      expect(session.destroy).not.toHaveBeenCalled();
      connection.checkPeer();
      expect(session.destroy).toHaveBeenCalledOnce();
    }
    const { connection, session } = open();
    session.destroyed = true;
    connection.checkPeer();
    expect(session.ping).not.toHaveBeenCalled();
  });
});
