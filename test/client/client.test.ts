import { getEventListeners } from "node:events";
import {
  AbortError,
  accumulate,
  Client,
  ConfigurationError,
  createCatalog,
  EventStream,
  InvalidRequestError,
  NetworkError,
  type Request,
  type Response,
  ServerError,
  type StreamEvent,
  ToolChoice_Mode,
  textOf,
  userMessage,
} from "outrigger";
import { LawChecker } from "outrigger/kit";
import { create, RequestSchema } from "outrigger/proto";
import { describe, expect, it } from "vitest";
import { validateOnce } from "../../src/client/validate.ts";
import { ScriptedAdapter } from "./support/scripted-adapter.ts";

type Next = (request: Request) => Promise<Response>;

const request = { model: "m1", messages: [userMessage("hi")] };

function getClient(...names: string[]): { client: Client; adapters: ScriptedAdapter[] } {
  const adapters = names.map((name) => new ScriptedAdapter(name));
  const client = new Client({
    providers: Object.fromEntries(adapters.map((adapter) => [adapter.name, adapter])),
  });
  return { client, adapters };
}

/** All events of a stream that keeps the laws. */
async function getEvents(stream: EventStream): Promise<StreamEvent[]> {
  const laws = new LawChecker();
  const events: StreamEvent[] = [];
  for await (const event of stream) {
    laws.check(event);
    events.push(event);
  }
  laws.end();
  return events;
}

async function batchSizes(stream: EventStream): Promise<number[]> {
  const sizes: number[] = [];
  for await (const batch of stream.batches()) sizes.push(batch.length);
  return sizes;
}

