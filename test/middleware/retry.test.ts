import { getEventListeners } from "node:events";
import { accumulate, attemptsOf, Client, ConfigurationError, createFallback, createRetry } from "outrigger";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { MiddlewareMethods } from "../../src/client/middleware.ts";
import { InternalError, InvalidRequestError, ServerError } from "../../src/core/errors.ts";
import type { MiddlewareObserver } from "../../src/middleware/observer.ts";
import { refusal } from "../../src/middleware/refusals.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, getEvents, listAsked, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();
const quick = { baseDelay: 0.001, jitter: false };

afterEach(() => simulator().clearRequests());

describe.each(calls)("createRetry() around %s", (kind, call) => {
  it.each([
    ["an overloaded provider", `status=503,times=2,tokens=${kind.length}`],
    ["a rate limit", `status=429,retry_after=0,times=2,tokens=${kind.length}`],
    ["a broken connection", `drop=1,times=2,tokens=${kind.length}`],
  ])("makes a call again after %s, and lists the attempts", async (_name, options) => {
    const client = getClient(simulator(), [createRetry(quick)]);
    const model = `sim-text:${options}`;
    const response = await call(client, requestFor(model), { inferenceId: "inf_1" });
    expect(listAsked(simulator())).toHaveLength(3);
    expect(response.attempts).toMatchObject([
      { provider: "one", model, inferenceId: "inf_1" },
      { provider: "one", model, inferenceId: "inf_1" },
    ]);
    await client.close();
  });

  it.each([0.02, 0.001])("notes the wait of %d s after each attempt but the last", async (baseDelay) => {
    const client = getClient(simulator(), [createRetry({ ...quick, baseDelay, maxRetries: 1 })]);
    const error = await toFailure(call(client, requestFor("sim-text:status=503")));
    const waits = attemptsOf(error).map(({ retryDelay }) => retryDelay?.nanos);
    expect(waits).toEqual([baseDelay * 1e9, undefined]);
    expect(error.cause).toMatchObject({ kindName: "SERVER" });
    await client.close();
  });

  it("does not repeat a call that a retry cannot help", async () => {
    const client = getClient(simulator(), [createRetry(quick)]);
    await toFailure(call(client, requestFor("sim-text:status=400")));
    await toFailure(call(client, requestFor("sim-text:status=401")));
    expect(listAsked(simulator())).toHaveLength(2);
    await client.close();
  });

  it("does not wait if the caller's deadline would run out first", async () => {
    const client = getClient(simulator(), [createRetry({ ...quick, baseDelay: 30 })]);
    const deadline = performance.now() + 10_000;
    await toFailure(call(client, requestFor("sim-text:status=503"), { deadline }));
    expect(listAsked(simulator())).toHaveLength(1);
    await client.close();
  });

  it("stops waiting when the caller leaves, and leaves no listener and no timer", async () => {
    const controller = new AbortController();
    const onRetry = () => void setImmediate(() => controller.abort());
    const client = getClient(simulator(), [createRetry({ ...quick, baseDelay: 60, onRetry })]);
    const error = await toFailure(
      call(client, requestFor("sim-text:status=503"), { signal: controller.signal }),
    );
    expect(error.kindName).toBe("ABORT");
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    expect(listAsked(simulator())).toHaveLength(1);
    await client.close();
  });

  it("reports the delay to the observer, then waits before it sends the call again", async () => {
    const retries: unknown[] = [];
    const observer: MiddlewareObserver = {
      retry: ({ model }, { kindName }, delay) => void retries.push([model, kindName, delay]),
    };
    const one = new ScriptedAdapter("one", { failures: [new ServerError("down", { provider: "one" })] });
    const middleware = [createRetry({ baseDelay: 60, jitter: false, observer })];
    const client = new Client({ providers: { one }, middleware });
    const controller = new AbortController();
    const failure = toFailure(call(client, requestFor("m"), { signal: controller.signal }));
    await vi.waitFor(() => expect(retries).toEqual([["m", "SERVER", 60]]), { timeout: 10_000 });
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    expect(one.requests).toHaveLength(1);
    controller.abort();
    expect((await failure).kindName).toBe("ABORT");
  });

  it("retries up to its budget when many calls fail", async () => {
    const client = getClient(simulator(), [
      createRetry({ ...quick, maxRetries: 5, budget: { ratio: 0.5, minPerSecond: 0 } }),
    ]);
    const failing = Array.from({ length: 20 }, () => call(client, requestFor("sim-text:status=503")));
    await Promise.all(failing.map(toFailure));
    expect(listAsked(simulator())).toHaveLength(20);
    for (let count = 0; count < 20; count += 1)
      await toFailure(call(client, requestFor("sim-text:status=503")));
    expect(listAsked(simulator())).toHaveLength(50);
    await toFailure(call(client, requestFor("sim-text:status=503", { provider: "two" })));
    expect(listAsked(simulator())).toHaveLength(51);
    await client.close();
  });

  it("retries without a budget if it is switched off", async () => {
    const client = getClient(simulator(), [createRetry({ ...quick, budget: false })]);
    const failing = Array.from({ length: 20 }, () => call(client, requestFor("sim-text:status=503")));
    await Promise.all(failing.map(toFailure));
    expect(listAsked(simulator())).toHaveLength(60);
    await client.close();
  });

  it("uses up its retries before the next provider is asked, and all attempts are listed", async () => {
    const fallback = createFallback({ targets: [{ provider: "two", model: "sim-text" }] });
    const client = getClient(simulator(), [fallback, createRetry({ ...quick, maxRetries: 1 })]);
    const response = await call(client, requestFor("sim-text:status=503"));
    expect(response.provider).toBe("two");
    expect(response.attempts.map(({ provider }) => provider)).toEqual(["one", "one"]);
    await client.close();
  });

  it("makes a hundred more calls at most, however retries and fallbacks are nested", async () => {
    const targets = Array.from({ length: 8 }, (_, index) => ({ model: `m${index}` }));
    const failures = Array.from({ length: 500 }, () => new ServerError("down", { provider: "one" }));
    const one = new ScriptedAdapter("one", { failures });
    const retry = () => createRetry({ maxRetries: 10, baseDelay: 0, budget: false });
    const middleware = [retry(), createFallback({ targets }), retry()];
    const client = new Client({ providers: { one }, middleware });
    expect((await toFailure(call(client, requestFor("m")))).message).toBe("down");
    expect(one.requests).toHaveLength(101);
  });

  it("keeps the bug behind an internal error as its cause", async () => {
    const bug = new TypeError("a bug");
    const failures = [new ServerError("down", { provider: "one" }), new InternalError("x", { cause: bug })];
    const one = new ScriptedAdapter("one", { failures });
    const client = new Client({ providers: { one }, middleware: [createRetry(quick)] });
    const error = await toFailure(call(client, requestFor("m")));
    expect(error).toMatchObject({ kindName: "INTERNAL", cause: bug });
    expect(attemptsOf(error)).toHaveLength(2);
  });

  it("throws the error of a call that was not repeated as it is", async () => {
    const wrong = new InvalidRequestError("wrong", { cause: new ServerError("deeper") });
    const one = new ScriptedAdapter("one", { failures: [wrong] });
    const client = new Client({ providers: { one }, middleware: [createRetry(quick)] });
    expect(await toFailure(call(client, requestFor("m")))).toBe(wrong);
  });

  it("throws the failure of a call whose caller left meanwhile, without a retry", async () => {
    const controller = new AbortController();
    const fail = vi.fn(() => {
      controller.abort();
      throw new ServerError("down", { provider: "one" });
    });
    const onRetry = vi.fn();
    const middleware = [createRetry({ ...quick, onRetry }), { complete: fail, stream: fail }];
    const client = getClient(simulator(), middleware);
    const error = await toFailure(call(client, requestFor("sim-text"), { signal: controller.signal }));
    expect(error.message).toBe("down");
    expect(onRetry).not.toHaveBeenCalled();
    await client.close();
  });

  it("does not repeat a call that this process refused", async () => {
    const refuse = vi.fn(() => {
      throw refusal(new ServerError("the circuit breaker is open", { retryAfter: 0 }));
    });
    const refusing: MiddlewareMethods = { complete: refuse, stream: refuse };
    const client = getClient(simulator(), [createRetry(quick), refusing]);
    expect((await toFailure(call(client, requestFor("sim-text")))).message).toContain("breaker");
    expect(refuse).toHaveBeenCalledOnce();
    await client.close();
  });
});

