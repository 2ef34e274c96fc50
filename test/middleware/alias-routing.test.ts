/** Aliases with several targets: the choice among them, and the targets that are left out for a while. */
import {
  AbortError,
  type CallOptions,
  type CallTarget,
  Client,
  ConfigurationError,
  createAliasRouting,
  createCatalog,
  createCircuitBreaker,
  createFallback,
  functionTool,
  generate,
  type Middleware,
  type RoutedAlias,
  ServerError,
  type SeveralTargets,
  userMessage,
} from "outrigger";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RepeatLimit } from "../../src/core/repeat-limit.ts";
import { createModelAccess } from "../../src/middleware/model-access.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, listAsked, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();
afterEach(() => simulator().clearRequests());

/** An alias `fast` of two targets of the simulator. */
function createFast(
  weights: readonly [number, number],
  changes: Partial<Omit<SeveralTargets, "targets"> & Pick<RoutedAlias, "fallbackOn">> & {
    readonly models?: readonly string[];
  } = {},
): { fast: RoutedAlias } {
  const { models: [first = "sim-text", second = "sim-text"] = [], ...rules } = changes;
  const targets = [
    { provider: "one", model: first, weight: weights[0] },
    { provider: "two", model: second, weight: weights[1] },
  ];
  return { fast: { targets, ...rules } };
}

function route(modelAliases: { fast: RoutedAlias }, inner: readonly Middleware[] = []) {
  return getClient(simulator(), [createAliasRouting(modelAliases), ...inner], { modelAliases });
}

/** Number of calls that each provider of the simulator got. */
function countAsked(): { one: number; two: number } {
  const two = listAsked(simulator()).filter((line) => line.startsWith("/v1/messages")).length;
  return { one: simulator().requests.length - two, two };
}

describe.each(calls)("an alias with several targets, called by %s", (_kind, call) => {
  it("spreads calls in exact proportion to the weights, and evenly over time", async () => {
    const client = route(createFast([95, 5]));
    const asked: string[] = [];
    for (let left = 200; left > 0; left -= 1) asked.push((await call(client, requestFor("fast"))).provider);
    expect(countAsked()).toEqual({ one: 190, two: 10 });
    for (let start = 0; start < 200; start += 20)
      expect(asked.slice(start, start + 20).filter((provider) => provider === "two")).toHaveLength(1);
    await client.close();
  });

  it("leaves the call of a fallback around it at the target of that fallback", async () => {
    const modelAliases = createFast([1, 0], { models: ["sim-text:status=503"] });
    const around = createFallback({ targets: [{ provider: "two", model: "sim-text" }] });
    const client = getClient(simulator(), [around, createAliasRouting(modelAliases)], { modelAliases });
    expect(await call(client, requestFor("fast"))).toMatchObject({ provider: "two", model: "sim-text" });
    expect(countAsked()).toEqual({ one: 1, two: 1 });
    await client.close();
  });

  it("sends a failed call to the other targets in their order", async () => {
    const client = route(createFast([1, 0], { models: ["sim-text:status=503"] }));
    expect((await toFailure(call(client, requestFor("fast")))).kindName).toBe("SERVER");
    const second = route(createFast([95, 5], { models: ["sim-text:status=503"] }));
    const response = await call(second, requestFor("fast"));
    expect(response).toMatchObject({
      provider: "two",
      attempts: [{ provider: "one", model: "sim-text:status=503" }],
    });
    await Promise.all([client.close(), second.close()]);
  });

  it("skips targets that the caller may not use, and refuses a caller who may use none", async () => {
    const client = route(createFast([95, 5], { models: ["sim-text", "sim-echo"] }), [createModelAccess()]);
    const callAs = (allowed: string) => {
      const allowsModel = (_provider: string, model: string) => model === allowed;
      return call(client, requestFor("fast"), { caller: { name: "a", isRestricted: true, allowsModel } });
    };
    for (let left = 3; left > 0; left -= 1) expect((await callAs("sim-echo")).provider).toBe("two");
    expect((await toFailure(callAs("sim-none"))).kindName).toBe("ACCESS_DENIED");
    expect(countAsked()).toEqual({ one: 0, two: 3 });
    await client.close();
  });

  it("skips a target whose circuit breaker is open while there is another", async () => {
    const breaker = createCircuitBreaker({ minCalls: 1, failureRatio: 0.1 });
    const client = route(createFast([95, 5], { models: ["sim-text:status=503"] }), [breaker]);
    const attempts: number[] = [];
    for (let left = 4; left > 0; left -= 1)
      attempts.push((await call(client, requestFor("fast"))).attempts.length);
    // The first call fails, the second is refused by the breaker.
    expect(attempts).toEqual([1, 1, 0, 0]);
    await client.close();
  });
});

