import {
  AbortError,
  Client,
  ConfigurationError,
  createCircuitBreaker,
  createFallback,
  createRetry,
  InvalidRequestError,
  NetworkError,
  RequestTimeoutError,
  type SDKError,
  ServerError,
  StreamError,
  userMessage,
} from "outrigger";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { toRequest } from "../../src/client/request-input.ts";
import type { CallResult } from "../../src/middleware/breaker.ts";
import { toCallResult } from "../../src/middleware/circuit-breaker.ts";
import { refusal } from "../../src/middleware/refusals.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, getEvents, listAsked, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();
const rule = { minCalls: 2, openFor: 60 };

afterEach(() => simulator().clearRequests());

describe.each(calls)("createCircuitBreaker() around %s", (_kind, call) => {
  it.each([
    ["fails", "sim-text:status=503"],
    ["breaks its connections", "sim-text:drop=1"],
  ])("refuses calls to a model that %s, without asking the provider", async (_name, model) => {
    const client = getClient(simulator(), [createCircuitBreaker(rule)]);
    for (let count = 0; count < 2; count += 1) await toFailure(call(client, requestFor(model)));
    const refused = await toFailure(call(client, requestFor(model)));
    expect(refused).toBeInstanceOf(ServerError);
    expect(refused).toMatchObject({ retryable: true, provider: "" });
    expect(refused.message).toBe(
      `the circuit breaker of one, ${model} is open: too many calls failed; retry in 60 s`,
    );
    expect(refused.retryAfter).toBeGreaterThan(50);
    expect(listAsked(simulator())).toHaveLength(2);
    await call(client, requestFor("sim-text"));
    expect(await toFailure(call(client, requestFor(model, { provider: "two" })))).not.toEqual(refused);
    await client.close();
  });

  it.each([
    ["invalid requests", "sim-text:status=400"],
    ["rate limits", "sim-text:status=429"],
    ["wrong keys", "sim-text:status=401"],
  ])("does not open for %s", async (_name, model) => {
    const client = getClient(simulator(), [createCircuitBreaker(rule)]);
    for (let count = 0; count < 4; count += 1) await toFailure(call(client, requestFor(model)));
    expect(listAsked(simulator())).toHaveLength(4);
    await client.close();
  });

  it("does not open for time limits that callers set, nor for calls that they left", async () => {
    const slow = "sim-text:delay_ms=60000";
    const client = getClient(simulator(), [createCircuitBreaker({ ...rule, minCalls: 1 })]);
    await toFailure(call(client, requestFor(slow), { signal: AbortSignal.timeout(50) }));
    await toFailure(call(client, requestFor(slow, { timeouts: { requestMs: 50 } })));
    await toFailure(call(client, requestFor(slow), { signal: AbortSignal.abort() }));
    const error = await toFailure(call(client, requestFor(slow), { signal: AbortSignal.timeout(50) }));
    expect(error.kindName).toBe("REQUEST_TIMEOUT");
    await client.close();
  });

  it.each([
    ["a connection", new NetworkError("late"), { connectMs: 1 }],
    ["a request", new RequestTimeoutError("late"), { requestMs: 1 }],
    ["the time between bytes", new RequestTimeoutError("late"), { betweenBytesMs: 1 }],
  ])("opens for a time limit of %s only if the caller did not choose it", async (_name, late, timeouts) => {
    const one = new ScriptedAdapter("one", { failures: [late, late] });
    const client = new Client({ providers: { one }, middleware: [createCircuitBreaker({ minCalls: 1 })] });
    await toFailure(call(client, requestFor("m", { timeouts })));
    expect((await toFailure(call(client, requestFor("m")))).message).toBe("late");
    expect((await toFailure(call(client, requestFor("m")))).message).toContain("circuit breaker");
  });

  it("does not open for answers that are larger than this process takes", async () => {
    const failures = [1, 2, 3].map(() => new StreamError("too large", { retryable: false }));
    const one = new ScriptedAdapter("one", { failures });
    const client = new Client({ providers: { one }, middleware: [createCircuitBreaker({ minCalls: 1 })] });
    for (let count = 0; count < 3; count += 1) await toFailure(call(client, requestFor("m")));
    expect((await call(client, requestFor("m"))).model).toBe("m");
  });

  it("lets one call through after its time, and closes if the provider answers", async () => {
    const states: string[] = [];
    const observer = { circuit: (_target: unknown, state: string) => void states.push(state) };
    const breaker = createCircuitBreaker({ minCalls: 1, openFor: 1, observer });
    const one = new ScriptedAdapter("one", { failures: [new ServerError("down", { provider: "one" })] });
    const client = new Client({ providers: { one }, middleware: [breaker] });
    await toFailure(call(client, requestFor("m")));
    expect((await toFailure(call(client, requestFor("m")))).message).toContain("circuit breaker");
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect((await call(client, requestFor("m"))).model).toBe("m");
    expect(states).toEqual(["open", "half_open", "closed"]);
  });

  it("opens by default for 30 s if half of ten calls fail, counted from the first failure on", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const down = () => new ServerError("down", { provider: "one" });
    const failures: Error[] = [];
    const one = new ScriptedAdapter("one", { failures });
    const client = new Client({ providers: { one }, middleware: [createCircuitBreaker()] });
    for (let count = 0; count < 20; count += 1) await call(client, requestFor("m"));
    failures.push(...Array.from({ length: 4 }, down));
    for (let count = 0; count < 4; count += 1) await toFailure(call(client, requestFor("m")));
    for (let count = 0; count < 5; count += 1) await call(client, requestFor("m"));
    failures.push(down());
    expect((await toFailure(call(client, requestFor("m")))).message).toBe("down");
    const refused = await toFailure(call(client, requestFor("m")));
    expect(refused.message).toContain("circuit breaker");
    expect(refused.retryAfter).toBe(30);
    vi.advanceTimersByTime(29_999);
    await toFailure(call(client, requestFor("m")));
    expect(one.requests).toHaveLength(30);
    vi.advanceTimersByTime(1);
    await call(client, requestFor("m"));
    await call(client, requestFor("m"));
  });

  it("does not open for a call that succeeds after many that failed", async () => {
    const failures = Array.from({ length: 9 }, () => new ServerError("down", { provider: "one" }));
    const one = new ScriptedAdapter("one", { failures });
    const client = new Client({ providers: { one }, middleware: [createCircuitBreaker()] });
    for (let count = 0; count < 9; count += 1) await toFailure(call(client, requestFor("m")));
    for (let count = 0; count < 2; count += 1) await call(client, requestFor("m"));
  });

  it("forgets the failures of more than 30 s ago by default", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const failures = Array.from({ length: 10 }, () => new ServerError("down", { provider: "one" }));
    const one = new ScriptedAdapter("one", { failures });
    const client = new Client({ providers: { one }, middleware: [createCircuitBreaker()] });
    for (let count = 0; count < 9; count += 1) await toFailure(call(client, requestFor("m")));
    vi.advanceTimersByTime(33_001);
    await toFailure(call(client, requestFor("m")));
    await call(client, requestFor("m"));
  });

  it("sends calls to the next provider immediately, without a retry at the failing one", async () => {
    const client = getClient(simulator(), [
      createFallback({ targets: [{ provider: "two", model: "sim-text" }] }),
      createRetry({ baseDelay: 0.001 }),
      createCircuitBreaker(rule),
    ]);
    const model = "sim-text:status=503";
    const first = await call(client, requestFor(model));
    expect(first.attempts.map(({ error }) => error?.retryable)).toEqual([true, true, true]);
    simulator().clearRequests();
    const second = await call(client, requestFor(model));
    expect(second.attempts).toHaveLength(1);
    expect(listAsked(simulator())).toEqual(["/v1/messages sim-text"]);
    await client.close();
  });
});

