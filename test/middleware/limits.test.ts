/** Rate limits and budgets around calls. */
import {
  type Catalog,
  Client,
  ConfigurationError,
  createBudget,
  createCatalog,
  createFallback,
  createRateLimit,
  createRetry,
  QuotaExceededError,
  RateLimitError,
  ServerError,
  StreamError,
  userMessage,
} from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import type { MiddlewareMethods } from "../../src/client/middleware.ts";
import type { CallTiming, WaitedFor } from "../../src/core/call-timing.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, getEvents, listAsked, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();
afterEach(() => simulator().clearRequests());

/** Prices so that a token of a prompt costs a millionth of a dollar, and one of an answer two. */
const catalog: Catalog = createCatalog({
  models: ["one", "two"].map((provider) => ({ id: "m", provider, prices: { input: 1, output: 2 } })),
});

/** A client whose answers have 3 input tokens and 2 output tokens. */
function scripted(
  middleware: MiddlewareMethods[],
  script: ConstructorParameters<typeof ScriptedAdapter>[1] = {},
) {
  const one = new ScriptedAdapter("one", script);
  return { one, client: new Client({ providers: { one }, middleware, catalog }) };
}

/** Records the reported waits. */
class NotedTiming implements CallTiming {
  readonly noted: string[] = [];

  beginWait(waitedFor: WaitedFor): void {
    this.noted.push(`begin ${waitedFor}`);
  }

  endWait(waitedFor: WaitedFor): void {
    this.noted.push(`end ${waitedFor}`);
  }
}

/** A request of 3 estimated input tokens, and as many output tokens as given. */
function request(maxTokens: number) {
  return { model: "m", maxTokens, messages: [userMessage("twelve bytes")] };
}

