/** The notices of a process, over a connection and a database that the tests play. */
import type { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PostgresNotices } from "../../../src/runs/store/postgres-notices.ts";

interface FakeClient extends EventEmitter {
  readonly statements: string[];
  ended: number;
}

const fake = vi.hoisted(() => ({
  clients: [] as FakeClient[],
  /** The failure of connecting and of statements. */
  failure: undefined as Error | undefined,
  /** Called before a connection is made. */
  beforeConnect: undefined as (() => Promise<void>) | undefined,
}));

vi.mock("pg", async (importOriginal) => {
  const { EventEmitter } = await import("node:events");
  class Client extends EventEmitter {
    readonly statements: string[] = [];
    ended = 0;

    constructor() {
      super();
      fake.clients.push(this);
    }

    async connect() {
      await fake.beforeConnect?.();
      if (fake.failure !== undefined) throw fake.failure;
    }

    async query(text: string) {
      this.statements.push(text);
      if (fake.failure !== undefined) throw fake.failure;
    }

    async end() {
      this.ended += 1;
      if (fake.failure !== undefined) throw fake.failure;
    }
  }
  return { ...(await importOriginal<object>()), Client };
});

interface State {
  readonly id: string;
  readonly status: number;
  readonly last_sequence: number | null;
  readonly cancel_requested: number;
}

let open: PostgresNotices[] = [];

beforeEach(() => {
  fake.clients = [];
  fake.failure = undefined;
  fake.beforeConnect = undefined;
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"],
  });
  vi.advanceTimersByTime(60_000);
});