it("spreads a thousand calls at the same time exactly", async () => {
  const modelAliases = createFast([937, 63]);
  const providers = { one: new ScriptedAdapter("one"), two: new ScriptedAdapter("two") };
  const client = new Client({
    providers,
    defaultProvider: "one",
    modelAliases,
    middleware: [createAliasRouting(modelAliases)],
  });
  await Promise.all(Array.from({ length: 1000 }, () => client.complete(requestFor("fast"))));
  expect(providers.one.requests).toHaveLength(937);
  expect(providers.two.requests).toHaveLength(63);
});

describe("the field that keeps a call at its target", () => {
  it("can be any field of the call: each value has one target, and the shares are near the weights", async () => {
    const client = route(createFast([3, 1], { stickyBy: ["metadata.session", "prompt_cache_key"] }));
    const ask = async (changes: Parameters<typeof requestFor>[1]) =>
      (await client.complete(requestFor("fast", changes))).provider;
    const bySession = new Map<string, string>();
    for (let session = 0; session < 100; session += 1) {
      const metadata = { session: `s${session}` };
      bySession.set(metadata.session, await ask({ metadata }));
    }
    const ofTwo = [...bySession.values()].filter((provider) => provider === "two").length;
    expect(ofTwo).toBeGreaterThan(10);
    expect(ofTwo).toBeLessThan(40);
    for (const [session, provider] of [...bySession].slice(0, 20))
      expect(await ask({ metadata: { session } })).toBe(provider);
    const key = { providerOptionsJson: { one: '{"prompt_cache_key":"k"}' } };
    const first = await ask(key);
    expect([await ask(key), await ask(key)]).toEqual([first, first]);
    await client.close();
  });

  it("is the beginning of the conversation, if configured", async () => {
    const client = route(createFast([1, 1], { stickyBy: ["conversation"] }));
    const ask = async (text: string) =>
      (await client.complete({ model: "fast", messages: [userMessage(text)] })).provider;
    for (const text of ["a", "b", "c", "d"]) expect(await ask(text)).toBe(await ask(text));
    await client.close();
  });

  it("is the provider state in the conversation, even at a target of weight 0", async () => {
    const modelAliases = createFast([1, 0], { models: ["sim-text", "sim-reasoning"] });
    const client = route(modelAliases);
    const answer = await client.complete(
      requestFor("sim-reasoning", { provider: "two", reasoningEffort: "high" }),
    );
    const question = userMessage("Say something.");
    if (answer.message === undefined) throw new Error("no message");
    const messages = [question, answer.message, question];
    expect((await client.complete({ model: "fast", messages })).provider).toBe("two");
    expect((await client.complete(requestFor("fast"))).provider).toBe("one");
    await client.close();
  });

  it("is the generation to which the call belongs as a step", async () => {
    const models = ["sim-tools", "sim-tools"];
    const client = route(createFast([1, 1], { models }));
    const tool = functionTool({
      name: "f",
      description: "f",
      parameters: { type: "object", properties: {} },
      execute: () => "done",
    });
    const generateOnce = async () => {
      const { steps } = await generate({ client, model: "fast", prompt: "Call f.", tools: [tool] });
      return steps.map(({ response }) => response?.provider);
    };
    const first = await generateOnce();
    const second = await generateOnce();
    expect([first, second]).toEqual([
      ["one", "one"],
      ["two", "two"],
    ]);
    await client.close();
  });
});

it("counts a stream that its reader left neither as a failure nor as a success", async () => {
  const failures = [new ServerError("down", { provider: "one" })];
  const providers = { one: new ScriptedAdapter("one", { failures }), two: new ScriptedAdapter("two") };
  const ejected: string[] = [];
  const observer = { ejected: (_alias: string, { provider }: CallTarget) => void ejected.push(provider) };
  const outlierEjection = { consecutiveFailures: 2, maxEjected: 1 };
  const modelAliases = createFast([1, 0], { outlierEjection });
  const client = new Client({
    providers,
    modelAliases,
    middleware: [createAliasRouting(modelAliases, { observer })],
  });
  const fail = () => toFailure(client.stream(requestFor("fast")).final());
  await fail();
  for await (const { event } of client.stream(requestFor("fast"))) if (event.case === "textDelta") break;
  expect(ejected).toEqual([]);
  failures.push(new ServerError("down", { provider: "one" }));
  await fail();
  expect(ejected).toEqual(["one"]);
});