describe.each(calls)("createRateLimit() around %s", (_kind, call) => {
  it("refuses a call above the requests of a minute, with the time until the next one", async () => {
    const client = getClient(simulator(), [
      createRateLimit({ requestsPerMinute: 2, maxWait: 0, name: "one" }),
    ]);
    await call(client, requestFor("sim-text"));
    await call(client, requestFor("sim-text"));
    const error = await toFailure(call(client, requestFor("sim-text")));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ retryable: true, provider: "" });
    expect(error.message).toMatch(/^the limit of 2 requests per minute for one is reached; retry in \d+ s$/);
    expect(error.retryAfter).toBeGreaterThan(20);
    expect(listAsked(simulator())).toHaveLength(2);
    await client.close();
  });

  it("reports that a call waits for its turn, and no longer, also if it is refused", async () => {
    const { client } = scripted([createRateLimit({ requestsPerMinute: 1, maxWait: 0 })]);
    const timing = new NotedTiming();
    const waits = ["begin queue", "end queue"];
    await call(client, request(1), { timing });
    expect(timing.noted).toEqual(waits);
    await toFailure(call(client, request(1), { timing }));
    expect(timing.noted).toEqual([...waits, ...waits]);
  });

  it("reserves the tokens that a call may use, and gives back those that it did not use", async () => {
    const { client } = scripted([createRateLimit({ tokensPerMinute: 1000, maxWait: 0 })]);
    for (let count = 0; count < 5; count += 1) await call(client, request(900));
    const [first, second] = await Promise.allSettled([
      call(client, request(900)),
      call(client, request(900)),
    ]);
    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ reason: { message: expect.stringContaining("1000 tokens per minute") } });
  });

  it("allows a call that is larger than the limit when nothing else was used", async () => {
    const { client, one } = scripted([createRateLimit({ tokensPerMinute: 100, maxWait: 0 })]);
    await call(client, request(5000));
    expect(one.requests).toHaveLength(1);
  });

  it("gives the tokens of a failed call back, but not the request", async () => {
    const failures = [
      new ServerError("down", { provider: "one" }),
      new ServerError("down", { provider: "one" }),
    ];
    const limit = createRateLimit({ tokensPerMinute: 1000, requestsPerMinute: 3, maxWait: 0 });
    const { client } = scripted([limit], { failures });
    await toFailure(call(client, request(900)));
    await toFailure(call(client, request(900)));
    await call(client, request(900));
    expect((await toFailure(call(client, request(1)))).message).toContain("3 requests per minute");
  });

  it("gives the request of a call back that was not sent", async () => {
    const limit = createRateLimit({ requestsPerMinute: 1, maxWait: 0 });
    const { client, one } = scripted([limit, createBudget({ window: "month", tokens: 100 })]);
    expect(await toFailure(call(client, request(900)))).toBeInstanceOf(QuotaExceededError);
    await call(client, request(10));
    expect(one.requests).toHaveLength(1);
    expect(await toFailure(call(client, request(10)))).toBeInstanceOf(RateLimitError);
  });

  it("lets a call wait for ten seconds at most by default", async () => {
    const { client } = scripted([createRateLimit({ requestsPerMinute: 4 })]);
    for (let count = 0; count < 4; count += 1) await call(client, request(1));
    expect(await toFailure(call(client, request(1)))).toBeInstanceOf(RateLimitError);
    const quicker = scripted([createRateLimit({ requestsPerMinute: 60 })]);
    for (let count = 0; count < 60; count += 1) await call(quicker.client, request(1));
    expect(await call(quicker.client, request(1))).toBeDefined();
  });

  it("takes tokens and requests together, and names the one that is missing", async () => {
    const limits = { requestsPerMinute: 100, tokensPerMinute: 50, maxWait: 0 };
    const { client } = scripted([createRateLimit(limits)]);
    const [, second] = await Promise.allSettled([call(client, request(40)), call(client, request(40))]);
    expect(second).toMatchObject({
      reason: { message: expect.stringMatching(/^the limit of 50 tokens per minute for this client /) },
    });
  });

  it("lets a call wait for its turn", async () => {
    const { client } = scripted([createRateLimit({ requestsPerMinute: 1200, maxWait: 5 })]);
    const all = await Promise.all(Array.from({ length: 1202 }, () => call(client, request(1))));
    expect(all).toHaveLength(1202);
  });

  it("does not let a call wait beyond its caller's deadline", async () => {
    const { client } = scripted([createRateLimit({ requestsPerMinute: 1, maxWait: 3600 })]);
    await call(client, request(1));
    const error = await toFailure(call(client, request(1), { deadline: performance.now() + 5000 }));
    expect(error).toBeInstanceOf(RateLimitError);
  });

  it("is not retried, and sends calls to the next provider", async () => {
    const client = getClient(simulator(), [
      createFallback({ targets: [{ provider: "two" }] }),
      createRetry(),
      {
        complete: (sent, next, options) =>
          sent.provider === "one" ? limit.complete(sent, next, options) : next(sent),
        stream: (sent, next, options) =>
          sent.provider === "one" ? limit.stream(sent, next, options) : next(sent),
      },
    ]);
    const limit = createRateLimit({ requestsPerMinute: 1, maxWait: 0 });
    await call(client, requestFor("sim-text"));
    const response = await call(client, requestFor("sim-text"));
    expect(response.provider).toBe("two");
    expect(response.attempts).toHaveLength(1);
    await client.close();
  });
});

describe("createRateLimit() around a stream", () => {
  it("counts the prompt and the events of a stream that its reader leaves", async () => {
    const { client } = scripted([createRateLimit({ tokensPerMinute: 1000, maxWait: 0 })]);
    for await (const { event } of client.stream(request(990))) if (event.case === "textDelta") break;
    await client.complete(request(950));
    expect(await toFailure(client.complete(request(990)))).toBeInstanceOf(RateLimitError);
  });

  it("counts the reservation if a stream fails after output", async () => {
    const { client } = scripted([createRateLimit({ tokensPerMinute: 1000, maxWait: 0 })], {
      breaksWith: new StreamError("cut", { outputStarted: true }),
    });
    await getEvents(client.stream(request(990)));
    const { error } = await getEvents(client.stream(request(990)));
    expect(error).toBeInstanceOf(RateLimitError);
  });
});

