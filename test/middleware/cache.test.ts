import { create } from "@bufbuild/protobuf";
import {
  accumulate,
  Client,
  ConfigurationError,
  createCache,
  createFallback,
  createRetry,
  FinalResponse,
  functionTool,
  hostedTool,
  type RequestInput,
  ServerError,
  StreamError,
  textOf,
  toolCallsOf,
  userMessage,
} from "outrigger";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createSourceForm } from "../../src/core/source-form.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { createLocalCacheStore, requestKey } from "../../src/middleware/cache.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, getEvents, listAsked, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();
afterEach(() => simulator().clearRequests());

describe.each(calls)("createCache() around %s", (_kind, call) => {
  it.each(calls)("answers a request that %s has answered, with the same content", async (_first, earlier) => {
    const client = getClient(simulator(), [createCache()]);
    const original = await earlier(client, requestFor("sim-text"), { inferenceId: "inf_1" });
    const hit = await call(client, requestFor("sim-text"), { inferenceId: "inf_2" });
    expect(listAsked(simulator())).toHaveLength(1);
    expect(hit).toMatchObject({
      id: original.id,
      model: original.model,
      provider: "one",
      inferenceId: "inf_2",
      createdAt: original.createdAt,
      finishReason: original.finishReason,
      message: original.message,
      usage: { inputTokens: original.usage?.inputTokens, costNanoUsd: 0n },
      warnings: [{ code: "cache_hit" }],
    });
    expect(hit.rateLimit).toBeUndefined();
    expect(textOf(hit)).not.toBe("");
    await client.close();
  });

  it("asks the provider again for everything that may change the answer", async () => {
    const client = getClient(simulator(), [createCache()]);
    const requests: RequestInput[] = [
      requestFor("sim-text"),
      requestFor("sim-text", { provider: "two" }),
      requestFor("sim-echo"),
      requestFor("sim-text", { maxTokens: 5000 }),
      requestFor("sim-text", { messages: [userMessage("Something else.")] }),
      requestFor("sim-text", { metadata: { user: "a" } }),
      requestFor("sim-text", { providerOptions: { one: { user: "b" } } }),
    ];
    for (const request of [...requests, ...requests]) await call(client, request);
    expect(listAsked(simulator())).toHaveLength(requests.length);
    await client.close();
  });

  it("reuses an answer whatever the time limits and the final response of a stream", async () => {
    const client = getClient(simulator(), [createCache()]);
    await call(client, requestFor("sim-text"));
    await call(client, requestFor("sim-text", { timeouts: { requestMs: 5000 } }));
    await call(client, requestFor("sim-text", { finalResponse: FinalResponse.WITHOUT_CONTENT }));
    expect(listAsked(simulator())).toHaveLength(1);
    await client.close();
  });

  it.each([
    ["that was cut by the token limit", requestFor("sim-long:tokens=50,rate=100000", { maxTokens: 16 })],
    ["that a filter stopped", requestFor("sim-text:stop=content_filter")],
    ["with raw JSON", requestFor("sim-text", { includeRaw: true })],
    [
      "to a request with hosted tools",
      requestFor("sim-text", { tools: [hostedTool({ provider: "one", config: { type: "web_search" } })] }),
    ],
  ])("does not keep an answer %s", async (_name, request) => {
    const client = getClient(simulator(), [createCache()]);
    await call(client, request);
    await call(client, request);
    expect(listAsked(simulator())).toHaveLength(2);
    await client.close();
  });

  it("does not keep an answer that ends in an ordinary way with the last token that is allowed", async () => {
    const one = new ScriptedAdapter("one");
    const client = new Client({ providers: { one }, middleware: [createCache()] });
    const first = await call(client, requestFor("m", { maxTokens: 2 }));
    expect(first.warnings).toMatchObject([{ code: "limit_reached" }]);
    await call(client, requestFor("m", { maxTokens: 2 }));
    expect(one.requests).toHaveLength(2);
    await call(client, requestFor("m", { maxTokens: 3 }));
    await call(client, requestFor("m", { maxTokens: 3 }));
    expect(one.requests).toHaveLength(3);
  });

  it("does not list the attempts of the first call in later answers", async () => {
    const failures = [new ServerError("down", { provider: "one" })];
    const one = new ScriptedAdapter("one", { failures });
    const middleware = [createCache(), createRetry({ baseDelay: 0.001 })];
    const client = new Client({ providers: { one }, middleware });
    expect((await call(client, requestFor("m"))).attempts).toHaveLength(1);
    expect(await call(client, requestFor("m"))).toMatchObject({
      attempts: [],
      warnings: [{ code: "cache_hit" }],
    });
    expect(one.requests).toHaveLength(2);
  });

  it("does not keep errors", async () => {
    const client = getClient(simulator(), [createCache()]);
    const request = requestFor(`sim-text:status=503,times=1,tokens=${_kind.length + 20}`);
    await toFailure(call(client, request));
    expect((await call(client, request)).warnings).toEqual([]);
    await client.close();
  });

  it("keeps answers that call tools only if configured to", async () => {
    const tools = [functionTool({ name: "now", description: "The time.", parameters: { type: "object" } })];
    const request = requestFor("sim-tools", { tools });
    for (const [options, asked] of [
      [{}, 2],
      [{ toolCalls: false }, 2],
      [{ toolCalls: true }, 1],
    ] as const) {
      const client = getClient(simulator(), [createCache(options)]);
      const first = await call(client, request);
      const second = await call(client, request);
      expect(toolCallsOf(second)).toHaveLength(1);
      expect(toolCallsOf(second)[0]?.id === toolCallsOf(first)[0]?.id).toBe(asked === 1);
      expect(listAsked(simulator())).toHaveLength(asked);
      simulator().clearRequests();
      await client.close();
    }
  });

  it("reports the age of an answer, and expires it after five minutes by default", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const one = new ScriptedAdapter("one");
    const client = new Client({ providers: { one }, middleware: [createCache()] });
    await call(client, requestFor("m"));
    vi.advanceTimersByTime(7000);
    const hit = await call(client, requestFor("m"));
    expect(hit.warnings[0]?.message).toBe("the answer is from the cache and 7 s old");
    vi.advanceTimersByTime(292_999);
    expect((await call(client, requestFor("m"))).warnings).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect((await call(client, requestFor("m"))).warnings).toEqual([]);
    expect(one.requests).toHaveLength(2);
  });

  it("notifies its observer of hits and misses", async () => {
    const results: string[] = [];
    const cache = createCache({ observer: { cache: (_target, result) => void results.push(result) } });
    const client = new Client({ providers: { one: new ScriptedAdapter("one") }, middleware: [cache] });
    for (const model of ["m", "m", "n"]) await call(client, requestFor(model));
    expect(results).toEqual(["miss", "hit", "miss"]);
  });

  it("gives every caller a separate answer", async () => {
    const client = getClient(simulator(), [createCache()]);
    const first = await call(client, requestFor("sim-text"));
    const text = textOf(first);
    first.message?.content.splice(0);
    const second = await call(client, requestFor("sim-text"));
    second.message?.content.splice(0);
    expect(textOf(await call(client, requestFor("sim-text")))).toBe(text);
    await client.close();
  });

  it("keeps the answer of the next provider for that provider alone", async () => {
    const target = { provider: "two", model: "sim-text" };
    const client = getClient(simulator(), [createFallback({ targets: [target] }), createCache()]);
    const request = requestFor("sim-text:status=503");
    await call(client, request);
    const again = await call(client, request);
    expect(listAsked(simulator())).toEqual([
      "/v1/responses sim-text:status=503",
      "/v1/messages sim-text",
      "/v1/responses sim-text:status=503",
    ]);
    expect(again).toMatchObject({ warnings: [{ code: "cache_hit" }], attempts: [{ provider: "one" }] });
    await client.close();
  });
});

