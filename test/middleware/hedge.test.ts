/** Hedged requests, over providers behind real sockets. */
import { getEventListeners } from "node:events";
import { create } from "@bufbuild/protobuf";
import {
  AbortError,
  accumulate,
  attemptsOf,
  Client,
  type ClientOptions,
  ConfigurationError,
  createAliasRouting,
  createBudget,
  createCircuitBreaker,
  createFallback,
  createHedge,
  createRetry,
  ErrorKind,
  EventStream,
  functionTool,
  type HedgeOptions,
  type HedgeResult,
  hostedTool,
  type Middleware,
  type MiddlewareMethods,
  onlyFor,
  type RequestInput,
  ServerError,
  textOf,
} from "outrigger";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { lazyBatches } from "../../src/core/batches.ts";
import { RepeatLimit } from "../../src/core/repeat-limit.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { LatencyWindow } from "../../src/middleware/latency-window.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { getEvents, START } from "../core/steps.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, listAsked, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();
afterEach(() => simulator().clearRequests());

/** A model of the simulator that does not answer in the time of a test. */
const SILENT = "sim-text:delay_ms=600000";

/** A client whose calls go to a model of the provider `two` if there is no output after a moment. */
function getHedged(second: string, changes: Partial<HedgeOptions> = {}, inner: readonly Middleware[] = []) {
  const results: string[] = [];
  const observer = {
    hedged: ({ provider }: { provider: string }, result: HedgeResult) =>
      void results.push(`${provider} ${result}`),
  };
  const client = getClient(simulator(), [
    createFallback({ targets: [{ provider: "two", model: second }] }),
    createHedge({ after: 0.03, budget: 1, observer, ...changes }),
    ...inner,
  ]);
  return { client, results };
}

/** Lets calls fail at once, so that none is sent again however slow the machine is. */
function createIdle() {
  const idle: { isIdle: boolean; readonly middleware: MiddlewareMethods } = {
    isIdle: true,
    middleware: {
      complete: (request, next) => (idle.isIdle ? Promise.reject(idleError()) : next(request)),
      stream(request, next) {
        if (idle.isIdle) throw idleError();
        return next(request);
      },
    },
  };
  return idle;
}

function idleError(): ServerError {
  return new ServerError("idle", { provider: "one" });
}

/** Waits until the simulator has seen that a request to a path was left. */
function waitForAbort(path: string) {
  return simulator().waitForClose({ where: (request) => request.path === path && request.aborted });
}