it("chooses again for the retry of a generation whose target has failed", async () => {
  const modelAliases = createFast([1, 1], { models: ["sim-text:status=503"], fallbackOn: ["RATE_LIMIT"] });
  const client = route(modelAliases);
  const repeats = new RepeatLimit();
  expect((await toFailure(client.complete(requestFor("fast"), { repeats }))).kindName).toBe("SERVER");
  for (let left = 3; left > 0; left -= 1)
    expect((await client.complete(requestFor("fast"), { repeats })).provider).toBe("two");
  await client.close();
});

describe("the targets of other calls", () => {
  it("are the first one for counts of tokens, and those with the model of the first one for embeddings", async () => {
    const targets = [
      { provider: "one", model: "m" },
      { provider: "two", model: "other" },
      { provider: "three", model: "m" },
    ];
    const modelAliases = { fast: { targets } };
    const names = ["one", "two", "three"];
    const providers = Object.fromEntries(names.map((name) => [name, new ScriptedAdapter(name)]));
    const chosen: string[] = [];
    const observer = { chosen: (_alias: string, { provider }: CallTarget) => void chosen.push(provider) };
    const middleware = [createAliasRouting(modelAliases, { observer })];
    const client = new Client({ providers, defaultProvider: "one", modelAliases, middleware });
    await client.countTokens(requestFor("fast"));
    await client.countTokens(requestFor("fast"));
    expect(chosen.splice(0)).toEqual(["one", "one"]);
    for (let left = 4; left > 0; left -= 1) await toFailure(client.embed({ model: "fast", texts: ["text"] }));
    expect(chosen.toSorted()).toEqual(["one", "one", "three", "three"]);
  });
});

describe("the strategy cost", () => {
  it("takes the cheapest target for the size of the request, and one without a price last", async () => {
    const models = [
      { provider: "one", id: "long", prices: { input: 1, output: 100 } },
      { provider: "two", id: "short", prices: { input: 20, output: 1 } },
    ];
    const catalog = createCatalog({ models });
    const targets = [
      { provider: "two", model: "unknown" },
      { provider: "one", model: "long" },
      { provider: "two", model: "short" },
    ];
    const modelAliases = { fast: { targets, choose: "cost" as const } };
    const providers = { one: new ScriptedAdapter("one"), two: new ScriptedAdapter("two") };
    const middleware = [createAliasRouting(modelAliases, { catalog })];
    const client = new Client({ providers, defaultProvider: "one", modelAliases, middleware, catalog });
    const ask = async (text: string, maxTokens: number) =>
      (await client.complete({ model: "fast", messages: [userMessage(text)], maxTokens })).model;
    expect(await ask("short question", 1000)).toBe("short");
    expect(await ask("long question ".repeat(1000), 10)).toBe("long");
  });
});

/** Two providers that take a virtual time to answer, or fail. */
function createVirtual(rules: Partial<RoutedAlias>) {
  const delays: Record<string, number> = { one: 100, two: 100 };
  const failing = new Set<string>();
  const seen: string[] = [];
  const modelAliases = { fast: { targets: [{ model: "one/m" }, { model: "two/m" }], ...rules } };
  const observer = {
    ejected: (alias: string, { provider }: CallTarget, reason: string, seconds: number) =>
      void seen.push(`${alias} ${provider} ${reason} ${seconds} s`),
  };
  const started: string[] = [];
  const provider: Middleware = async (request, next, { signal }) => {
    started.push(request.provider);
    await new Promise((resolve, reject) => {
      setTimeout(resolve, delays[request.provider]);
      signal?.addEventListener("abort", () => reject(new AbortError("left")));
    });
    if (failing.has(request.provider)) throw new ServerError("down", { provider: request.provider });
    return next(request);
  };
  const client = new Client({
    providers: { one: new ScriptedAdapter("one"), two: new ScriptedAdapter("two") },
    defaultProvider: "one",
    modelAliases,
    middleware: [createAliasRouting(modelAliases, { observer }), provider],
  });
  const asked = async (count: number, options: CallOptions = {}): Promise<Record<string, number>> => {
    const providers: Record<string, number> = { one: 0, two: 0, failed: 0 };
    for (let left = count; left > 0; left -= 1) {
      const call = client.complete(requestFor("fast"), options).then(
        (response) => response.provider,
        () => "failed",
      );
      await vi.advanceTimersByTimeAsync(1000);
      const answered = await call;
      providers[answered] = (providers[answered] ?? 0) + 1;
    }
    return providers;
  };
  return { delays, failing, seen, started, asked };
}