describe("createCache()", () => {
  it("replays an answer under the laws of a stream, and without content if the request says so", async () => {
    const client = getClient(simulator(), [createCache()]);
    const whole = await client.complete(requestFor("sim-reasoning"));
    const replayed = await accumulate(client.stream(requestFor("sim-reasoning")));
    expect(replayed.message).toEqual(whole.message);
    const request = requestFor("sim-reasoning", { finalResponse: FinalResponse.WITHOUT_CONTENT });
    expect((await accumulate(client.stream(request))).message).toEqual(whole.message);
    expect(listAsked(simulator())).toHaveLength(1);
    await client.close();
  });

  it("does not keep a stream that breaks or that its reader leaves", async () => {
    const one = new ScriptedAdapter("one", { breaksWith: new StreamError("cut") });
    const client = new Client({ providers: { one }, middleware: [createCache()] });
    await getEvents(client.stream(requestFor("m")));
    for await (const { event } of client.stream(requestFor("m"))) if (event.case === "streamStart") break;
    await getEvents(client.stream(requestFor("m")));
    expect(one.requests).toHaveLength(3);
  });

  it("lets a caller disconnect without an effect on identical requests of others", async () => {
    const client = getClient(simulator(), [createCache()]);
    const controller = new AbortController();
    const request = requestFor("sim-text:delay_ms=100");
    const leaving = toFailure(client.complete(request, { signal: controller.signal }));
    const staying = client.complete(request);
    controller.abort();
    expect((await leaving).kindName).toBe("ABORT");
    expect(textOf(await staying)).not.toBe("");
    await client.close();
  });

  it.each([{ maxAge: 0 }, { maxBytes: -1 }, { maxEntries: Number.NaN }])(
    "refuses the options %o",
    (options) => {
      expect(() => createCache(options)).toThrow(ConfigurationError);
    },
  );
});

