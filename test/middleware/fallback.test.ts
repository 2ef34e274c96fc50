import { create } from "@bufbuild/protobuf";
import {
  accumulate,
  attemptsOf,
  Client,
  ConfigurationError,
  createAliasRouting,
  createFallback,
  createRetry,
  ErrorKind,
  type FallbackOptions,
  InvalidRequestError,
  OpenAIAdapter,
  onlyFor,
  type SDKError,
  ServerError,
  StreamError,
  textOf,
  userMessage,
} from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import type { MiddlewareMethods } from "../../src/client/middleware.ts";
import { AttemptSchema } from "../../src/gen/outrigger/v1/attempt_pb.ts";
import { UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";
import { MAX_ATTEMPTS, withAttempts } from "../../src/middleware/attempts.ts";
import { DEFAULT_FALLBACK_KINDS, fallbackKinds, takeNextTarget } from "../../src/middleware/fallback.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, getEvents, listAsked, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();
const toTwo: FallbackOptions = { targets: [{ provider: "two", model: "sim-text" }] };

afterEach(() => simulator().clearRequests());

describe.each(calls)("createFallback() around %s", (kind, call) => {
  it.each([
    ["is overloaded", "sim-text:status=503", "SERVER"],
    ["limits the rate", "sim-text:status=429", "RATE_LIMIT"],
    ["has no credit", "sim-text:status=429,code=insufficient_quota", "QUOTA_EXCEEDED"],
    ["rejects the key", "sim-text:status=401", "AUTHENTICATION"],
    ["denies access", "sim-text:status=403", "ACCESS_DENIED"],
    ["has no such model", "sim-nothing", "NOT_FOUND"],
    ["closes the connection", "sim-text:drop=1", "NETWORK"],
    ["gives up by itself", "sim-text:status=408", "REQUEST_TIMEOUT"],
  ] as const)("asks the next provider if the first one %s", async (_name, model, errorKind) => {
    const client = getClient(simulator(), [createFallback(toTwo)]);
    const response = await call(client, requestFor(model), { inferenceId: "inf_1" });
    expect(response).toMatchObject({ provider: "two", inferenceId: "inf_1" });
    expect(listAsked(simulator())).toEqual([`/v1/responses ${model}`, "/v1/messages sim-text"]);
    expect(response.attempts).toMatchObject([
      { provider: "one", model, inferenceId: "inf_1", step: 0, error: { kind: ErrorKind[errorKind] } },
    ]);
    expect(response.attempts[0]?.startedAt).toBeDefined();
    expect(response.attempts[0]?.elapsed).toBeDefined();
    expect(response.attempts[0]?.retryDelay).toBeUndefined();
    await client.close();
  });

  it("does not repeat a call whose failed attempt had output, which was paid", async () => {
    const failures = [new ServerError("broke off", { provider: "one", outputStarted: true })];
    const adapter = new ScriptedAdapter("one", { failures });
    const middleware = [createFallback({ targets: [{ model: "b" }] })];
    const client = new Client({ providers: { one: adapter }, middleware });
    expect((await toFailure(call(client, requestFor("a")))).message).toBe("broke off");
    expect(adapter.requests).toHaveLength(1);
  });

  it.each([
    ["an invalid request", "sim-text:status=400"],
    ["a conversation that is too long", "sim-text:status=400,code=context_length_exceeded"],
  ])("does not ask the next provider for %s, unless configured to", async (_name, model) => {
    const client = getClient(simulator(), [createFallback(toTwo)]);
    await toFailure(call(client, requestFor(model)));
    expect(listAsked(simulator())).toHaveLength(1);
    const told = getClient(simulator(), [
      createFallback({ ...toTwo, on: ["INVALID_REQUEST", "CONTEXT_LENGTH"] }),
    ]);
    expect(await call(told, requestFor(model))).toMatchObject({ provider: "two" });
    await Promise.all([client.close(), told.close()]);
  });

  it("lists no attempts if the first provider answers", async () => {
    const client = getClient(simulator(), [createFallback(toTwo)]);
    expect(await call(client, requestFor("sim-text"))).toMatchObject({ provider: "one", attempts: [] });
    await client.close();
  });

  it("throws the last error if all fail, with the one before as its cause and all attempts noted", async () => {
    const targets = [{ provider: "two", model: "sim-text:status=529" }, { model: "sim-text:status=403" }];
    const client = getClient(simulator(), [createFallback({ targets })]);
    const error = await toFailure(call(client, requestFor("sim-text:status=429")));
    expect(error).toMatchObject({
      kindName: "ACCESS_DENIED",
      provider: "one",
      cause: { kindName: "SERVER", provider: "two", cause: { kindName: "RATE_LIMIT", provider: "one" } },
    });
    expect(error.toProto().cause?.cause?.kind).toBe(ErrorKind.RATE_LIMIT);
    expect(
      attemptsOf(error).map(({ provider, error: cause }) => [provider, cause?.kind, cause?.cause]),
    ).toEqual([
      ["one", ErrorKind.RATE_LIMIT, undefined],
      ["two", ErrorKind.SERVER, undefined],
      ["one", ErrorKind.ACCESS_DENIED, undefined],
    ]);
    await client.close();
  });

  it("asks no provider and model twice", async () => {
    const failing = "sim-text:status=503";
    const targets = [
      { provider: "one" },
      { model: failing },
      { provider: "two", model: failing },
      { provider: "two" },
    ];
    const client = getClient(simulator(), [createFallback({ targets })]);
    await toFailure(call(client, requestFor(failing)));
    expect(listAsked(simulator())).toEqual([`/v1/responses ${failing}`, `/v1/messages ${failing}`]);
    await client.close();
  });

  it("has no effect within another chain", async () => {
    const failing = "sim-text:status=503";
    const inner = createFallback({ targets: [{ provider: "two", model: "sim-text:status=500" }] });
    const outer = createFallback({ targets: [{ provider: "two", model: failing }] });
    const client = getClient(simulator(), [outer, inner]);
    await toFailure(call(client, requestFor(failing)));
    expect(listAsked(simulator())).toEqual([`/v1/responses ${failing}`, `/v1/messages ${failing}`]);
    await client.close();
  });

  it("applies again if a retry around it makes the call again", async () => {
    const failing = "sim-text:status=503";
    const chain = createFallback({ targets: [{ provider: "two", model: failing }] });
    const client = getClient(simulator(), [createRetry({ baseDelay: 0.001, maxRetries: 1 }), chain]);
    const error = await toFailure(call(client, requestFor(failing)));
    const round = [`/v1/responses ${failing}`, `/v1/messages ${failing}`];
    expect(listAsked(simulator())).toEqual([...round, ...round]);
    expect(attemptsOf(error).map(({ provider }) => provider)).toEqual(["one", "two", "one", "two"]);
    await client.close();
  });

  it("asks no other provider once the caller has left", async () => {
    const client = getClient(simulator(), [createFallback({ ...toTwo, on: ["SERVER", "NETWORK"] })]);
    const signal = AbortSignal.timeout(1000);
    const error = await toFailure(call(client, requestFor("sim-text:delay_ms=60000"), { signal }));
    expect(error.kindName).toBe("REQUEST_TIMEOUT");
    expect(listAsked(simulator())).toHaveLength(1);
    await client.close();
  });

  it("asks the next provider after a time limit of the request if configured to", async () => {
    const request = requestFor("sim-text:delay_ms=60000", { timeouts: { requestMs: 100 } });
    const client = getClient(simulator(), [createFallback(toTwo)]);
    expect((await toFailure(call(client, request))).kindName).toBe("REQUEST_TIMEOUT");
    const told = getClient(simulator(), [createFallback({ ...toTwo, on: ["REQUEST_TIMEOUT"] })]);
    expect(await call(told, { ...request, timeouts: { requestMs: 1000 } })).toMatchObject({
      provider: "two",
    });
    await Promise.all([client.close(), told.close()]);
  });

  it("asks no other provider if the answer is larger than this process takes", async () => {
    const failures = [new StreamError("too large", { retryable: false })];
    const providers = { one: new ScriptedAdapter("one", { failures }), two: new ScriptedAdapter("two") };
    const client = new Client({ providers, defaultProvider: "one", middleware: [createFallback(toTwo)] });
    expect((await toFailure(call(client, requestFor("m")))).message).toBe("too large");
    expect(providers.two.requests).toEqual([]);
  });

  it("does not hide a bug of an adapter", async () => {
    const one = new ScriptedAdapter("one", { failures: [new TypeError("bug")] });
    const two = new ScriptedAdapter("two");
    const client = new Client({
      providers: { one, two },
      defaultProvider: "one",
      middleware: [createFallback(toTwo)],
    });
    await expect(call(client, requestFor("m"))).rejects.toThrow(kind === "stream" ? /internal/ : "bug");
    expect(two.requests).toEqual([]);
  });

  it("reports each change of the provider to the observer", async () => {
    const seen: string[] = [];
    const observer = {
      fallback: (from: { provider: string }, to: { provider: string }, error: SDKError) =>
        void seen.push(`${from.provider} to ${to.provider} after ${error.kindName}`),
    };
    const client = getClient(simulator(), [createFallback({ ...toTwo, observer })]);
    await call(client, requestFor("sim-text:status=503"));
    expect(seen).toEqual(["one to two after SERVER"]);
    seen.length = 0;
    const targets = ["two", "one"].map((provider) => ({ provider, model: "sim-text:status=503" }));
    const longer = getClient(simulator(), [createFallback({ targets, observer })]);
    await toFailure(call(longer, requestFor("sim-text:status=429")));
    expect(seen).toEqual(["one to two after RATE_LIMIT", "two to one after SERVER"]);
    await client.close();
    await longer.close();
  });
});

describe("createFallback() around a stream", () => {
  it.each([
    ["reports a failure", "sim-text:error_after=2"],
    ["breaks the connection", "sim-text:cut_events=2"],
    ["ends without its end marker", "sim-text:cut_events=1"],
  ])(
    "asks the next provider if the first one accepts the call and %s before output",
    async (_name, model) => {
      const client = getClient(simulator(), [createFallback(toTwo)]);
      const response = await accumulate(client.stream(requestFor(model)));
      expect(response.provider).toBe("two");
      expect(response.attempts).toMatchObject([{ provider: "one", error: { outputStarted: false } }]);
      await client.close();
    },
  );

  it.each([
    ["reports a failure", "sim-text:error_after=8"],
    ["breaks the connection", "sim-text:cut_events=8"],
  ])("asks no other provider if the provider %s after output", async (_name, model) => {
    const client = getClient(simulator(), [createFallback(toTwo)]);
    const { names, error } = await getEvents(client.stream(requestFor(model)));
    expect(names).toContain("textDelta");
    expect(names.at(-1)).toBe("error");
    expect(error).toMatchObject({ outputStarted: true });
    expect(listAsked(simulator())).toHaveLength(1);
    await client.close();
  });

  it("passes the batches of the provider on as they are", async () => {
    const request = { ...requestFor("m"), messages: [userMessage("hi")] };
    const sizes = async (middleware: boolean) => {
      const providers = { one: new ScriptedAdapter("one"), two: new ScriptedAdapter("two") };
      const chain = middleware ? [createFallback(toTwo)] : [];
      const client = new Client({ providers, defaultProvider: "one", middleware: chain });
      const found: number[] = [];
      for await (const batch of client.stream(request).batches()) found.push(batch.length);
      return found;
    };
    expect(await sizes(true)).toEqual(await sizes(false));
  });

  it("closes the connection to the provider when the caller leaves the loop", async () => {
    const one = new ScriptedAdapter("one");
    const client = new Client({ providers: { one }, middleware: [createFallback(toTwo)] });
    for await (const { event } of client.stream(requestFor("m"))) if (event.case === "textDelta") break;
    expect(one).toMatchObject({ started: 1, ended: 1 });
  });
});

describe("what a fallback notes of failed attempts", () => {
  it("holds no raw JSON and no long message, even if the request asks for raw JSON", async () => {
    const client = getClient(simulator(), [createFallback(toTwo)]);
    const request = requestFor("sim-text:status=503", { includeRaw: true });
    const [attempt] = (await client.complete(request)).attempts;
    expect(attempt?.error?.providerFailure).toMatchObject({ httpStatusCode: 503, rawJson: "" });
    await client.close();
  });

  it("is bounded: a short message of each error, and the latest attempts", async () => {
    const raw = { usage: create(UsageSchema, { rawJson: "{}" }), rawJson: "{}" };
    const cause = new ServerError("an earlier failure");
    const failures = [new ServerError("x".repeat(1000), { ...raw, cause, provider: "one" })];
    const providers = { one: new ScriptedAdapter("one", { failures }) };
    const client = new Client({ providers, middleware: [createFallback({ targets: [{ model: "b" }] })] });
    const response = await client.complete(requestFor("a"));
    const [attempt] = response.attempts;
    expect(attempt?.error?.message).toBe("x".repeat(256));
    expect(attempt?.error).toMatchObject({ usage: { rawJson: "" }, providerFailure: { rawJson: "" } });
    expect(attempt?.error?.cause).toBeUndefined();
    const many = Array.from({ length: 40 }, (_, step) => create(AttemptSchema, { step }));
    const { attempts } = withAttempts(response, many);
    expect(attempts.map(({ step }) => step)).toEqual([...many.slice(9).map(({ step }) => step), 0]);
    expect(attempts).toHaveLength(MAX_ATTEMPTS);
  });

  it("is bounded for a call that failed at every target, after all retries", async () => {
    const failures = Array.from({ length: 44 }, () => new ServerError("down", { provider: "one" }));
    const providers = { one: new ScriptedAdapter("one", { failures }) };
    const targets = ["b", "c", "d"].map((model) => ({ model }));
    const retry = createRetry({ maxRetries: 10, baseDelay: 0, budget: false });
    const client = new Client({ providers, middleware: [createFallback({ targets }), retry] });
    const models = attemptsOf(await toFailure(client.complete(requestFor("a")))).map(({ model }) => model);
    expect(models.join("")).toBe(`${"b".repeat(10)}${"c".repeat(11)}${"d".repeat(11)}`);
  });
});

describe("the scope of a fallback", () => {
  it("names its targets by the rule for names of models, with the provider of the request as the default", async () => {
    const targets = [
      { model: "sim-text:status=500" },
      { model: "two/sim-text:status=500" },
      { model: "fast" },
    ];
    const modelAliases = { fast: { provider: "two", model: "sim-text" } };
    const client = getClient(simulator(), [createFallback({ targets })], { modelAliases });
    const response = await client.complete(requestFor("sim-text:status=503", { provider: "one" }));
    expect(response).toMatchObject({ provider: "two", model: "sim-text" });
    expect(response.attempts).toMatchObject([
      { provider: "one", model: "sim-text:status=503" },
      { provider: "one", model: "sim-text:status=500" },
      { provider: "two", model: "sim-text:status=500" },
    ]);
    await client.close();
  });

  it("applies to a model that is named with its provider's prefix", async () => {
    const chain = onlyFor({ model: "one/sim-text:status=503" }, createFallback(toTwo));
    const client = getClient(simulator(), [chain]);
    expect((await client.complete(requestFor("sim-text:status=503"))).provider).toBe("two");
    const other = client.complete(requestFor("sim-text:status=503", { provider: "two" }));
    expect((await toFailure(other)).kindName).toBe("SERVER");
    await client.close();
  });

  it("gives its next target to a call in it only if that call may have it", async () => {
    const taken: (string | undefined)[] = [];
    const taking: MiddlewareMethods = {
      complete(request, next, options) {
        for (const provider of ["three", "two", "two"])
          taken.push(takeNextTarget(options, (target) => target.provider === provider)?.provider);
        return next(request);
      },
    };
    const client = getClient(simulator(), [createFallback(toTwo), taking]);
    expect((await client.complete(requestFor("sim-text"))).provider).toBe("one");
    expect(taken).toEqual([undefined, "two", undefined]);
    await client.close();
  });

  it("calls the provider if the chosen middleware has no method for the kind of call", async () => {
    const asked: string[] = [];
    const onlyStreams: MiddlewareMethods = {
      stream(request, next) {
        asked.push("stream");
        return next(request);
      },
    };
    const onlyWhole: MiddlewareMethods = {
      complete(request, next) {
        asked.push("complete");
        return next(request);
      },
    };
    const scope = { provider: "one" };
    const client = getClient(simulator(), [onlyFor(scope, onlyStreams), onlyFor(scope, onlyWhole)]);
    expect(textOf(await client.complete(requestFor("sim-text")))).not.toBe("");
    expect(textOf(await accumulate(client.stream(requestFor("sim-text"))))).not.toBe("");
    expect(asked).toEqual(["complete", "stream"]);
    await client.close();
  });

  it("is one provider or model with onlyFor()", async () => {
    const chain = onlyFor({ provider: "one", model: "sim-text:status=503" }, createFallback(toTwo));
    const client = getClient(simulator(), [chain]);
    expect((await client.complete(requestFor("sim-text:status=503"))).provider).toBe("two");
    expect((await toFailure(client.complete(requestFor("sim-text:status=500")))).kindName).toBe("SERVER");
    await client.close();
  });

  it("is an alias of a model that has fallbacks", async () => {
    const modelAliases = {
      fast: { provider: "one", model: "sim-text:status=503", fallbacks: toTwo.targets },
      plain: { model: "sim-text:status=503" },
    };
    const client = getClient(simulator(), [createAliasRouting(modelAliases)], { modelAliases });
    const response = await client.complete(requestFor("fast"));
    expect(response.attempts).toMatchObject([{ provider: "one", model: "sim-text:status=503" }]);
    expect(textOf(response)).not.toBe("");
    expect((await accumulate(client.stream(requestFor("fast")))).provider).toBe("two");
    expect((await toFailure(client.complete(requestFor("plain")))).kindName).toBe("SERVER");
    await client.close();
  });

  it.each([
    ["no target", []],
    ["nine targets", Array.from({ length: 9 }, (_, index) => ({ model: `m${index}` }))],
    ["an empty target", [{}]],
  ])("is refused with %s", (_name, targets) => {
    expect(() => createFallback({ targets })).toThrow(ConfigurationError);
  });
});

describe("a target that is not registered", () => {
  it("is an invalid request, after the failure that led to it", async () => {
    const baseUrl = simulator().openaiBaseUrl;
    const one = new OpenAIAdapter({ name: "one", apiKey: "k", baseUrl });
    const middleware = [createFallback({ targets: [{ provider: "none" }] })];
    const client = new Client({ providers: { one }, middleware });
    const error = await toFailure(client.complete(requestFor("sim-text:status=503")));
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error.cause).toMatchObject({ kindName: "SERVER" });
    await client.close();
  });
});

describe("the kinds of errors", () => {
  it("after which another target may be tried are all but those that no target changes", () => {
    const excluded = ["UNSPECIFIED", "ABORT", "INTERNAL"];
    const kinds = Object.keys(ErrorKind).filter((name) => Number.isNaN(Number(name)));
    expect([...fallbackKinds].sort()).toEqual(kinds.filter((kind) => !excluded.includes(kind)).sort());
  });

  it("after which one is tried by default say something about the provider", () => {
    expect(DEFAULT_FALLBACK_KINDS).toEqual([
      "PROVIDER",
      "AUTHENTICATION",
      "ACCESS_DENIED",
      "NOT_FOUND",
      "RATE_LIMIT",
      "SERVER",
      "QUOTA_EXCEEDED",
      "NETWORK",
      "STREAM",
    ]);
  });
});