describe.each(calls)("createBudget() around %s", (_kind, call) => {
  it.each([
    ["requests", { requests: 2 }, "2 requests"],
    ["tokens", { tokens: 20 }, "20 tokens"],
    ["money", { usd: 0.00003 }, "0.00003 US dollars"],
  ])("refuses a call that does not fit into the rest of its %s", async (_name, limits, described) => {
    const { client, one } = scripted([createBudget({ window: "month", ...limits, catalog, name: "one" })]);
    await call(client, request(10));
    await call(client, request(10));
    const error = await toFailure(call(client, request(10)));
    expect(error).toBeInstanceOf(QuotaExceededError);
    expect(error).toMatchObject({ retryable: false, provider: "" });
    expect(error.message).toMatch(
      new RegExp(
        `^the budget of ${described} per month for one has too little left for this call; it resets at \\d{4}-\\d\\d-01T`,
      ),
    );
    expect(one.requests).toHaveLength(2);
  });

  it("settles by the price that the provider reports or the catalog has", async () => {
    const { client } = scripted([createBudget({ window: "month", usd: 0.000028, catalog })]);
    for (let count = 0; count < 3; count += 1) await call(client, request(2));
    await toFailure(call(client, request(3)));
  });

  it("keeps the estimate of a call whose usage has no price", async () => {
    const estimates = {
      costOf: ({ outputTokens }: { outputTokens: number }) => (outputTokens === 10 ? 20_000n : undefined),
      getModelInfo: () => undefined,
    };
    const { client } = scripted([createBudget({ window: "month", usd: 0.00003, catalog: estimates })]);
    await call(client, request(10));
    expect(await toFailure(call(client, request(10)))).toBeInstanceOf(QuotaExceededError);
  });

  it("takes the prices of the model's owner if the provider has none", async () => {
    const owned = createCatalog({
      models: [{ id: "m", provider: "maker", prices: { input: 1, output: 2 } }],
    });
    const one = new ScriptedAdapter("one");
    const budget = createBudget({ window: "month", usd: 0.000028, catalog: owned });
    const client = new Client({ providers: { one }, middleware: [budget] });
    for (let count = 0; count < 3; count += 1) await call(client, request(2));
    expect(await toFailure(call(client, request(3)))).toBeInstanceOf(QuotaExceededError);
    expect(one.requests).toHaveLength(3);
  });

  it("prefers the prices of the provider to those of the model's owner", async () => {
    const resold = createCatalog({
      models: [
        { id: "m", provider: "maker", prices: { input: 100, output: 200 } },
        { id: "m", provider: "one", prices: { input: 1, output: 2 } },
      ],
    });
    expect(resold.getModelInfo("m")?.provider).toBe("maker");
    const budget = createBudget({ window: "month", usd: 0.000028, catalog: resold });
    const client = new Client({ providers: { one: new ScriptedAdapter("one") }, middleware: [budget] });
    for (let count = 0; count < 3; count += 1) await call(client, request(2));
    expect(await toFailure(call(client, request(3)))).toBeInstanceOf(QuotaExceededError);
  });

  it("does not count the request of a call that was not sent", async () => {
    const inner = createRateLimit({ tokensPerMinute: 100, maxWait: 0 });
    const { client, one } = scripted([createBudget({ window: "month", requests: 2 }), inner]);
    await call(client, request(10));
    expect(await toFailure(call(client, request(900)))).toBeInstanceOf(RateLimitError);
    await call(client, request(10));
    expect(await toFailure(call(client, request(10)))).toBeInstanceOf(QuotaExceededError);
    expect(one.requests).toHaveLength(2);
  });

  it("refuses a model without a price, unless configured to allow that", async () => {
    const { client } = scripted([createBudget({ window: "day", usd: 1, catalog })]);
    const error = await toFailure(call(client, { ...request(1), model: "unknown" }));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain("the price of one, unknown is unknown");
    const told = scripted([createBudget({ window: "day", usd: 1, catalog, allowUnknownPrices: true })]);
    expect(await call(told.client, { ...request(1), model: "unknown" })).toBeDefined();
  });

  it("reserves, so that calls at the same time do not exceed it together", async () => {
    const { client, one } = scripted([createBudget({ window: "month", tokens: 50 })]);
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => call(client, request(20))));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect(one.requests).toHaveLength(2);
  });

  it("counts nothing for a call that failed before output", async () => {
    const failures = Array.from({ length: 5 }, () => new ServerError("down", { provider: "one" }));
    const { client } = scripted([createBudget({ window: "month", tokens: 50 })], { failures });
    for (let count = 0; count < 5; count += 1) await toFailure(call(client, request(40)));
    await call(client, request(40));
  });
});