describe.each(calls)("createHedge() around %s", (_kind, call) => {
  it("answers with the second request if the first has no output, and closes the first one's connection", async () => {
    const { client, results } = getHedged("sim-text");
    const response = await call(client, requestFor(SILENT), { inferenceId: "inf_1" });
    expect(response).toMatchObject({
      provider: "two",
      inferenceId: "inf_1",
      attempts: [{ provider: "one", model: SILENT, error: { kind: ErrorKind.ABORT } }],
    });
    expect(textOf(response)).not.toBe("");
    expect(await waitForAbort("/v1/responses")).toMatchObject({ aborted: true });
    expect(results).toEqual(["two won"]);
    await client.close();
  });

  it("answers with the first request if it is sooner, and closes the second one's connection", async () => {
    const { client, results } = getHedged(SILENT);
    const response = await call(client, requestFor("sim-text:delay_ms=400"));
    expect(response).toMatchObject({
      provider: "one",
      attempts: [{ provider: "two", error: { kind: ErrorKind.ABORT } }],
    });
    await waitForAbort("/v1/messages");
    expect(results).toEqual(["two lost"]);
    await client.close();
  });

  it("leaves no listener behind at its caller's signal", async () => {
    const { client } = getHedged("sim-text", { after: 600 });
    const { signal } = new AbortController();
    await call(client, requestFor("sim-text"), { signal });
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await client.close();
  });

  it("sends nothing again if there is output in time", async () => {
    const { client, results } = getHedged(SILENT, { after: 60 });
    expect(await call(client, requestFor("sim-text"))).toMatchObject({ provider: "one", attempts: [] });
    expect(listAsked(simulator())).toHaveLength(1);
    expect(results).toEqual([]);
    await client.close();
  });

  it("waits for the other request if one fails, and fails with both errors if both do", async () => {
    const failing = getHedged("sim-text:status=500");
    const response = await call(failing.client, requestFor("sim-text:delay_ms=1000"));
    expect(response).toMatchObject({
      provider: "one",
      attempts: [{ provider: "two", error: { kind: ErrorKind.SERVER } }],
    });
    simulator().clearRequests();
    const error = await toFailure(call(failing.client, requestFor("sim-text:delay_ms=1000,status=403")));
    expect(error).toMatchObject({ kindName: "ACCESS_DENIED", cause: { kindName: "SERVER" } });
    expect(attemptsOf(error).map(({ provider }) => provider)).toEqual(["two", "one"]);
    // The fallback does not ask the target again that the hedge has asked.
    expect(listAsked(simulator())).toHaveLength(2);
    expect(failing.results).toEqual(["two failed", "two failed"]);
    await failing.client.close();
  });

  it("leaves a failure before the hedge's delay to the fallback", async () => {
    const { client, results } = getHedged("sim-text", { after: 60 });
    const response = await call(client, requestFor("sim-text:status=503"));
    expect(response).toMatchObject({ provider: "two", attempts: [{ provider: "one" }] });
    expect(results).toEqual([]);
    await client.close();
  });

  it("cancels all requests when the caller leaves or its deadline passes", async () => {
    const { client } = getHedged(SILENT);
    const controller = new AbortController();
    const left = toFailure(call(client, requestFor(SILENT), { signal: controller.signal }));
    await simulator().waitForRequest({ where: ({ path }) => path === "/v1/messages" });
    controller.abort();
    expect((await left).kindName).toBe("ABORT");
    await Promise.all([waitForAbort("/v1/responses"), waitForAbort("/v1/messages")]);
    simulator().clearRequests();
    const deadline = new AbortController();
    const late = toFailure(call(client, requestFor(SILENT), { signal: deadline.signal }));
    await simulator().waitForRequest({ where: ({ path }) => path === "/v1/messages" });
    deadline.abort(new DOMException("too late", "TimeoutError"));
    expect((await late).kindName).toBe("REQUEST_TIMEOUT");
    await Promise.all([waitForAbort("/v1/responses"), waitForAbort("/v1/messages")]);
    await client.close();
  });

  it("goes to the same model without a chain, and no further than its maximum", async () => {
    const share = createIdle();
    const client = getClient(simulator(), [
      createHedge({ after: 0.02, max: 2, budget: 1 }),
      share.middleware,
    ]);
    // Earlier calls save their unused share.
    for (let left = 5; left > 0; left -= 1) await toFailure(call(client, requestFor("sim-text")));
    share.isIdle = false;
    const controller = new AbortController();
    const left = toFailure(call(client, requestFor(SILENT), { signal: controller.signal }));
    await expect.poll(() => simulator().requests.length, { timeout: 15_000 }).toBe(3);
    await new Promise((resolve) => setTimeout(resolve, 100));
    controller.abort();
    await left;
    expect(listAsked(simulator())).toEqual(Array.from({ length: 3 }, () => `/v1/responses ${SILENT}`));
    await client.close();
  });

  it("sends at most the share of its budget", async () => {
    const client = getClient(simulator(), [createHedge({ after: 0.001, budget: 0.2 })]);
    const request = requestFor("sim-text:delay_ms=30");
    for (let left = 10; left > 0; left -= 1) await call(client, request);
    expect(listAsked(simulator())).toHaveLength(12);
    await client.close();
  });

  it("sends nothing to excluded providers", async () => {
    const { client } = getHedged("sim-text", { excludedProviders: ["two"] });
    const controller = new AbortController();
    const left = toFailure(call(client, requestFor(SILENT), { signal: controller.signal }));
    await expect.poll(() => simulator().requests.length, { timeout: 15_000 }).toBe(2);
    controller.abort();
    await left;
    expect(listAsked(simulator())).toEqual([`/v1/responses ${SILENT}`, `/v1/responses ${SILENT}`]);
    const none = getHedged("sim-text", { excludedProviders: ["one"] });
    simulator().clearRequests();
    await toFailure(call(none.client, requestFor(SILENT), { signal: AbortSignal.timeout(300) }));
    expect(listAsked(simulator())).toEqual([`/v1/responses ${SILENT}`]);
    await Promise.all([client.close(), none.client.close()]);
  });

  it("counts every request in budgets", async () => {
    const budget = onlyFor({ provider: "one" }, createBudget({ window: "month", requests: 1 }));
    const { client } = getHedged("sim-text", {}, [budget]);
    expect((await call(client, requestFor(SILENT))).provider).toBe("two");
    // The cancelled request was sent, so it counts.
    const { provider, attempts } = await call(client, requestFor("sim-text"));
    expect(provider).toBe("two");
    expect(attempts[0]?.error?.message).toContain("1 request per month");
    await client.close();
  });
});

