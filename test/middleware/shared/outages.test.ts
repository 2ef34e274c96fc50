/** Calls while a real Valkey is away, hangs, refuses commands, or cannot be reached at all. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createConnection, createServer as createTcpServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import {
  createBudget,
  createCache,
  createCircuitBreaker,
  createRateLimit,
  type Middleware,
  NetworkError,
} from "outrigger";
import { describe, expect, it, onTestFinished } from "vitest";
import type { WhenAway } from "../../../src/middleware/shared/reconnecting-connection.ts";
import type { SharedStores } from "../../../src/middleware/shared/shared-stores.ts";
import { Authority, hasTlsTools } from "../../support/certificates.ts";
import { hasValkey, ValkeyServer } from "../../support/valkey/start-valkey.ts";
import { toFailure } from "../support/providers.ts";
import {
  closeAfterEach,
  openSidecar,
  request,
  type Sidecar,
  toSettings,
  useValkey,
} from "./support/sidecars.ts";

/** One middleware of each kind that refuses calls, whose rules are shared. */
const refusing: readonly (readonly [name: string, create: (stores: SharedStores) => Middleware])[] = [
  [
    "budget",
    (stores) => {
      const rule = { window: "month", requests: 2, shared: true } as const;
      return createBudget({ ...rule, store: stores.budget(rule, "k") });
    },
  ],
  [
    "rate limit",
    (stores) => {
      const rule = { requestsPerMinute: 2, maxWait: 0, shared: true };
      return createRateLimit({ ...rule, store: stores.rateLimit(rule, "k") });
    },
  ],
  [
    "circuit breaker",
    (stores) => {
      const rule = { minCalls: 1, shared: true };
      return createCircuitBreaker({ ...rule, store: stores.breakers(rule, () => {}) });
    },
  ],
];

/** A member of a cluster, which other members reach on a port that is free as well. */
const CLUSTER = ["--cluster-enabled", "yes", "--cluster-port", "0"];

const toName = ({ name }: Error) => name;

const AMOUNT = { requests: 1, tokens: 10, nanoUsd: 0 };