describe("createCircuitBreaker() around a stream", () => {
  it("opens for streams that are cut", async () => {
    const client = getClient(simulator(), [createCircuitBreaker(rule)]);
    const request = requestFor("sim-text:cut_events=8");
    for (let count = 0; count < 2; count += 1) {
      expect((await getEvents(client.stream(request))).names).toContain("textDelta");
    }
    expect((await getEvents(client.stream(request))).error).toBeInstanceOf(ServerError);
    await client.close();
  });

  it("does not count a stream that its reader leaves as a success between failures", async () => {
    const down = () => new ServerError("down", { provider: "one" });
    const failures = [down()];
    const providers = { one: new ScriptedAdapter("one", { failures }) };
    const breaker = createCircuitBreaker({ minCalls: 2, failureRatio: 1 });
    const client = new Client({ providers, middleware: [breaker] });
    await toFailure(client.stream(requestFor("m")).final());
    for await (const _event of client.stream(requestFor("m"))) break;
    failures.push(down());
    await toFailure(client.stream(requestFor("m")).final());
    const refused = await toFailure(client.stream(requestFor("m")).final());
    expect(refused.message).toContain("the circuit breaker of one, m is open");
  });

  it("does not count a stream that its reader leaves", async () => {
    const one = new ScriptedAdapter("one");
    const breaker = createCircuitBreaker({ minCalls: 1 });
    const client = new Client({ providers: { one }, middleware: [breaker] });
    for (let count = 0; count < 3; count += 1) {
      for await (const _event of client.stream({ model: "m", messages: [userMessage("hi")] })) break;
    }
    expect(one).toMatchObject({ started: 3, ended: 3 });
  });
});