describe("the strategy latency", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("tries each target, prefers the fastest, and finds one that has become faster", async () => {
    const { delays, asked } = createVirtual({ choose: "latency" });
    delays.one = 300;
    expect(await asked(2)).toMatchObject({ one: 1, two: 1 });
    expect(await asked(19)).toMatchObject({ one: 0, two: 19 });
    delays.one = 10;
    await asked(80);
    expect(await asked(19)).toMatchObject({ one: 18, two: 1 });
  });

  it("avoids a target that never answers before a hedged request does", async () => {
    const { delays, started, asked } = createVirtual({
      choose: "latency",
      hedge: { after: 0.5, budget: 1 },
    });
    delays.one = 100_000;
    expect(await asked(4)).toMatchObject({ two: 4 });
    expect(started).toEqual(["one", "two", "two", "two", "two"]);
  });

  it("avoids a target that fails at once", async () => {
    const { failing, asked } = createVirtual({ choose: "latency" });
    failing.add("one");
    await asked(2);
    expect(await asked(10)).toMatchObject({ two: 10, failed: 0 });
  });
});

describe("outlier ejection", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("leaves out a target that fails several times in a row, for a longer time each time", async () => {
    const { failing, seen, asked } = createVirtual({
      outlierEjection: { consecutiveFailures: 2, baseTime: 5, maxTime: 8, interval: 1000 },
    });
    failing.add("one");
    await asked(4);
    expect(seen.splice(0)).toEqual(["fast one consecutive_failures 5 s"]);
    await vi.advanceTimersByTimeAsync(5000);
    await asked(4);
    // Twice the time, but not more than the maximum.
    expect(seen.splice(0)).toEqual(["fast one consecutive_failures 8 s"]);
    failing.clear();
    await vi.advanceTimersByTimeAsync(8000);
    expect(await asked(4)).toMatchObject({ one: 2, two: 2 });
    expect(seen).toEqual([]);
  });

  it("leaves out at most the configured share of the targets, and none if all are out", async () => {
    const half = createVirtual({
      outlierEjection: { consecutiveFailures: 1, baseTime: 1000, maxTime: 1000 },
    });
    half.failing.add("one").add("two");
    await half.asked(4);
    expect(half.seen).toEqual(["fast one consecutive_failures 1000 s"]);
    const all = createVirtual({
      outlierEjection: { consecutiveFailures: 1, baseTime: 1000, maxTime: 1000, maxEjected: 1 },
    });
    all.failing.add("one").add("two");
    await all.asked(2);
    expect(all.seen).toHaveLength(2);
    all.failing.clear();
    expect(await all.asked(4)).toMatchObject({ one: 2, two: 2 });
  });

  it("ejects a target that is much slower than the others in an interval", async () => {
    const { delays, seen, asked } = createVirtual({
      outlierEjection: { latencyFactor: 3, minCalls: 4, interval: 20, baseTime: 60 },
    });
    delays.one = 400;
    await asked(24);
    expect(seen).toEqual(["fast one latency 60 s"]);
    expect(await asked(4)).toMatchObject({ one: 0, two: 4 });
  });

  it("ejects a target if too many of its calls in an interval fail", async () => {
    const { failing, seen, asked } = createVirtual({
      outlierEjection: { failureRatio: 0.4, minCalls: 4, interval: 20, baseTime: 60 },
    });
    for (let round = 0; round < 6; round += 1) {
      failing.delete("one");
      await asked(2);
      failing.add("one");
      await asked(2);
    }
    expect(seen).toEqual(["fast one failure_ratio 60 s"]);
  });
});

describe("createAliasRouting()", () => {
  const target = { provider: "one", model: "m" };

  it.each<[string, object, RegExp]>([
    ["no targets", { targets: [] }, /found 0 targets, expected 1 to 8/],
    [
      "nine targets",
      { targets: Array.from({ length: 9 }, (_, index) => ({ model: `m${index}` })) },
      /found 9 targets/,
    ],
    ["a target twice", { targets: [target, { model: "one/m" }] }, /targets\[1\] repeats an earlier target/],
    ["a negative weight", { targets: [target, { model: "n", weight: -1 }] }, /targets\[1\]\.weight is -1/],
    ["too large a weight", { targets: [{ ...target, weight: 1001 }] }, /from 0 to 1000/],
    ["weights that are all 0", { targets: [{ ...target, weight: 0 }] }, /all weights are 0/],
    [
      "weights without the strategy weight",
      { targets: [{ ...target, weight: 2 }, { model: "n" }], choose: "cost" },
      /targets\[0\]\.weight has no effect/,
    ],
    [
      "sticky fields without the strategy weight",
      { targets: [target], choose: "cost", stickyBy: ["caller"] },
      /stickyBy has no effect/,
    ],
    [
      "an ejection out of range",
      { targets: [target], outlierEjection: { maxEjected: 2 } },
      /maxEjected is 2; expected from 0 to 1/,
    ],
  ])("refuses an alias with %s", (_name, alias, message) => {
    const create = () => createAliasRouting({ fast: alias as RoutedAlias });
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(message);
  });
});