describe.skipIf(!hasValkey)("while Valkey is unavailable", () => {
  closeAfterEach();

  /** A sidecar whose server has just been killed. */
  async function openWithoutServer(whenAway: WhenAway): Promise<{ sidecar: Sidecar; server: ValkeyServer }> {
    const server = await ValkeyServer.start();
    onTestFinished(() => server.stop());
    const sidecar = await openSidecar({ valkey: toSettings(server), whenAway });
    await server.kill();
    await expect.poll(() => sidecar.stores.problems).toHaveLength(1);
    return { sidecar, server };
  }

  it("refuses calls if so configured, and says so once", async () => {
    const { sidecar, server } = await openWithoutServer("refuse");
    for (const [name, create] of refusing) {
      const { client, one } = sidecar.client([create(sidecar.stores)]);
      for (const _ of [1, 2]) {
        const error = await toFailure(client.complete(request()));
        expect(error).toMatchObject({ name: "ServerError", retryable: true, retryAfter: 1, provider: "" });
        expect(error.message).toMatch(
          new RegExp(
            `^the ${name} cannot be checked, because the server of its shared counts cannot be reached \\(Valkey at 127.0.0.1:\\d+: `,
          ),
        );
      }
      expect(one.requests).toEqual([]);
    }
    await server.resume();
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
    expect(sidecar.log.map(([message]) => message)).toEqual([
      "sharing counts with other sidecars",
      "cannot use the server of shared counts: calls under shared rules are refused",
      "sharing counts with other sidecars",
    ]);
  });

  it("lets calls pass if so configured, also beyond their limits", async () => {
    const { sidecar } = await openWithoutServer("allow");
    for (const [, create] of refusing) {
      const { client, one } = sidecar.client([create(sidecar.stores)], []);
      for (const _ of [1, 2, 3, 4]) await client.complete(request());
      expect(one.requests).toHaveLength(4);
    }
  });

  it("lets each sidecar count separately by default, with unchanged rules", async () => {
    const { sidecar } = await openWithoutServer("local");
    const names: (readonly string[])[] = [];
    for (const [, create] of refusing) {
      const { client } = sidecar.client([create(sidecar.stores)], [new NetworkError("broken")]);
      const calls = [1, 2, 3].map(
        (call) => () => client.complete(request(call * 10)).then(() => "ok", toName),
      );
      const results: string[] = [];
      for (const call of calls) results.push(await call());
      names.push(results);
    }
    expect(names).toEqual([
      ["NetworkError", "ok", "QuotaExceededError"],
      ["NetworkError", "ok", "RateLimitError"],
      ["NetworkError", "ServerError", "ServerError"],
    ]);
  });

  it("lets a cache answer from memory, or not at all", async () => {
    for (const [whenAway, expected] of [
      ["local", 1],
      ["allow", 2],
    ] as const) {
      const { sidecar } = await openWithoutServer(whenAway);
      const { client, one } = sidecar.client([
        createCache({ store: sidecar.stores.cache({ shared: true }) }),
      ]);
      await client.complete(request());
      await expect
        .poll(async () => (await client.complete(request())).warnings.length)
        .toBe(expected === 1 ? 1 : 0);
      expect(one.requests.length).toBeGreaterThanOrEqual(expected);
    }
  });

  it("begins a budget with the last known sums, and adds later what was spent meanwhile", async () => {
    const { sidecar, server } = await openWithoutServer("local");
    await server.resume();
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
    const store = sidecar.stores.budget({ window: "month", requests: 10, shared: true }, "k");
    for (const _ of [1, 2, 3]) await store?.take(AMOUNT, { requests: 10 });
    await server.kill();
    await expect.poll(() => sidecar.stores.problems).toHaveLength(1);
    const results = [];
    for (let call = 0; call < 9; call += 1) results.push(await store?.take(AMOUNT, { requests: 10 }));
    expect(results.map((result) => result !== undefined && "settle" in result)).toEqual([
      ...Array(7).fill(true),
      ...Array(2).fill(false),
    ]);
    // A call of the outage ends when the server is back, without its counts.
    await server.resume();
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
    const [first] = results;
    if (first !== undefined && "settle" in first) first.settle({ requests: 0, tokens: 0, nanoUsd: 0 });
    const next = await store?.take(AMOUNT, { requests: 10 });
    expect(next).toHaveProperty("settle");
    const key = (await server.command("KEYS", "*budget:k*")) as string[];
    expect(await server.command("HMGET", key[0] ?? "", "requests", "tokens")).toEqual(["7", "70"]);
  });
});