afterEach(async () => {
  await Promise.all(open.map((notices) => notices.close()));
  open = [];
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** Notices over a database that notes what is sent, and has some runs. */
async function openNotices() {
  const database = {
    sent: [] as string[],
    polled: [] as string[][],
    states: [] as State[],
    beforeRead: undefined as (() => Promise<void>) | undefined,
    failure: undefined as Error | undefined,
  };
  const read = async (text: string, values: readonly unknown[], reader?: string) => {
    const isNotice = text.includes("pg_notify");
    if (isNotice) {
      expect(reader).toBe("run");
      expect(values[0]).toBe("the_channel");
      database.sent.push(String(values[1]));
    } else database.polled.push(values[0] as string[]);
    await database.beforeRead?.();
    if (database.failure !== undefined) throw database.failure;
    return isNotice ? [] : database.states;
  };
  const batch = () => Promise.reject(new Error("nothing is written"));
  const notices = new PostgresNotices({ read, batch } as never, "postgres://u:p@db/runs", "the_channel");
  await notices.open();
  open.push(notices);
  return { notices, database, client: fake.clients[0] ?? expect.fail() };
}

/** The parts of a payload without the name of its sender. */
function getParts(payload: string | undefined): string[] {
  return payload?.split(" ").slice(1) ?? [];
}

/** Records the notices to the subscribers of a run and of the queue. */
function subscribe(notices: PostgresNotices, runId: string) {
  const heard: string[] = [];
  const leave = notices.subscribe(runId, (notice) => heard.push(notice));
  notices.subscribeToQueue(() => heard.push("queued"));
  return { heard, leave };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

describe("the notices that a process sends", () => {
  it("are announced to its subscribers once, and to the channel", async () => {
    const { notices, database, client } = await openNotices();
    const { heard } = subscribe(notices, "run_a");
    notices.announce("run_a", "change");
    notices.announce("run_a", "cancel");
    notices.announceQueued();
    await settle();
    expect(heard).toEqual(["change", "cancel", "queued"]);
    expect(database.sent.flatMap(getParts)).toEqual(["run_a", "run_a!", "queued"]);
    for (const payload of database.sent) client.emit("notification", { payload });
    expect(heard).toHaveLength(3);
  });

  it("name a random sender, so that other processes are not taken for this one", async () => {
    const [one, two] = [await openNotices(), await openNotices()];
    for (const { notices } of [one, two]) notices.announceQueued();
    await settle();
    const senders = [one, two].map(({ database }) => database.sent[0]?.split(" ")[0] ?? "");
    expect(senders[0]).toMatch(/^[\w-]{8}$/);
    expect(senders[0]).not.toBe(senders[1]);
  });

  it("are joined while one is in progress, each once, and at most 200 in one", async () => {
    const { notices, database } = await openNotices();
    const { promise, resolve } = Promise.withResolvers<void>();
    database.beforeRead = () => promise;
    notices.announce("run_first", "change");
    for (let round = 0; round < 2; round += 1)
      for (let run = 0; run < 450; run += 1) notices.announce(`run_${run}`, "change");
    await settle();
    expect(database.sent.map(getParts)).toEqual([["run_first"]]);
    resolve();
    await settle();
    expect(database.sent.map((payload) => getParts(payload).length)).toEqual([1, 200, 200, 50]);
    expect(new Set(database.sent.flatMap(getParts)).size).toBe(451);
    notices.announceQueued();
    await settle();
    expect(getParts(database.sent.at(-1))).toEqual(["queued"]);
  });

  it("are sent on after one that could not be sent", async () => {
    const { notices, database } = await openNotices();
    database.failure = new Error("away");
    notices.announceQueued();
    await settle();
    database.failure = undefined;
    notices.announce("run_a", "change");
    await settle();
    expect(database.sent.map(getParts)).toEqual([["queued"], ["run_a"]]);
  });

  it("are sent before the end", async () => {
    const { notices, database } = await openNotices();
    const { promise, resolve } = Promise.withResolvers<void>();
    database.beforeRead = () => promise;
    notices.announce("run_a", "change");
    notices.announce("run_b", "change");
    let isClosed = false;
    const closed = notices.close().then(() => {
      isClosed = true;
    });
    await settle();
    expect(isClosed).toBe(false);
    resolve();
    await closed;
    expect(database.sent.flatMap(getParts)).toEqual(["run_a", "run_b"]);
  });
});

describe("the notices of other processes", () => {
  it("are announced to the subscribers", async () => {
    const { notices, client } = await openNotices();
    expect(client.statements).toEqual(['LISTEN "the_channel"']);
    const { heard } = subscribe(notices, "run_a");
    client.emit("notification", { payload: "another run_a run_b! queued run_a!" });
    client.emit("notification", {});
    expect(heard).toEqual(["change", "queued", "cancel"]);
  });
});

describe("a listening connection", () => {
  it("is tried every ten seconds", async () => {
    const { client } = await openNotices();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(client.statements.slice(1)).toEqual(["SELECT 1", "SELECT 1", "SELECT 1"]);
  });

  it.each([
    ["breaks", (client: FakeClient) => void client.emit("error", new Error("reset"))],
    ["ends", (client: FakeClient) => void client.emit("end")],
  ])("is replaced if it %s, and what was missed is made up for", async (_name, lose) => {
    const { notices, database, client } = await openNotices();
    const { heard } = subscribe(notices, "run_a");
    lose(client);
    lose(client);
    expect(client.ended).toBe(1);
    await vi.advanceTimersByTimeAsync(99);
    expect(fake.clients).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(fake.clients).toHaveLength(2);
    expect(heard.slice(0, 2)).toEqual(["change", "queued"]);
    expect(database.polled).toEqual([["run_a"]]);
    fake.clients[1]?.emit("notification", { payload: "another run_a!" });
    expect(heard.at(-1)).toBe("cancel");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(client.statements).not.toContain("SELECT 1");
    expect(fake.clients[1]?.statements).toContain("SELECT 1");
  });

  it("is replaced if it does not answer when it is tried", async () => {
    const { client } = await openNotices();
    fake.failure = new Error("timeout");
    await vi.advanceTimersByTimeAsync(10_000);
    fake.failure = undefined;
    await vi.advanceTimersByTimeAsync(100);
    expect(client.ended).toBe(1);
    expect(fake.clients).toHaveLength(2);
  });

  it("is made again with growing pauses of up to five seconds", async () => {
    const { client } = await openNotices();
    const times: number[] = [];
    fake.failure = new Error("refused");
    fake.beforeConnect = async () => void times.push(performance.now());
    client.emit("end");
    times.push(performance.now());
    await vi.advanceTimersByTimeAsync(30_000);
    const pauses = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)));
    expect(pauses.slice(0, 9)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    fake.failure = undefined;
    await vi.advanceTimersByTimeAsync(5_000);
    fake.clients.at(-1)?.emit("end");
    times.length = 0;
    await vi.advanceTimersByTimeAsync(100);
    expect(times).toHaveLength(1);
  });

  it("is closed at the end, also one that is being made", async () => {
    const { notices, client } = await openNotices();
    const { promise, resolve } = Promise.withResolvers<void>();
    fake.beforeConnect = () => promise;
    client.emit("end");
    await vi.advanceTimersByTimeAsync(100);
    await notices.close();
    resolve();
    await settle();
    expect(fake.clients.map(({ ended }) => ended)).toEqual([1, 1]);
    const another = await openNotices();
    await another.notices.close();
    expect(fake.clients.at(-1)?.ended).toBe(1);
    fake.clients.at(-1)?.emit("end");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(fake.clients).toHaveLength(3);
  });

  it("is not made again after the end", async () => {
    const { notices, client } = await openNotices();
    fake.failure = new Error("refused");
    client.emit("end");
    await vi.advanceTimersByTimeAsync(100);
    fake.beforeConnect = async () => void (await notices.close());
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fake.clients).toHaveLength(3);
  });

  it("fails the start if it cannot be made", async () => {
    fake.failure = new Error("refused");
    await expect(openNotices()).rejects.toThrow("refused");
    expect(fake.clients[0]?.ended).toBe(1);
  });
});