describe("an observer", () => {
  it("learns of each refused call, and by what", async () => {
    const refused: unknown[] = [];
    const observer = { refused: (target: unknown, reason: unknown) => refused.push([target, reason]) };
    const target = { provider: "one", model: "m" };
    const limit = scripted([createRateLimit({ requestsPerMinute: 1, maxWait: 0, observer })]);
    await limit.client.complete(request(1));
    expect((await toFailure(limit.client.complete(request(1)))).message).toContain(
      "the limit of 1 request per",
    );
    const budget = scripted([createBudget({ window: "day", requests: 1, observer })]);
    await budget.client.complete(request(1));
    expect((await toFailure(budget.client.complete(request(1)))).message).toContain(
      "the budget of 1 request per",
    );
    expect(refused).toEqual([
      [target, "rate_limit"],
      [target, "budget"],
    ]);
  });
});

describe("the message of a refusal", () => {
  it("names a model of any length by 128 characters", async () => {
    const { client } = scripted([createBudget({ window: "day", usd: 1, catalog })]);
    const { message } = await toFailure(client.complete({ ...request(1), model: "x".repeat(500) }));
    expect(message).toContain(`the price of one, ${"x".repeat(123)} is unknown;`);
  });

  it.each([
    [{ requestsPerMinute: 0 }, "the rate limit's requestsPerMinute is 0; expected at least 1"],
    [{ tokensPerMinute: Infinity }, "the rate limit's tokensPerMinute is Infinity; expected at least 1"],
    [{}, "a rate limit needs requestsPerMinute, tokensPerMinute or both"],
    [{ requestsPerMinute: 1, maxWait: 3601 }, "the rate limit's maxWait is 3601; expected 0 to 3600 seconds"],
    [{ requestsPerMinute: 1, maxWait: -1 }, "the rate limit's maxWait is -1; expected 0 to 3600 seconds"],
    [{ requestsPerMinute: 1, maxQueue: -1 }, "the rate limit's maxQueue is -1; expected 0 or more"],
  ])("of the options %j of a rate limit is %j", (options, message) => {
    expect(() => createRateLimit(options)).toThrow(new ConfigurationError(message));
  });

  it.each([
    [{ usd: 1_000_001 }, "the budget's usd is 1000001; expected above 0 and at most 1000000"],
    [{ tokens: 0 }, `the budget's tokens is 0; expected above 0 and at most ${Number.MAX_SAFE_INTEGER}`],
    [{}, "a budget needs requests, tokens, usd or several of them"],
  ])("of the options %j of a budget is %j", (limits, message) => {
    expect(() => createBudget({ window: "day", ...limits })).toThrow(new ConfigurationError(message));
  });

  it("is none at the bounds", () => {
    createRateLimit({ requestsPerMinute: 1, tokensPerMinute: 1, maxWait: 3600, maxQueue: 0 });
    createRateLimit({ requestsPerMinute: 1, maxWait: 0 });
    createBudget({ window: "day", usd: 1_000_000, tokens: Number.MAX_SAFE_INTEGER, requests: 1 });
  });
});

describe("the options", () => {
  it.each([
    [{}],
    [{ requestsPerMinute: 0 }],
    [{ tokensPerMinute: Number.NaN }],
    [{ requestsPerMinute: 1, maxWait: 4000 }],
    [{ requestsPerMinute: 1, maxQueue: -1 }],
  ])("of a rate limit are refused if they are out of range: %o", (options) => {
    expect(() => createRateLimit(options)).toThrow(ConfigurationError);
  });

  it.each([[{}], [{ usd: 0 }], [{ usd: 2_000_000 }], [{ tokens: -1 }], [{ requests: Number.NaN }]])(
    "of a budget are refused if they are out of range: %o",
    (limits) => {
      expect(() => createBudget({ window: "day", ...limits })).toThrow(ConfigurationError);
    },
  );
});