it("A cache keeps answers of 16 MiB by default", () => {
  const store = createLocalCacheStore({});
  const half = new Uint8Array(8 * 1024 * 1024);
  const has = (key: string) => store.get(key) !== undefined;
  for (const key of ["a", "b"]) store.set(key, half);
  expect([has("a"), has("b")]).toEqual([true, true]);
  store.set("c", half);
  expect([has("a"), has("b")]).toEqual([false, true]);
});

describe("requestKey()", () => {
  it("depends on the members of a source form that may change the answer", () => {
    const request = create(RequestSchema);
    const toKey = (members: Record<string, string>, api = "openai-chat") => {
      const restored = { hasReasoning: false, hasCallState: false };
      const getMembers = () => new Map(Object.entries(members));
      return requestKey(request, createSourceForm({ api, request, headers: {}, getMembers, restored }));
    };
    const key = toKey({ model: '"m"', seed: "1" });
    expect(toKey({ model: '"other"', seed: "1", stream: "true", stream_options: "{}" })).toBe(key);
    expect(toKey({ model: '"m"', seed: "2" })).not.toBe(key);
    expect(toKey({ model: '"m"', seed: "1", logit_bias: "{}" })).not.toBe(key);
    expect(toKey({ model: '"m"', seed: "1" }, "anthropic-messages")).not.toBe(key);
    expect(requestKey(request)).not.toBe(key);
  });

  it("does not depend on the order of maps", () => {
    const toKey = (metadata: Record<string, string>) => requestKey(create(RequestSchema, { metadata }));
    expect(toKey({ a: "1", b: "2" })).toBe(toKey({ b: "2", a: "1" }));
    expect(toKey({ a: "1", b: "2" })).not.toBe(toKey({ a: "2", b: "1" }));
    const orders = ["abc", "acb", "bac", "bca", "cab", "cba"];
    const keys = orders.map((order) => toKey(Object.fromEntries([...order].map((name) => [name, name]))));
    expect(new Set(keys).size).toBe(1);
  });
});
