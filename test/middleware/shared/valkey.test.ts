/** Rules whose counts sidecars share through a real Valkey. */
import {
  createBudget,
  createCache,
  createCircuitBreaker,
  createRateLimit,
  RateLimitError,
  ServerError,
} from "outrigger";
import { describe, expect, it } from "vitest";
import type { AdmittedCall, BlockedCall } from "../../../src/middleware/breaker.ts";
import { type BudgetPeriod, getBegin } from "../../../src/middleware/budget-window.ts";
import type { WhenAway } from "../../../src/middleware/shared/reconnecting-connection.ts";
import { WINDOW } from "../../../src/middleware/shared/scripts.ts";
import { AccessControl, type AccessOptions } from "../../../src/server/access/access-control.ts";
import { accessKey } from "../../server/support/access-keys.ts";
import { hasValkey } from "../../support/valkey/start-valkey.ts";
import { getEvents, toFailure } from "../support/providers.ts";
import {
  catalog,
  closeAfterEach,
  countResults,
  openSidecar,
  request,
  type Sidecar,
  toSettings,
  useValkey,
} from "./support/sidecars.ts";

describe.skipIf(!hasValkey)("counts shared through Valkey", () => {
  const valkey = useValkey();
  closeAfterEach();

  /** Two sidecars with the same settings. */
  async function openTwo() {
    const settings = { valkey: toSettings(valkey()) };
    const sidecars = [await openSidecar(settings), await openSidecar(settings)] as const;
    return { sidecars, prefix: settings.valkey.prefix };
  }

  describe("the rate of a caller", () => {
    const limit = { requestsPerMinute: 6, burst: 3, shared: true } as const;
    const key = { ...accessKey("shop", ["shop-key"]), rateLimit: limit };
    const headers = { authorization: "Bearer shop-key" };
    const toControl = ({ stores }: Sidecar, whenAway?: WhenAway) => {
      const keys = [{ ...key, rateLimit: { ...limit, whenAway } }];
      const openSharedRate: AccessOptions["openSharedRate"] = (rate, caller) =>
        stores.callerRate(rate, caller);
      return new AccessControl({ current: () => keys }, { openSharedRate });
    };

    it("holds for all sidecars together, whichever of them the caller calls", async () => {
      const { sidecars } = await openTwo();
      const [one, other] = sidecars.map((sidecar) => toControl(sidecar));
      const admissions = await Promise.all(
        [one, other, one, other, one, other].map((control) => control?.admit(headers)),
      );
      expect(admissions.map((admission) => admission?.caller.name)).toEqual(Array(6).fill("shop"));
      const refusals = admissions.flatMap((admission) => admission?.refusal ?? []);
      expect(refusals.map(({ message }) => message)).toEqual(
        Array(3).fill("the limit of 6 requests per minute for the caller shop is reached; retry in 10 s"),
      );
    });

    it("holds for the messages of open WebSockets of all sidecars", async () => {
      const { sidecars } = await openTwo();
      const controls = sidecars.map((sidecar) => toControl(sidecar));
      const [first] = controls;
      const admission = await first?.admit(headers);
      const refusals: unknown[] = [];
      for (const control of [...controls, ...controls])
        refusals.push(await (admission && control.admitAgain(admission, headers)));
      const refused = expect.any(RateLimitError);
      expect(refusals).toEqual([undefined, undefined, refused, refused]);
    });

    it("counts locally, refuses or admits while the server is unavailable", async () => {
      const sidecar = await openSidecar({ valkey: toSettings({ port: 1 }) });
      const count = async (whenAway: WhenAway) => {
        const control = toControl(sidecar, whenAway);
        const admissions = await Promise.all(Array.from({ length: 5 }, () => control.admit(headers)));
        return admissions.map(({ refusal }) => refusal?.name);
      };
      expect(await count("local")).toEqual([...Array(3).fill(undefined), "RateLimitError", "RateLimitError"]);
      expect(await count("refuse")).toEqual(Array(5).fill("ServerError"));
      expect(await count("allow")).toEqual(Array(5).fill(undefined));
    });
  });

  describe("a budget", () => {
    const rule = { window: "month", requests: 100, tokens: 100_000, usd: 1, shared: true } as const;

    it("is never exceeded by calls of two sidecars at once, and counts what was used", async () => {
      const { sidecars, prefix } = await openTwo();
      const clients = sidecars.map(({ stores, client }) => {
        const store = stores.budget(rule, "all");
        return client([createBudget({ ...rule, store, catalog })]).client;
      });
      const calls = Array.from({ length: 300 }, (_, index) => clients[index % 2]?.complete(request(50)));
      expect(await countResults(calls)).toEqual({
        ok: 100,
        errors: ["QuotaExceededError"],
      });
      const sums = () =>
        valkey().command("HMGET", `${prefix}:{budget:all}`, "requests", "tokens", "nano_usd");
      await expect.poll(sums).toEqual(["100", "500", String(100 * 7_000)]);
      const ttl = Number(await valkey().command("TTL", `${prefix}:{budget:all}`));
      expect(ttl).toBeGreaterThan(86_000);
    });

    it("counts the reservations of a sidecar that died as spent, and not those of a call that was not sent", async () => {
      const {
        sidecars: [dying, other],
      } = await openTwo();
      const two = { window: "day", requests: 2, shared: true } as const;
      const amount = { requests: 1, tokens: 5, nanoUsd: 0 };
      expect(await dying.stores.budget(two, "k")?.take(amount, { requests: 2 })).toHaveProperty("settle");
      await dying.stores.close();
      const failing = other.client(
        [
          createBudget({ ...two, store: other.stores.budget(two, "k") }),
          createCircuitBreaker({ minCalls: 1 }),
        ],
        [new ServerError("down")],
      );
      await expect(failing.client.complete(request())).rejects.toThrow("down");
      // The breaker refuses these, so they give their request back.
      await expect(failing.client.complete(request())).rejects.toThrow("too little left");
    });

    it("begins again with each window of the server's clock", async () => {
      const {
        sidecars: [one, other],
        prefix,
      } = await openTwo();
      const amount = { requests: 1, tokens: 5, nanoUsd: 0 };
      const [first, second] = [one, other].map(({ stores }) =>
        stores.budget({ window: "hour", requests: 1, shared: true }, "k"),
      );
      const taken = await first?.take(amount, { requests: 1 });
      expect(await second?.take(amount, { requests: 1 })).toMatchObject({ exceeded: "requests" });
      await valkey().command("HSET", `${prefix}:{budget:k}`, "begin", "3600");
      expect(await second?.take(amount, { requests: 1 })).toHaveProperty("settle");
      // This settles a call of the window before, whose start the server no longer has.
      await valkey().command("HINCRBY", `${prefix}:{budget:k}`, "begin", "3600");
      if (taken !== undefined && "settle" in taken) taken.settle({ requests: 0, tokens: 0, nanoUsd: 0 });
      await one.stores.close();
      expect(await valkey().command("HGET", `${prefix}:{budget:k}`, "requests")).toBe("1");
    });

    it("has the windows of a budget in memory, by UTC", async () => {
      const moments = Array.from({ length: 400 }, (_, index) => 1_700_000_000 + index * 797_531);
      const leap = [Date.UTC(2028, 1, 29, 23, 59, 59), Date.UTC(2028, 2, 1), Date.UTC(2100, 1, 28, 23)].map(
        (ms) => ms / 1000,
      );
      for (const period of ["hour", "day", "month"] satisfies BudgetPeriod[]) {
        const all = [...moments, ...leap];
        const text = `${WINDOW}
          local out = {}
          for _, at in ipairs(ARGV) do
            local begin, ends = window('${period}', tonumber(at))
            out[#out + 1], out[#out + 2] = begin, ends
          end
          return out`;
        const found = await valkey().command("EVAL", text, "0", ...all.map(String));
        const expected = all.flatMap((at) =>
          [0, 1].map((later) => getBegin(period, at * 1000, later) / 1000),
        );
        expect(found).toEqual(expected);
      }
    });

    it("replaces a foreign value", async () => {
      const {
        sidecars: [one],
        prefix,
      } = await openTwo();
      await valkey().command("SET", `${prefix}:{budget:k}`, "poison");
      const { client } = one.client([
        createBudget({
          window: "day",
          requests: 1,
          store: one.stores.budget({ window: "day", requests: 1, shared: true }, "k"),
        }),
      ]);
      await client.complete(request());
      await expect(client.complete(request())).rejects.toThrow("too little left");
    });

    it("continues when the server forgets its scripts", async () => {
      const {
        sidecars: [one],
      } = await openTwo();
      const { client } = one.client([
        createBudget({
          window: "day",
          requests: 9,
          store: one.stores.budget({ window: "day", requests: 9, shared: true }, "k"),
        }),
      ]);
      await client.complete(request());
      await valkey().command("SCRIPT", "FLUSH");
      await client.complete(request());
      expect(one.failures).toEqual([]);
    });
  });

  it("are kept only for shared rules, and without Valkey only for budgets", async () => {
    const {
      sidecars: [one],
    } = await openTwo();
    const without = await openSidecar({});
    for (const [{ stores }, shared] of [
      [one, false],
      [one, undefined],
      [without, true],
    ] as const) {
      expect([
        stores.budget({ window: "day", requests: 1, shared }, "k"),
        stores.rateLimit({ requestsPerMinute: 1, shared }, "k"),
        stores.callerRate({ requestsPerMinute: 1, burst: 1, shared }, "k"),
        stores.breakers({ shared }, () => {}),
        stores.cache({ shared }),
      ]).toEqual(Array(5).fill(undefined));
    }
  });

  describe("a rate limit", () => {
    it("lets two sidecars together make the calls of a minute", async () => {
      const { sidecars } = await openTwo();
      const rule = { requestsPerMinute: 20, maxWait: 0, shared: true };
      const clients = sidecars.map(
        ({ stores, client }) =>
          client([createRateLimit({ ...rule, store: stores.rateLimit(rule, "k") })]).client,
      );
      const calls = Array.from({ length: 60 }, (_, index) => clients[index % 2]?.complete(request()));
      const { ok, errors } = await countResults(calls);
      expect(errors).toEqual(["RateLimitError"]);
      // The bucket may refill by one while the calls come in.
      expect([20, 21]).toContain(ok);
    });

    it("gives calls of all sidecars their turns in order, with one round trip for each", async () => {
      const { sidecars, prefix } = await openTwo();
      const rule = { requestsPerMinute: 600, maxWait: 60, shared: true };
      const stores = sidecars.map(({ stores: shared }) => shared.rateLimit(rule, "k"));
      await stores[0]?.take([600], Infinity, undefined);
      const before = await countScripts();
      const done: number[] = [];
      const waits = [0, 1, 2, 3, 4, 5].map(async (index) => {
        await stores[index % 2]?.take([1], Infinity, undefined);
        done.push(index);
      });
      await Promise.all(waits);
      expect(await countScripts()).toBe(before + 6);
      expect([...done].sort()).toEqual([0, 1, 2, 3, 4, 5]);
      expect(Number(await valkey().command("PTTL", `${prefix}:{rate:k}`))).toBeGreaterThan(0);
    });

    it("lets no more calls wait than its queue has places, in each sidecar", async () => {
      const {
        sidecars: [one],
      } = await openTwo();
      const rule = { requestsPerMinute: 60, maxWait: 60, maxQueue: 1, shared: true };
      const store = one.stores.rateLimit(rule, "queue");
      await store?.take([60], Infinity, undefined);
      const leaving = new AbortController();
      const calls = [1, 2, 3].map(() => store?.take([30], Infinity, leaving.signal));
      const refused = await Promise.race(calls);
      expect(refused).toMatchObject({ bucket: 0 });
      await expect.poll(() => store?.take([1], Infinity, undefined)).toMatchObject({ bucket: 0 });
      leaving.abort();
      const settled = await Promise.allSettled(calls);
      expect(settled.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "fulfilled", "rejected"]);
    });

    it("gives the turn of a caller that left back, and refuses calls that would wait too long", async () => {
      const {
        sidecars: [one, other],
      } = await openTwo();
      const rule = { requestsPerMinute: 60, maxWait: 2, shared: true };
      const [left, right] = [one, other].map(({ stores }) => stores.rateLimit(rule, "k"));
      await left?.take([60], Infinity, undefined);
      const leaving = new AbortController();
      const waiting = left?.take([2], Infinity, leaving.signal);
      await expect.poll(() => right?.take([1], Infinity, undefined)).toMatchObject({ bucket: 0 });
      leaving.abort();
      await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
      await expect.poll(() => right?.take([1], Infinity, undefined)).toBeTypeOf("function");
    });

    async function countScripts(): Promise<number> {
      const info = String(await valkey().command("INFO", "commandstats"));
      const [, calls = "0"] = /cmdstat_evalsha:calls=(\d+)/.exec(info) ?? [];
      return Number(calls);
    }
  });

  describe("circuit breakers", () => {
    it("open for all sidecars by failures of several, let one probe through, and close for all", async () => {
      const { sidecars } = await openTwo();
      const rule = { minCalls: 4, failureRatio: 0.5, openFor: 2, window: 60, shared: true };
      const states: string[] = [];
      const breakers = sidecars.map(({ stores, client }, index) => {
        const store = stores.breakers(rule, (_target, state) => void states.push(`${index} ${state}`));
        const failures = [new ServerError("down"), new ServerError("down")];
        return client([createCircuitBreaker({ ...rule, store })], failures);
      });
      for (const { client } of [...breakers, ...breakers])
        await expect(client.complete(request())).rejects.toThrow("down");
      for (const { client, one } of breakers) {
        const isOpen = async () =>
          (await toFailure(client.complete(request())).catch(() => undefined))?.message;
        await expect.poll(isOpen).toMatch(/^the circuit breaker of .* is open/);
        one.requests.length = 0;
      }
      const probe = async () => {
        const calls = breakers.flatMap(({ client }) => [1, 2, 3, 4, 5].map(() => client.complete(request())));
        await Promise.allSettled(calls);
        return breakers.flatMap(({ one }) => one.requests).length;
      };
      await expect.poll(probe, { interval: 100 }).toBe(1);
      for (const { client } of breakers) {
        await expect
          .poll(() =>
            client.complete(request()).then(
              () => true,
              () => false,
            ),
          )
          .toBe(true);
      }
      const seen = sidecars.map(
        (_, index) => new Set(states.filter((state) => state.startsWith(`${index}`))),
      );
      expect(seen.map((names, index) => [names.has(`${index} open`), names.has(`${index} closed`)])).toEqual([
        [true, true],
        [true, true],
      ]);
      // A breaker is closed until it opens, which is no change.
      for (const index of sidecars.keys())
        expect(states.find((state) => state.startsWith(`${index}`))).toBe(`${index} open`);
    });

    const target = { provider: "one", model: "m" };

    /** Counts the calls that the server knows of the only breaker. */
    async function countCalls(prefix: string): Promise<number> {
      const [key = ""] = (await valkey().command("KEYS", `${prefix}:*breaker*`)) as string[];
      const slots = Array.from({ length: 10 }, (_, slot) => `calls${slot}`);
      const counts = (await valkey().command("HMGET", key, ...slots)) as (string | null)[];
      return counts.reduce((sum, count) => sum + Number(count), 0);
    }

    function toAdmitted(entry: AdmittedCall | BlockedCall | undefined): AdmittedCall {
      if (entry === undefined || !("end" in entry)) throw new Error("the breaker is open");
      return entry;
    }

    it("send no successes before the first failure", async () => {
      const { sidecars, prefix } = await openTwo();
      const store = sidecars[0].stores.breakers({ minCalls: 9, shared: true }, () => {});
      const calls = await Promise.all(Array.from({ length: 4 }, () => store?.enter(target)));
      const [first, second, third, last] = calls.map(toAdmitted);
      for (const call of [first, second, third]) call?.end("success");
      last?.end("failure");
      await expect.poll(() => countCalls(prefix)).toBe(1);
    });

    it("count successes after the first failure, so that a share of the calls may fail", async () => {
      const {
        sidecars: [one, other],
        prefix,
      } = await openTwo();
      const rule = { minCalls: 3, failureRatio: 0.7, shared: true };
      const stores = [one, other].map(({ stores: shared }) => shared.breakers(rule, () => {}));
      let ended = 0;
      for (const result of ["failure", "success", "success", "failure", "failure"] as const) {
        toAdmitted(await stores[ended % 2]?.enter(target)).end(result);
        ended += 1;
        await expect.poll(() => countCalls(prefix)).toBe(ended);
        // The other sidecar learns from its next look that calls are counted.
        await new Promise((resolve) => setTimeout(resolve, ended === 1 ? 1100 : 0));
      }
    });
  });

  describe("a cache", () => {
    async function openCaches(rule = {}) {
      const { sidecars, prefix } = await openTwo();
      const caches = sidecars.map(({ stores, client }) => {
        const shared = { maxAge: 60, ...rule, shared: true };
        return client([createCache({ ...shared, store: stores.cache(shared) })]);
      });
      const list = async () => (await valkey().command("KEYS", `${prefix}:*cache*`)) as string[];
      return { caches, list };
    }

    it("answers requests of one sidecar with answers of another, whole and streamed", async () => {
      const {
        caches: [first, second],
        list,
      } = await openCaches();
      const original = await first?.client.complete(request());
      await expect.poll(list).toHaveLength(1);
      const hit = await second?.client.complete(request());
      expect(hit?.message).toEqual(original?.message);
      expect(hit?.warnings.map(({ code }) => code)).toEqual(["cache_hit"]);
      const streamed = second && (await getEvents(second.client.stream(request())));
      expect(streamed?.names.at(-1)).toBe("finish");
      expect(second?.one.requests).toEqual([]);
      const [key = ""] = await list();
      expect(Number(await valkey().command("PTTL", key))).toBeGreaterThan(30_000);
    });

    it("ignores values that it did not write, or that are of another version or too large", async () => {
      const {
        caches: [first],
        list,
      } = await openCaches({ maxEntryBytes: 1000 });
      await first?.client.complete(request());
      await expect.poll(list).toHaveLength(1);
      const [key = ""] = await list();
      const poisons = [
        ["SET", key, "x", "PX", "9000"],
        ["SET", key, `outrigger1\0\0\0\u0001${"\u0007".repeat(50)}`, "PX", "60000"],
        ["SET", key, `outrigger0\0\0\u00ff\u00ff`, "PX", "60000"],
        ["SET", key, `outrigger1\0\u00ff\u00ff\u00ff${"y".repeat(5_000_000)}`, "PX", "60000"],
        ["SET", key, "outrigger1\0\0\u00ff\u00ff"],
        ["RPUSH", key, "a"],
      ];
      for (const poison of poisons) {
        await valkey().command("DEL", key);
        await valkey().command(...poison);
        const response = await first?.client.complete(request());
        expect(response?.warnings).toEqual([]);
      }
      expect(first?.one.requests).toHaveLength(poisons.length + 1);
    });

    it("keeps no answer that is too large, and none beyond its age", async () => {
      const {
        caches: [small],
        list,
      } = await openCaches({ maxEntryBytes: 10 });
      await small?.client.complete(request());
      await small?.client.complete(request());
      expect(await list()).toEqual([]);
      const {
        caches: [young],
        list: listYoung,
      } = await openCaches({ maxAge: 0.05 });
      await young?.client.complete(request());
      await expect.poll(listYoung).toEqual([]);
      await young?.client.complete(request());
      expect(young?.one.requests).toHaveLength(2);
      // Longer than the 32 bits of milliseconds that a value has for its age.
      const {
        caches: [old],
        list: listOld,
      } = await openCaches({ maxAge: 5_000_000 });
      await old?.client.complete(request());
      await expect.poll(listOld).toHaveLength(1);
      await old?.client.complete(request());
      expect(old?.one.requests).toHaveLength(1);
    });
  });
});