describe.skipIf(!hasValkey)("a misbehaving Valkey", () => {
  const valkey = useValkey();
  closeAfterEach();

  it("is not waited for twice if it hangs, and what it counts too late is taken back", async () => {
    const server = await ValkeyServer.start();
    onTestFinished(() => server.stop());
    const settings = toSettings(server, { timeoutMs: 250 });
    const sidecar = await openSidecar({ valkey: settings });
    const store = sidecar.stores.budget({ window: "month", requests: 1000, shared: true }, "k");
    await store?.take(AMOUNT, {});
    server.signal("SIGSTOP");
    const hanging = Array.from({ length: 200 }, () => store?.take(AMOUNT, {}));
    await Promise.all(hanging);
    expect(sidecar.stores.problems[0]).toMatch(/no answer within 250 ms, so each sidecar counts separately$/);
    expect(sidecar.failures.filter((failure) => failure === "valkey timeout")).toHaveLength(200);
    await store?.take(AMOUNT, {});
    expect(sidecar.failures.at(-1)).toBe("valkey connection");
    server.signal("SIGCONT");
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
    await store?.take(AMOUNT, {});
    const sums = () => server.command("HGET", `${settings.prefix}:{budget:k}`, "requests");
    await expect.poll(sums).toBe("203");
  });

  it("undoes calls that a rate limit counted too late", async () => {
    const server = await ValkeyServer.start();
    onTestFinished(() => server.stop());
    const settings = toSettings(server, { timeoutMs: 250 });
    const sidecar = await openSidecar({ valkey: settings });
    // Fills by one in an hour.
    const rule = { requestsPerMinute: 1 / 60, burst: 10, shared: true };
    const store = sidecar.stores.callerRate(rule, "k");
    await store?.take([1], 0, undefined);
    server.signal("SIGSTOP");
    await Promise.all(Array.from({ length: 5 }, () => store?.take([1], 0, undefined)));
    server.signal("SIGCONT");
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
    await store?.take([1], 0, undefined);
    const level = await server.command("HGET", `${settings.prefix}:{rate:caller:k}`, "level1");
    expect(Math.round(Number(level))).toBe(8);
  });

  it("is unavailable while its memory is full, and available again afterwards", async () => {
    const sidecar = await openSidecar({ valkey: toSettings(valkey()) });
    const store = sidecar.stores.budget({ window: "month", requests: 1000, shared: true }, "k");
    await valkey().command("CONFIG", "SET", "maxmemory", "1");
    expect(await store?.take(AMOUNT, {})).toHaveProperty("settle");
    expect(sidecar.stores.problems[0]).toContain(
      "its memory is full, and its maxmemory-policy evicts nothing",
    );
    await valkey().command("CONFIG", "SET", "maxmemory", "0");
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
    expect(sidecar.failures).toContain("valkey refused");
  });

  it("is unavailable while it is a replica", async () => {
    const sidecar = await openSidecar({ valkey: toSettings(valkey()) });
    await valkey().command("REPLICAOF", "127.0.0.1", "1");
    const store = sidecar.stores.rateLimit({ requestsPerMinute: 5, shared: true }, "k");
    await store?.take([1], Infinity, undefined);
    expect(sidecar.stores.problems[0]).toContain("expected a primary, found a read-only replica");
    await valkey().command("REPLICAOF", "NO", "ONE");
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
  });

  it("is unavailable while something else answers in its place, and refuses no calls then", async () => {
    let isOther = false;
    const port = await listen(
      createTcpServer((socket) => {
        const upstream = createConnection(valkey().port, "127.0.0.1");
        for (const each of [socket, upstream]) each.on("error", () => {});
        socket.pipe(upstream).on("data", (answer) => socket.write(isOther ? "+OK\r\n" : answer));
      }),
    );
    const sidecar = await openSidecar({ valkey: toSettings({ port }) });
    const store = sidecar.stores.rateLimit({ requestsPerMinute: 5, shared: true }, "k");
    isOther = true;
    expect(await store?.take([1], 0, undefined)).toBeTypeOf("function");
    expect(sidecar.stores.problems[0]).toContain("it answered a script with something other than its result");
    isOther = false;
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
  });

  it("follows a failover behind one address", async () => {
    const [first, second] = [await ValkeyServer.start(), await ValkeyServer.start()];
    for (const server of [first, second]) onTestFinished(() => server.stop());
    let primary = first;
    const port = await listen(
      createTcpServer((socket) => {
        const upstream = createConnection(primary.port, "127.0.0.1");
        for (const each of [socket, upstream]) each.on("error", () => {});
        socket.pipe(upstream).pipe(socket);
      }),
    );
    await second.command("REPLICAOF", "127.0.0.1", String(first.port));
    const settings = toSettings({ port });
    const sidecar = await openSidecar({ valkey: settings });
    const store = sidecar.stores.budget({ window: "month", requests: 1000, shared: true }, "k");
    await store?.take(AMOUNT, {});
    await expect.poll(() => second.command("KEYS", `${settings.prefix}:{budget:k}`)).toHaveLength(1);
    // As Sentinel does it: the replica becomes the primary, the address leads to it, and the former primary a replica.
    await second.command("REPLICAOF", "NO", "ONE");
    primary = second;
    await first.command("REPLICAOF", "127.0.0.1", String(second.port));
    await store?.take(AMOUNT, {});
    await expect.poll(() => sidecar.stores.problems).toEqual([]);
    await store?.take(AMOUNT, {});
    await expect.poll(() => second.command("HGET", `${settings.prefix}:{budget:k}`, "requests")).toBe("3");
  });

  it("is named if it belongs to a cluster", async () => {
    const [one, other] = await Promise.all([1, 2].map(() => ValkeyServer.start(...CLUSTER)));
    if (one === undefined || other === undefined) throw new Error("expected two servers");
    for (const server of [one, other]) onTestFinished(() => server.stop());
    const problem = async () => (await openSidecar({ valkey: toSettings(one) })).stores.problems[0];
    expect(await problem()).toContain("its cluster is down");
    await other.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    await one.command("CLUSTER", "MEET", "127.0.0.1", String(other.port));
    await expect
      .poll(problem, { timeout: 20_000, interval: 200 })
      .toContain("expected a server alone or a proxy, found a member of a cluster");
  });

  it("is named with its problem if it refuses the password, without the password", async () => {
    // The rights that docs/middleware.md names.
    const commands =
      "hello client select eval evalsha type time del set getrange pttl pexpire expireat hget hmget hset hincrby";
    const rights = commands.split(" ").map((command) => `+${command}`);
    await valkey().command("ACL", "SETUSER", "sharer", "on", ">correct-password", "~acl*", ...rights);
    const readPassword = async () => "wrong-password";
    const wrong = await openSidecar({ valkey: toSettings(valkey(), { username: "sharer", readPassword }) });
    expect(wrong.log).toEqual([
      [
        "cannot use the server of shared counts: each sidecar counts separately",
        { server: "valkey", problem: "it refused the user or the password", when_away: "local" },
      ],
    ]);
    const correct = { username: "sharer", readPassword: async () => "correct-password" };
    const right = await openSidecar({ valkey: toSettings(valkey(), { ...correct, prefix: "acl" }) });
    for (const [, create] of refusing) {
      const { client } = right.client([
        create(right.stores),
        createCache({ store: right.stores.cache({ shared: true }) }),
      ]);
      for (const max of [10, 20, 30]) await client.complete(request(max)).catch(() => {});
    }
    expect([right.stores.problems, right.failures]).toEqual([[], []]);
    const narrow = await openSidecar({ valkey: toSettings(valkey(), { ...correct, prefix: "other" }) });
    expect(narrow.stores.problems[0]).toContain("the user lacks rights");
    await valkey().command("ACL", "SETUSER", "sharer", "-hset");
    await right.stores
      .rateLimit({ requestsPerMinute: 5, shared: true }, "other")
      ?.take([1], Infinity, undefined);
    expect(right.stores.problems[0]).toContain("the user lacks rights");
  });

  it("is named if nothing answers", async () => {
    const nothing = await openSidecar({ valkey: toSettings({ port: 1 }) });
    expect(nothing.stores.problems).toEqual([
      "shared counts: Valkey at 127.0.0.1:1: no answer at that address (ECONNREFUSED), so each sidecar counts separately",
    ]);
  });

  it.each<[string, string, (socket: Socket) => void]>([
    ["answers in another protocol", "was lost", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["resets the connection", "failed (ECONNRESET)", (socket) => socket.resetAndDestroy()],
  ])("is named if it %s", async (_name, problem, answer) => {
    const port = await listen(createTcpServer(answer));
    const sidecar = await openSidecar({ valkey: toSettings({ port }) });
    const server = `shared counts: Valkey at 127.0.0.1:${port}`;
    expect(sidecar.stores.problems).toEqual([
      `${server}: the connection ${problem}, so each sidecar counts separately`,
    ]);
  });

  it.skipIf(!hasTlsTools)(
    "is reached over TLS, and refused with a certificate of another authority",
    async () => {
      const authority = new Authority();
      const { cert, key } = authority.issue();
      const files = { cert: readFileSync(cert), key: readFileSync(key) };
      const port = await listen(
        createTlsServer(files, (client) => forward(client, createConnection(valkey().port, "127.0.0.1"))),
      );
      const toTls = (ca: string) => ({ tls: () => ({ ca: readFileSync(ca, "utf8") }) });
      const right = await openSidecar({ valkey: toSettings({ port }, toTls(authority.file)) });
      expect(right.stores.problems).toEqual([]);
      const wrong = await openSidecar({ valkey: toSettings({ port }, toTls(new Authority().file)) });
      expect(wrong.stores.problems[0]).toMatch(
        /TLS failed \(\w+\); expected a certificate that shared\.valkey\.tls\.ca_file signs/,
      );
    },
  );
});

async function listen(server: ReturnType<typeof createTcpServer>): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => {})));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function forward(client: Socket, server: Socket): void {
  client.pipe(server).pipe(client);
  for (const socket of [client, server]) {
    socket.on("error", () => socket.destroy());
    socket.on("close", () => (socket === client ? server : client).destroy());
  }
}