describe("Client", () => {
  it("does not validate a request twice", async () => {
    const { client } = getClient("one");
    const ahead = create(RequestSchema, request);
    validateOnce(ahead);
    // A change that only a second check would notice.
    ahead.temperature = -1;
    expect(textOf(await client.complete(ahead))).toBe("one m1");
    await expect(client.complete(ahead)).rejects.toThrow("temperature");
  });

  it("requires a model for a request that was validated without one", async () => {
    const { client } = getClient("one");
    const ahead = create(RequestSchema, { ...request, model: "" });
    validateOnce(ahead);
    await expect(client.complete(ahead)).rejects.toMatchObject({ violations: [{ field: "model" }] });
  });

  describe("routing", () => {
    it("sends a request to the provider that it names", async () => {
      const { client } = getClient("one", "two");
      expect(textOf(await client.complete({ ...request, provider: "two" }))).toBe("two m1");
      expect(textOf(await accumulate(client.stream({ ...request, provider: "two" })))).toBe("two m1");
      expect([client.providerNames, client.defaultProvider]).toEqual([["one", "two"], undefined]);
    });

    it("sends a request that names none to the only provider", async () => {
      const { client } = getClient("one");
      expect(textOf(await client.complete(request))).toBe("one m1");
      expect(client.defaultProvider).toBe("one");
    });

    it("does not choose among several providers without a default", async () => {
      const { client } = getClient("one", "two");
      await expect(client.complete(request)).rejects.toThrow(
        new ConfigurationError(
          "the request names no provider, and there are several without a default; " +
            "the registered providers are one, two",
        ),
      );
    });

    it("refuses an adapter with another name", () => {
      expect(() => new Client({ providers: { a: new ScriptedAdapter("one") } })).toThrow(
        'the adapter that is registered as "a" is named "one"; pass the option name: "a" to the adapter, ' +
          'or register it as "one"',
      );
    });

    it("sends to the default provider that was chosen", async () => {
      const providers = { one: new ScriptedAdapter("one"), two: new ScriptedAdapter("two") };
      const client = new Client({ providers, defaultProvider: "two" });
      expect((await client.complete(request)).provider).toBe("two");
    });

    it("refuses a default provider that is not registered", () => {
      expect(
        () => new Client({ providers: { one: new ScriptedAdapter("one") }, defaultProvider: "two" }),
      ).toThrow(
        new ConfigurationError(
          'the default provider "two" is not registered; the registered providers are one',
        ),
      );
    });

    it("never guesses: an unknown provider is the caller's mistake", async () => {
      const { client, adapters } = getClient("one", "two");
      const call = client.complete({ ...request, provider: "three" });
      await expect(call).rejects.toThrow(InvalidRequestError);
      await expect(call).rejects.toMatchObject({
        violations: [
          {
            field: "provider",
            description: '"three" is not registered; the registered providers are one, two',
          },
        ],
      });
      await expect(getEvents(client.stream({ ...request, provider: "three" }))).rejects.toThrow(
        InvalidRequestError,
      );
      expect(adapters.flatMap((adapter) => adapter.requests)).toEqual([]);
    });

    it("names the missing configuration if no provider is registered, whatever the request names", async () => {
      const client = new Client();
      await expect(client.complete(request)).rejects.toThrow(ConfigurationError);
      await expect(client.complete({ ...request, provider: "openai" })).rejects.toThrow(
        /no provider is registered.*register\(\).*OPENAI_API_KEY/,
      );
      await expect(getEvents(client.stream(request))).rejects.toThrow(ConfigurationError);
      expect(() => client.supportsToolChoice(ToolChoice_Mode.NONE, "m1")).toThrow(ConfigurationError);
    });

    it("refuses a provider without a name, and a default among none", () => {
      expect(() => new Client().register(" ", new ScriptedAdapter(" "))).toThrow(
        'expected a name for a provider, found " "',
      );
      expect(() => new Client({ defaultProvider: "one" })).toThrow(
        'the default provider "one" is not registered; the registered providers are none',
      );
    });

    it("does not end the process if an asynchronous initialize fails and nobody calls", async () => {
      const one = Object.assign(new ScriptedAdapter("one"), {
        initialize: () => Promise.reject(new Error("no such host")),
      });
      const client = new Client({ providers: { one } });
      await new Promise(setImmediate);
      await expect(client.complete(request)).rejects.toThrow('"one" could not be initialized');
    });

    it("uses a provider that is registered between two calls", async () => {
      const one = new ScriptedAdapter("one");
      const client = new Client({ providers: { one }, defaultProvider: "one" });
      expect(textOf(await client.complete({ ...request, model: "two/m1" }))).toBe("one two/m1");
      client.register("two", new ScriptedAdapter("two"));
      expect(textOf(await client.complete({ ...request, model: "two/m1" }))).toBe("two m1");
    });

    it("passes the alias that named the model to middleware and the adapter", async () => {
      const one = new ScriptedAdapter("one");
      const client = new Client({
        providers: { one },
        modelAliases: { fast: { provider: "one", model: "m1" } },
      });
      await client.complete({ ...request, model: "fast" });
      await client.complete(request);
      expect(one.requests.map(({ model }) => model)).toEqual(["m1", "m1"]);
      expect(one.options.map(({ modelAlias }) => modelAlias)).toEqual(["fast", undefined]);
      expect(one.options.map((options) => "modelAlias" in options)).toEqual([true, false]);
    });

    it("reports the target of a call, also if a middleware leaves the provider open", async () => {
      const middleware = [{ complete: (passed: Request, next: Next) => next({ ...passed, provider: "" }) }];
      const [one, two] = [new ScriptedAdapter("one"), new ScriptedAdapter("two")];
      const targets: unknown[] = [];
      const options = { onTarget: (target: unknown) => targets.push(target) };
      await new Client({ providers: { one } }).complete(request, options);
      await new Client({ providers: { one }, middleware }).complete(request, options);
      const undecided = new Client({ providers: { one, two }, middleware });
      const call = undecided.complete({ ...request, provider: "two" }, options);
      await expect(call).rejects.toThrow("the request names no provider, and there are several");
      expect(targets).toEqual([
        { provider: "one", model: "m1" },
        { provider: "one", model: "m1" },
        { provider: "", model: "m1" },
      ]);
    });

    it("shows the errors of tools to models unless configured otherwise", () => {
      expect(new Client().hideToolErrors).toBe(false);
      expect(new Client({ hideToolErrors: true }).hideToolErrors).toBe(true);
    });

    it("registers providers later, each name once", async () => {
      const client = new Client();
      client.register("one", new ScriptedAdapter("one"));
      expect(textOf(await client.complete(request))).toBe("one m1");
      expect(() => client.register("one", new ScriptedAdapter("one"))).toThrow(ConfigurationError);
      expect(() => client.register(" ", new ScriptedAdapter("one"))).toThrow(ConfigurationError);
    });

    it("rejects an invalid request before anything is sent", async () => {
      const { client, adapters } = getClient("one");
      await expect(client.complete({ model: "", messages: [] })).rejects.toThrow(/^model: .*; messages: /);
      await expect(getEvents(client.stream({ model: "m1", messages: [] }))).rejects.toThrow(/^messages: /);
      expect(adapters[0]?.requests).toEqual([]);
    });

    it("passes a provider's name to its adapter, and does not change the caller's request", async () => {
      const { client, adapters } = getClient("one");
      await client.complete(request);
      expect(adapters[0]?.requests[0]?.provider).toBe("one");
      expect(request).not.toHaveProperty("provider");
    });
  });

  describe("calls", () => {
    it("note in whole and streamed answers that the model was chosen", async () => {
      const catalog = createCatalog({ models: [{ id: "m1", provider: "one", releaseDate: "2026-01-01" }] });
      const client = new Client({ providers: { one: new ScriptedAdapter("one") }, catalog });
      const unnamed = { messages: request.messages };
      for (const { warnings } of [await client.complete(unnamed), await accumulate(client.stream(unnamed))])
        expect(warnings.map(({ code }) => code)).toEqual(["model_chosen"]);
    });

    it("treat names that every object inherits as models, not as aliases", () => {
      const { client } = getClient("one");
      for (const model of ["constructor", "toString", "__proto__"])
        expect(client.resolveModel({ provider: "", model })).toEqual({ provider: "one", model });
    });

    it("gives every call a separate id, or the given one", async () => {
      const { client } = getClient("one");
      const ids = [
        (await client.complete(request)).inferenceId,
        (await client.complete(request)).inferenceId,
      ];
      expect(new Set(ids).size).toBe(2);
      for (const id of ids) expect(id).toMatch(/^inf_[0-9a-f]{32}$/);
      const [start] = await getEvents(client.stream(request, { inferenceId: "run_mine" }));
      expect(start?.event).toMatchObject({ case: "streamStart", value: { inferenceId: "run_mine" } });
    });

    it("pass the caller's signal to the adapter", async () => {
      const { client, adapters } = getClient("one");
      const { signal } = new AbortController();
      await client.complete(request, { signal });
      expect(adapters[0]?.options[0]?.signal).toBe(signal);
    });

    it("sends nothing before the first event is asked for", async () => {
      const { client, adapters } = getClient("one");
      const stream = client.stream(request);
      await new Promise((resolve) => setImmediate(resolve));
      expect(adapters[0]?.requests).toHaveLength(0);
      await getEvents(stream);
      expect(adapters[0]?.requests).toHaveLength(1);
    });

    it("sends nothing if a stream is abandoned before its start", async () => {
      const { client, adapters } = getClient("one");
      const iterator = client.stream(request).batches()[Symbol.asyncIterator]();
      expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
      expect(adapters[0]?.requests).toHaveLength(0);
    });

    it("leaves no listener on the caller's signal, however a stream ends", async () => {
      const one = new ScriptedAdapter("one", { failures: [new ServerError("down")] });
      const client = new Client({ providers: { one } });
      const { signal } = new AbortController();
      const messages = [userMessage("hi")];
      await expect(accumulate(client.stream({ model: "m", messages }, { signal }))).rejects.toThrow("down");
      await accumulate(client.stream({ model: "m", messages }, { signal }));
      for await (const _event of client.stream({ model: "m", messages }, { signal })) break;
      const invalid = client.stream({ model: "m", messages: [] }, { signal });
      await expect(accumulate(invalid)).rejects.toBeInstanceOf(InvalidRequestError);
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });

    it("ends the adapter's stream when the caller leaves the loop", async () => {
      const { client, adapters } = getClient("one");
      for await (const event of client.stream(request)) if (event.event.case === "textDelta") break;
      expect(adapters[0]).toMatchObject({ started: 1, ended: 1 });
    });

    it("sends once, and throws if the stream is read a second time", async () => {
      const { client, adapters } = getClient("one");
      const stream = client.stream(request);
      expect((await getEvents(stream)).length).toBeGreaterThan(3);
      await expect(getEvents(stream)).rejects.toThrow("a stream can be read only once");
      expect(() => stream.batches()).toThrow("a stream can be read only once");
      expect(adapters[0]?.requests).toHaveLength(1);
    });

    it("keeps the adapter's batches", async () => {
      const { client } = getClient("one");
      const direct = await batchSizes(new ScriptedAdapter("one").stream(create(RequestSchema, request)));
      expect(await batchSizes(client.stream(request))).toEqual(direct);
      expect(Math.max(...direct)).toBeGreaterThan(1);
    });
  });

  describe("initialize and close", () => {
    it("throws the error of an adapter's initialize() at registration", () => {
      const adapter = Object.assign(new ScriptedAdapter("one"), {
        initialize() {
          throw new ConfigurationError("no such region");
        },
      });
      expect(() => new Client({ providers: { one: adapter } })).toThrow(
        new ConfigurationError("no such region"),
      );
    });

    it("waits for an asynchronous initialize before the first call", async () => {
      const order: string[] = [];
      const adapter = Object.assign(new ScriptedAdapter("one"), {
        async initialize() {
          await new Promise((resolve) => setImmediate(resolve));
          order.push("initialized");
        },
      });
      const client = new Client({ providers: { one: adapter } });
      await Promise.all([client.complete(request), accumulate(client.stream(request))]);
      expect(order).toEqual(["initialized"]);
      expect(adapter.requests).toHaveLength(2);
    });

    it("fails every call if an asynchronous initialize failed", async () => {
      const adapter = Object.assign(new ScriptedAdapter("one"), {
        async initialize() {
          throw new Error("the vault is shut");
        },
      });
      const client = new Client({ providers: { one: adapter } });
      await expect(client.complete(request)).rejects.toThrow(
        new ConfigurationError('the provider "one" could not be initialized'),
      );
      await expect(getEvents(client.stream(request))).rejects.toThrow(ConfigurationError);
      expect(adapter.requests).toEqual([]);
    });

    it("closes every adapter once, even if one fails", async () => {
      const failing = Object.assign(new ScriptedAdapter("bad"), {
        async close() {
          throw new NetworkError("stuck");
        },
      });
      const good = new ScriptedAdapter("good");
      const client = new Client({ providers: { bad: failing, good } });
      await expect(client.close()).rejects.toThrow("stuck");
      expect(good.closed).toBe(1);
    });

    it("is closed by `await using`", async () => {
      const adapter = new ScriptedAdapter("one");
      {
        await using client = new Client({ providers: { one: adapter } });
        await client.complete(request);
      }
      expect(adapter.closed).toBe(1);
    });
  });

  it("asks an adapter about tool choices, and assumes yes if it does not say", () => {
    const careful = Object.assign(new ScriptedAdapter("careful"), {
      supportsToolChoice: (mode: ToolChoice_Mode, model: string) =>
        mode === ToolChoice_Mode.AUTO && model === "m1",
    });
    const client = new Client({ providers: { plain: new ScriptedAdapter("plain"), careful } });
    expect(client.supportsToolChoice(ToolChoice_Mode.REQUIRED, "m1", "plain")).toBe(true);
    expect(client.supportsToolChoice(ToolChoice_Mode.REQUIRED, "m1", "careful")).toBe(false);
    expect(client.supportsToolChoice(ToolChoice_Mode.AUTO, "m1", "careful")).toBe(true);
  });

  it("asks an adapter whether a model supports JSON schemas, and assumes so if it does not say", () => {
    const careful = Object.assign(new ScriptedAdapter("careful"), {
      supportsJsonSchema: (model: string) => model === "m1",
    });
    const client = new Client({ providers: { plain: new ScriptedAdapter("plain"), careful } });
    expect(client.supportsJsonSchema("m2", "plain")).toBe(true);
    expect(client.supportsJsonSchema("m1", "careful")).toBe(true);
    expect(client.supportsJsonSchema("m2", "careful")).toBe(false);
  });

  it("asks about all targets of an alias, of which any may answer a call", () => {
    const careful = Object.assign(new ScriptedAdapter("careful"), {
      supportsJsonSchema: () => false,
      supportsToolChoice: () => false,
    });
    const targets = [
      { provider: "plain", model: "m1" },
      { provider: "careful", model: "m1" },
    ];
    const providers = { plain: new ScriptedAdapter("plain"), careful };
    const client = new Client({ providers, modelAliases: { both: { targets } } });
    expect(client.supportsJsonSchema("both")).toBe(false);
    expect(client.supportsToolChoice(ToolChoice_Mode.REQUIRED, "both")).toBe(false);
  });

  it("aborts the signal of an adapter when a stream that waits for it is cancelled", async () => {
    const adapter = new ScriptedAdapter("one");
    const opened = Promise.withResolvers<AbortSignal | undefined>();
    async function* silence(signal: AbortSignal | undefined) {
      opened.resolve(signal);
      await new Promise(() => {});
      yield [];
    }
    adapter.stream = (_request, { signal } = {}) => new EventStream(silence(signal));
    const stream = new Client({ providers: { one: adapter } }).stream(request);
    const reading = stream.final();
    const signal = await opened.promise;
    stream.cancel();
    await expect(reading).rejects.toBeInstanceOf(AbortError);
    expect(signal?.aborted).toBe(true);
  });
});