describe("a hedged stream", () => {
  it("has only events of the request that won, also if the other one had begun", async () => {
    const { client } = getHedged("sim-text");
    const names: string[] = [];
    for await (const { event } of client.stream(requestFor("sim-text:stall_after=2"))) {
      if (event.case === "streamStart") names.push(event.value.provider);
      names.push(event.case ?? "");
    }
    expect(names.filter((name) => name === "streamStart")).toHaveLength(1);
    expect(names[0]).toBe("two");
    expect(names.at(-1)).toBe("finish");
    await waitForAbort("/v1/responses");
    await client.close();
  });

  it("closes the stream of a loser that begins after all, although it was cancelled", async () => {
    const one = new ScriptedAdapter("one");
    const streamed = one.stream.bind(one);
    const gate = Promise.withResolvers<void>();
    one.stream = (request, options) =>
      new EventStream(
        lazyBatches(async () => {
          await gate.promise;
          return streamed(request, options).batches();
        }),
      );
    const providers = { one, two: new ScriptedAdapter("two") };
    const middleware = [
      createFallback({ targets: [{ provider: "two", model: "m" }] }),
      createHedge({ after: 0.001, budget: 1 }),
    ];
    const client = new Client({ providers, defaultProvider: "one", middleware });
    expect(textOf(await accumulate(client.stream(requestFor("m"))))).toBe("two m");
    gate.resolve();
    await expect.poll(() => [one.started, one.ended]).toEqual([1, 1]);
  });

  it("leaves no listener behind at a signal that outlives the call", async () => {
    const { stream } = createHedge({ after: 600 });
    const one = new ScriptedAdapter("one");
    const { signal } = new AbortController();
    const request = create(RequestSchema, { provider: "one", model: "m" });
    await accumulate(stream(request, (sent, options) => one.stream(sent, options), { signal }));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("closes the connection of the winner when its reader leaves", async () => {
    const { client } = getHedged("sim-long:tokens=100000,rate=100");
    for await (const { event } of client.stream(requestFor(SILENT))) if (event.case === "textDelta") break;
    await Promise.all([waitForAbort("/v1/responses"), waitForAbort("/v1/messages")]);
    await client.close();
  });
});

describe("the beginning of a hedged stream without output", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A stream that begins, and then has no output for long. */
  async function* beginOnly() {
    yield getEvents([START]);
    await new Promise((resolve) => setTimeout(resolve, 3_600_000));
  }

  it.each<[string, HedgeOptions, number]>([
    ["the last request, if calls are sent again", { after: 10, max: 2 }, 25_000],
    ["the only request, if no call is sent again yet", { percentile: 95 }, 5000],
  ])("reaches the caller five seconds after %s", async (_name, options, heldMs) => {
    const { stream } = createHedge(options);
    const request = create(RequestSchema, { provider: "one", model: "m" });
    const events = stream(request, () => new EventStream(beginOnly()), {})[Symbol.asyncIterator]();
    let begun: string | undefined;
    void events.next().then(({ value }) => {
      begun = value?.event.case;
    });
    await vi.advanceTimersByTimeAsync(heldMs - 1);
    expect(begun).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(begun).toBe("streamStart");
  });
});

describe("an alias with a hedge", () => {
  it("sends a call again to its next target", async () => {
    const targets = [
      { provider: "one", model: SILENT },
      { provider: "two", model: "sim-text" },
    ];
    const modelAliases = { fast: { targets, hedge: { after: 0.03, budget: 1 } } };
    const options: ClientOptions = { modelAliases };
    const retry = createRetry({ baseDelay: 0.001 });
    const middleware = [createAliasRouting(modelAliases), retry, createCircuitBreaker()];
    const client = getClient(simulator(), middleware, options);
    for (const [, call] of calls) {
      const response = await call(client, requestFor("fast"));
      expect(response).toMatchObject({ provider: "two" });
      simulator().clearRequests();
    }
    await client.close();
  });
});

/** Two providers that take a virtual time to answer, and the names of those that got a request. */
function createVirtual(hedge: HedgeOptions, ...inner: Middleware[]) {
  const virtual = { delayMs: 5000, started: [] as string[] };
  const slow: Middleware = async (request, next, { signal }) => {
    virtual.started.push(`${request.provider}/${request.model}`);
    await new Promise((resolve, reject) => {
      setTimeout(resolve, virtual.delayMs);
      signal?.addEventListener("abort", () => reject(new AbortError("left")));
    });
    return next(request);
  };
  const client = new Client({
    providers: { one: new ScriptedAdapter("one"), two: new ScriptedAdapter("two") },
    defaultProvider: "one",
    middleware: [createFallback({ targets: [{ provider: "two" }] }), createHedge(hedge), ...inner, slow],
  });
  return Object.assign(virtual, { client });
}

/** Lets the virtual time pass until a call has ended. */
async function pass<Result>(call: Promise<Result>): Promise<Result> {
  await Promise.race([call.catch(() => {}), vi.advanceTimersByTimeAsync(30_000)]);
  return call;
}

describe.each(calls)("whether a call is sent again, by %s,", (_kind, call) => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const hosted = hostedTool({ provider: "one", config: { type: "web_search" } });
  const func = functionTool({ name: "f" });
  it.each<[string, Partial<RequestInput>, string[]]>([
    ["nothing", {}, ["one/m", "two/m"]],
    ["settings that only change the answer", toSettings({ store: false, user: "u" }), ["one/m", "two/m"]],
    ["hosted tools", { tools: [hosted] }, ["one/m"]],
    ["tools that only the provider knows", toSettings({ tools: [{ type: "x" }] }), ["one/m"]],
    ["MCP servers of the provider", toSettings({ mcp_servers: [{}] }), ["one/m"]],
    ["MCP servers beside functions", { tools: [func], ...toSettings({ mcp_servers: [{}] }) }, ["one/m"]],
    ["functions, also as settings", { tools: [func], ...toSettings({ tools: [{}] }) }, ["one/m", "two/m"]],
    ["an answer that the provider keeps", toSettings({ store: true }), ["one/m"]],
    ["an answer in the background", toSettings({ background: true }), ["one/m"]],
    ["a container", toSettings({ container: "c" }), ["one/m"]],
    ["a conversation that the provider keeps", toSettings({ conversation: "c" }), ["one/m"]],
    ["a search of the provider", toSettings({ web_search_options: {} }), ["one/m"]],
  ])("depends on the side effects that its provider may have: %s", async (_name, changes, asked) => {
    const virtual = createVirtual({ after: 0.03, budget: 1 });
    await pass(call(virtual.client, requestFor("m", changes)));
    expect(virtual.started).toEqual(asked);
  });

  it("depends on the limit of repeats, in which the further requests count", async () => {
    const virtual = createVirtual({ after: 0.03, max: 2, budget: 1 });
    for (let left = 5; left > 0; left -= 1) {
      virtual.delayMs = 1;
      await pass(call(virtual.client, requestFor("m")));
    }
    virtual.delayMs = 5000;
    virtual.started = [];
    const repeats = new RepeatLimit();
    for (let left = 99; left > 0; left -= 1) repeats.add();
    await pass(call(virtual.client, requestFor("m"), { repeats }));
    expect(virtual.started).toEqual(["one/m", "two/m"]);
  });

  it("is decided once, not again inside the hedge or in a chain there", async () => {
    const inner = createFallback({ targets: [{ model: "inner" }] });
    const failing: Middleware = async (request, next) => {
      const response = await next(request);
      throw new ServerError(response.model, { provider: "one" });
    };
    const hedge = createHedge({ after: 0.01, budget: 1 });
    const virtual = createVirtual({ after: 0.03, budget: 1 }, hedge, inner, failing);
    expect((await pass(toFailure(call(virtual.client, requestFor("m"))))).kindName).toBe("SERVER");
    expect(virtual.started).toEqual(["one/m", "two/m"]);
  });
});