describe("createRetry() around a stream", () => {
  it("repeats a stream that the provider accepted and that failed before output", async () => {
    const client = getClient(simulator(), [createRetry(quick)]);
    const response = await accumulate(client.stream(requestFor("sim-text:error_after=2,times=1")));
    expect(response.attempts).toHaveLength(1);
    await client.close();
  });

  it("closes the stream of a repeated call when its reader leaves", async () => {
    const failures = [new ServerError("busy", { provider: "one" })];
    const adapter = new ScriptedAdapter("one", { failures });
    const client = new Client({ providers: { one: adapter }, middleware: [createRetry(quick)] });
    for await (const { event } of client.stream(requestFor("m"))) if (event.case === "textDelta") break;
    expect([adapter.requests.length, adapter.started, adapter.ended]).toEqual([2, 1, 1]);
  });

  it("never repeats a stream after output", async () => {
    const client = getClient(simulator(), [createRetry(quick)]);
    const { names, error } = await getEvents(client.stream(requestFor("sim-text:cut_events=8")));
    expect(names.filter((name) => name === "streamStart")).toHaveLength(1);
    expect(error).toMatchObject({ kindName: "STREAM", outputStarted: true });
    expect(listAsked(simulator())).toHaveLength(1);
    await client.close();
  });
});

describe("the options of createRetry()", () => {
  it.each([{ maxRetries: 0 }, { maxRetries: 10, baseDelay: 0, maxDelay: 0 }])(
    "are accepted at the ends of their range: %o",
    (options) => {
      expect(() => createRetry(options)).not.toThrow();
    },
  );

  it.each([
    { maxRetries: -1 },
    { maxRetries: 11 },
    { maxRetries: 1.5 },
    { baseDelay: Number.NaN },
    { budget: { ratio: -1 } },
  ])("are refused if a number is wrong: %o", (options) => {
    expect(() => createRetry(options)).toThrow(ConfigurationError);
  });
});