describe("the poll of runs with subscribers", () => {
  const state = (fields: Partial<State> = {}): State => ({
    id: "run_a",
    status: 2,
    last_sequence: 1,
    cancel_requested: 0,
    ...fields,
  });

  it("is made every five seconds while the connection listens, and twice a second otherwise", async () => {
    const { notices, database, client } = await openNotices();
    subscribe(notices, "run_a");
    await vi.advanceTimersByTimeAsync(500);
    database.polled = [];
    await vi.advanceTimersByTimeAsync(20_000);
    expect(database.polled).toHaveLength(4);
    fake.failure = new Error("refused");
    client.emit("end");
    database.polled = [];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(database.polled.length).toBeGreaterThanOrEqual(9);
    expect(database.polled.length).toBeLessThanOrEqual(10);
  });

  it("is not made without subscribers", async () => {
    const { notices, database } = await openNotices();
    const { leave } = subscribe(notices, "run_a");
    leave();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(database.polled).toEqual([]);
  });

  it("reports a run that has changed since, and no other", async () => {
    const { notices, database } = await openNotices();
    const { heard } = subscribe(notices, "run_a");
    const poll = async (...states: State[]) => {
      heard.length = 0;
      database.states = states;
      await vi.advanceTimersByTimeAsync(5_000);
      return [...heard];
    };
    expect(await poll(state())).toEqual(["change"]);
    expect(await poll(state())).toEqual([]);
    expect(await poll(state({ last_sequence: 2 }))).toEqual(["change"]);
    expect(await poll(state({ last_sequence: 2, status: 3 }))).toEqual(["change"]);
    const cancelled = state({ last_sequence: 2, status: 3, cancel_requested: 1 });
    expect(await poll(cancelled)).toEqual(["cancel"]);
    expect(await poll(cancelled)).toEqual([]);
    // It was deleted.
    expect(await poll()).toEqual(["change"]);
    expect(await poll()).toEqual(["change"]);
  });

  it("is not made twice at a time, and again after a failure", async () => {
    const { notices, database } = await openNotices();
    subscribe(notices, "run_a");
    const { promise, resolve } = Promise.withResolvers<void>();
    database.beforeRead = () => promise;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(database.polled).toHaveLength(1);
    database.failure = new Error("away");
    resolve();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(database.polled.length).toBeGreaterThanOrEqual(2);
  });
});