function toSettings(settings: object): Partial<RequestInput> {
  return { providerOptionsJson: { one: JSON.stringify(settings) } };
}

describe("other hedged calls", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are not sent again if they count tokens or ask for vectors", async () => {
    const virtual = createVirtual({ after: 0.03, budget: 1 });
    await pass(virtual.client.countTokens(requestFor("m")));
    await pass(toFailure(virtual.client.embed({ model: "m", texts: ["text"] })));
    expect(virtual.started).toEqual(["one/m", "one/m"]);
  });
});

describe("the percentile of a hedge", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is computed from measured calls, and hedges none before there are enough", async () => {
    let delay = 100;
    const one = new ScriptedAdapter("one");
    const slow: Middleware = async (request, next) => {
      await new Promise((resolve) => setTimeout(resolve, delay));
      return next(request);
    };
    const client = new Client({
      providers: { one },
      middleware: [createHedge({ percentile: 95, budget: 1 }), slow],
    });
    const ask = async () => {
      const answer = client.complete(requestFor("m"));
      await vi.advanceTimersByTimeAsync(10_000);
      return (await answer).attempts.length;
    };
    delay = 5000;
    expect(await ask()).toBe(0);
    delay = 100;
    for (let left = 40; left > 0; left -= 1) expect(await ask()).toBe(0);
    delay = 5000;
    // Streams are measured by themselves: the time to their first output.
    const stream = accumulate(client.stream(requestFor("m")));
    expect((await pass(stream)).attempts).toEqual([]);
    expect(await ask()).toBe(1);
  });

  it("follows the latest measurements", () => {
    const window = new LatencyWindow();
    expect(window.getPercentile(50, 1)).toBeUndefined();
    for (let time = 1; time <= 100; time += 1) window.add(time);
    expect(window.getPercentile(50, 101)).toBeUndefined();
    expect([window.getPercentile(50, 20), window.getPercentile(95, 20)]).toEqual([50, 95]);
    for (let left = 256; left > 0; left -= 1) window.add(7);
    expect(window.getPercentile(99, 20)).toBe(7);
  });
});

it.each<[string, HedgeOptions, RegExp]>([
  ["no time", {}, /either after or percentile/],
  ["two times", { after: 1, percentile: 95 }, /either after or percentile/],
  ["no positive time", { after: 0 }, /after is 0; expected from 0.001 to 600/],
  ["a low percentile", { percentile: 10 }, /percentile is 10; expected from 50 to 99/],
  ["too many requests", { after: 1, max: 4 }, /max is 4; expected from 1 to 3/],
  ["too large a budget", { after: 1, budget: 2 }, /budget is 2; expected from 0.001 to 1/],
])("createHedge() refuses %s", (_name, options, message) => {
  expect(() => createHedge(options)).toThrow(ConfigurationError);
  expect(() => createHedge(options)).toThrow(message);
});
