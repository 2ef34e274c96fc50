import type { EventEmitter } from "node:events";
import { types } from "pg";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { NotConnectedError } from "../../../src/runs/store/driver.ts";
import { Connections, createConnectionSettings } from "../../../src/runs/store/postgres-connections.ts";

const fake = vi.hoisted(() => ({
  pools: [] as {
    settings: Record<string, unknown>;
    ended: number;
    emit(event: string, value: unknown): void;
  }[],
  released: [] as boolean[],
  client: undefined as unknown,
  failure: undefined as Error | undefined,
}));

vi.mock("pg", async (importOriginal) => {
  const { EventEmitter } = await import("node:events");
  class Pool extends EventEmitter {
    ended = 0;
    readonly settings: Record<string, unknown>;

    constructor(settings: Record<string, unknown>) {
      super();
      this.settings = settings;
      fake.pools.push(this);
    }

    async connect() {
      if (fake.failure !== undefined) throw fake.failure;
      const client = Object.assign(new EventEmitter(), {
        release: (isBroken: boolean) => void fake.released.push(isBroken),
      });
      this.emit("connect", client);
      fake.client = client;
      return client;
    }

    async end() {
      this.ended += 1;
    }
  }
  return { ...(await importOriginal<object>()), Pool };
});

const URL = "postgres://u:p@db/runs";

beforeEach(() => {
  fake.pools = [];
  fake.released = [];
  fake.failure = undefined;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => void vi.useRealTimers());

/** Work that lasts until it is ended. */
function block() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

/** Lets promises that are fulfilled call back. */
const settle = () => vi.advanceTimersByTimeAsync(0);

describe("connections to PostgreSQL", () => {
  it("have timeouts for all operations that a database or a network may delay", () => {
    const { types: parsers, ...settings } = createConnectionSettings(URL);
    expect(settings).toEqual({
      connectionString: URL,
      application_name: "outrigger",
      connectionTimeoutMillis: 5000,
      statement_timeout: 20_000,
      query_timeout: 25_000,
      keepAlive: true,
    });
    const { INT8, TEXT } = types.builtins;
    expect(parsers?.getTypeParser(INT8)).toBe(Number);
    expect(parsers?.getTypeParser(INT8, "binary")).not.toBe(Number);
    expect(parsers?.getTypeParser(TEXT)).toBe(types.getTypeParser(TEXT));
  });

  it("are lent in the order of the calls, and no more than there are", async () => {
    const connections = new Connections(URL, 2);
    expect(fake.pools[0]?.settings).toMatchObject({ connectionString: URL, max: 2, pipeline: true });
    const begun: number[] = [];
    const blocks = [block(), block(), block(), block()];
    const calls = blocks.map(({ work }, index) =>
      connections.use(async () => {
        begun.push(index);
        await work();
        return index;
      }),
    );
    await settle();
    expect(begun).toEqual([0, 1]);
    blocks[1]?.end();
    await settle();
    expect(begun).toEqual([0, 1, 2]);
    for (const { end } of blocks) end();
    expect(await Promise.all(calls)).toEqual([0, 1, 2, 3]);
    expect(vi.getTimerCount()).toBe(0);
    expect(fake.released).toEqual([false, false, false, false]);
  });

  it("refuse a call that waits for ten seconds, and lend the connection to the next one", async () => {
    const connections = new Connections(URL, 1);
    const first = block();
    const blocked = connections.use(first.work);
    const late = connections.use(async () => "late");
    const refused = expect(late).rejects.toMatchObject({
      kindName: "RATE_LIMIT",
      retryAfter: 1,
      message: expect.stringContaining("raise runs.postgres.pool_size"),
    });
    await vi.advanceTimersByTimeAsync(9_000);
    const next = connections.use(async () => "next");
    await vi.advanceTimersByTimeAsync(1_000);
    await refused;
    first.end();
    await blocked;
    expect(await next).toBe("next");
  });

  it("let at most 5,000 calls wait", async () => {
    const connections = new Connections(URL, 1);
    const first = block();
    const calls = [connections.use(first.work)];
    for (let count = 0; count < 5000; count += 1) calls.push(connections.use(async () => undefined));
    await expect(connections.use(async () => undefined)).rejects.toMatchObject({ kindName: "RATE_LIMIT" });
    first.end();
    await Promise.all(calls);
    expect(await connections.use(async () => "free")).toBe("free");
  });

  it("are closed when all calls have ended, and take no more", async () => {
    const connections = new Connections(URL, 1);
    const first = block();
    const calls = [connections.use(first.work), connections.use(async () => undefined)];
    await settle();
    let isClosed = false;
    const closed = connections.close().then(() => {
      isClosed = true;
    });
    await expect(connections.use(async () => undefined)).rejects.toThrow("the store of runs is closed");
    await settle();
    expect([isClosed, fake.pools[0]?.ended]).toEqual([false, 0]);
    first.end();
    await Promise.all([...calls, closed]);
    expect(fake.pools[0]?.ended).toBe(1);
    const idle = new Connections(URL, 1);
    await idle.close();
    expect(fake.pools[1]?.ended).toBe(1);
  });
});

describe("a connection that breaks", () => {
  it("is not used again, and its call fails", async () => {
    const connections = new Connections(URL, 1);
    await expect(connections.use(() => Promise.reject(new Error("lost")))).rejects.toThrow("lost");
    await expect(connections.use(() => Promise.reject(new InvalidRequestError("too large")))).rejects.toThrow(
      "too large",
    );
    const ended = connections.use(async (client) => void client.emit("error", new Error("reset")));
    await expect(ended).resolves.toBeUndefined();
    expect(fake.released).toEqual([true, false, true]);
    await connections.use(async () => undefined);
    expect(fake.released.at(-1)).toBe(false);
  });

  it("ends nothing else while it is idle", async () => {
    const connections = new Connections(URL, 1);
    await connections.use(async () => undefined);
    const client = fake.client as EventEmitter;
    expect(client.listenerCount("error")).toBe(1);
    expect(() => client.emit("error", new Error("reset"))).not.toThrow();
    expect(() => fake.pools[0]?.emit("error", new Error("reset"))).not.toThrow();
  });

  it("cannot be made, which executed nothing", async () => {
    const connections = new Connections(URL, 1);
    fake.failure = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    await expect(connections.use(() => expect.fail())).rejects.toBeInstanceOf(NotConnectedError);
    fake.failure = undefined;
    expect(await connections.use(async () => "again")).toBe("again");
  });
});