describe("the observer of createCircuitBreaker()", () => {
  it("learns when a circuit opens, and of the calls that it refuses", async () => {
    const seen: unknown[] = [];
    const observer = {
      circuit: (target: unknown, state: unknown) => seen.push([target, state]),
      refused: (target: unknown, reason: unknown) => seen.push([target, reason]),
    };
    const one = new ScriptedAdapter("one", { failures: [new ServerError("down", { provider: "one" })] });
    const middleware = [createCircuitBreaker({ minCalls: 1, observer })];
    const client = new Client({ providers: { one }, middleware });
    await toFailure(client.complete(requestFor("m")));
    await toFailure(client.complete(requestFor("m")));
    const target = { provider: "one", model: "m" };
    expect(seen).toEqual([
      [target, "open"],
      [target, "circuit_breaker"],
    ]);
  });
});

describe("the options of createCircuitBreaker()", () => {
  it.each([
    [{ failureRatio: 2 }, "the circuit breaker's failureRatio is 2; expected a number above 0 and at most 1"],
    [{ window: 0 }, "the circuit breaker's window is 0; expected a number above 0"],
    [{ minCalls: 0 }, "the circuit breaker's minCalls is 0; expected a number above 0"],
    [{ openFor: -1 }, "the circuit breaker's openFor is -1; expected a number above 0"],
  ])("are refused with their range: %o", (options, problem) => {
    expect(() => createCircuitBreaker(options)).toThrow(new ConfigurationError(problem));
  });

  it.each([
    { failureRatio: 0 },
    { failureRatio: 1.1 },
    { minCalls: 0 },
    { window: -1 },
    { openFor: Number.NaN },
  ])("are refused if one is out of range: %o", (options) => {
    expect(() => createCircuitBreaker(options)).toThrow(ConfigurationError);
  });
});

describe("toCallResult()", () => {
  const request = toRequest(requestFor("m"));
  const limited = toRequest(requestFor("m", { timeouts: { requestMs: 1 } }));
  const one = { provider: "one" };

  it.each<[string, SDKError, CallResult]>([
    ["an overload", new ServerError("down", one), "failure"],
    ["a broken connection", new NetworkError("broken"), "failure"],
    ["a cut stream", new StreamError("cut", { retryable: true }), "failure"],
    ["an answer that is too large here", new StreamError("too large", { retryable: false }), "unknown"],
    ["an invalid request", new InvalidRequestError("no", one), "success"],
    ["a request that was not sent", new InvalidRequestError("no"), "unknown"],
    ["a limit of this process", refusal(new ServerError("no", one)), "unknown"],
    ["a caller who left", new AbortError("left"), "unknown"],
  ])("classifies %s by what it says about the provider", (_name, error, result) => {
    expect(toCallResult(error, request, {})).toBe(result);
    expect(toCallResult(error, request, { signal: AbortSignal.abort() })).toBe("unknown");
  });

  it("takes the end of a time limit for a failure unless the caller set it", () => {
    const late = new RequestTimeoutError("late");
    expect(toCallResult(late, request, {})).toBe("failure");
    expect(toCallResult(late, limited, {})).toBe("unknown");
  });
});
