/** One table of names of models, through every API and every feature that depends on the model of a call. */
import { createClient as createRpcClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import {
  AccessDeniedError,
  AnthropicAdapter,
  accumulate,
  Client,
  createCache,
  createCatalog,
  createFallback,
  generate,
  type Middleware,
  NotFoundError,
  OpenAIAdapter,
  onlyFor,
  ServerError,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { resolveModel } from "../../src/client/model-names.ts";
import type { CallTarget } from "../../src/core/adapter.ts";
import type { Caller } from "../../src/core/caller.ts";
import { ModelDirectory } from "../../src/endpoints/models/model-directory.ts";
import { createV1Api } from "../../src/endpoints/v1.ts";
import { GenerationService } from "../../src/gen/outrigger/v1/generation_service_pb.ts";
import { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import { RunService } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { createModelAccess } from "../../src/middleware/model-access.ts";
import { RunEngine } from "../../src/runs/run-engine.ts";
import { createRunService } from "../../src/server/services/run-service.ts";
import { openMemory } from "../runs/store/sqlite/open-store.ts";
import { type TestServer, useTestServers } from "../server/support/test-server.ts";
import { useSimulator } from "../simulator/support.ts";
import { ScriptedAdapter } from "./support/scripted-adapter.ts";

const servers = useTestServers();
const simulator = useSimulator();

/** A catalog in which models of the simulator belong to one provider each. */
const catalog = createCatalog({
  models: [
    { id: "sim-text:owner=one", provider: "one", releaseDate: "2026-01-01" },
    { id: "sim-text:owner=two", provider: "two", releaseDate: "2026-01-01" },
  ],
});

const modelAliases = {
  fast: { provider: "two", model: "sim-text:alias=fast" },
  "two/shadowed": { provider: "one", model: "sim-text:alias=shadowed" },
  prefixed: { model: "two/sim-text:alias=prefixed" },
  plain: { model: "sim-text:alias=plain" },
};

/** How a request names its model, and the target of its call. */
interface NameCase {
  readonly name: string;
  readonly provider?: string;
  readonly model: string;
  readonly goesTo: CallTarget;
  /** Over HTTP APIs, if they differ. */
  readonly overHttp?: CallTarget;
}

const to = (provider: string, model: string): CallTarget => ({ provider, model });

/** Cases without a provider, which every API can send. */
const NAMES: readonly NameCase[] = [
  { name: "an id", model: "sim-text", goesTo: to("one", "sim-text") },
  { name: "an alias", model: "fast", goesTo: to("two", "sim-text:alias=fast") },
  {
    name: "an alias before a prefix",
    model: "two/shadowed",
    goesTo: to("one", "sim-text:alias=shadowed"),
  },
  {
    name: "an alias of a prefixed name",
    model: "prefixed",
    goesTo: to("two", "sim-text:alias=prefixed"),
  },
  { name: "an alias without a provider", model: "plain", goesTo: to("one", "sim-text:alias=plain") },
  { name: "the prefix of a provider", model: "two/sim-text", goesTo: to("two", "sim-text") },
  { name: "a provider and a slash alone", model: "two/", goesTo: to("one", "two/") },
  { name: "a slash without a provider", model: "/sim-text", goesTo: to("one", "/sim-text") },
  { name: "an id that a provider's name begins", model: "twos", goesTo: to("one", "twos") },
  { name: "a prefix of no provider", model: "meta/llama", goesTo: to("one", "meta/llama") },
  { name: "the default provider's prefix", model: "one/sim-text", goesTo: to("one", "sim-text") },
  {
    name: "an id of the default provider in the catalog",
    model: "sim-text:owner=one",
    goesTo: to("one", "sim-text:owner=one"),
  },
  {
    name: "an id of another provider in the catalog",
    model: "sim-text:owner=two",
    goesTo: to("one", "sim-text:owner=two"),
    overHttp: to("two", "sim-text:owner=two"),
  },
];

/** Cases that need a field for the provider. */
const NAMED_PROVIDERS: readonly NameCase[] = [
  { name: "a provider", provider: "two", model: "sim-text", goesTo: to("two", "sim-text") },
  {
    name: "a provider over an alias",
    provider: "one",
    model: "fast",
    goesTo: to("one", "fast"),
  },
  {
    name: "a provider over a prefix",
    provider: "one",
    model: "two/sim-text",
    goesTo: to("one", "two/sim-text"),
  },
];

/** A client of two providers that answer with the name of the model that they are asked for. */
interface TestClient {
  readonly client: Client;
  /** Returns the targets of its calls. */
  readonly asked: () => CallTarget[];
}

function createTestClient(middleware: readonly Middleware[] = []): TestClient {
  const asked: CallTarget[] = [];
  const notes: Middleware = {
    complete(request, next) {
      asked.push(to(request.provider, request.model));
      return next(request);
    },
    stream(request, next) {
      asked.push(to(request.provider, request.model));
      return next(request);
    },
  };
  const client = new Client({
    providers: { one: new ScriptedAdapter("one"), two: new ScriptedAdapter("two") },
    defaultProvider: "one",
    modelAliases,
    catalog,
    middleware: [...middleware, notes],
    fieldPaths: "contract",
  });
  servers.onEnd(() => client.close());
  return { client, asked: () => asked };
}

/** A server with every API over a client. */
async function startEveryApi(client: Client): Promise<TestServer> {
  const engine = new RunEngine({ client, store: await openMemory() });
  servers.onEnd(() => engine.close());
  const apis = new Map([
    ["one", "openai-responses"],
    ["two", "anthropic-messages"],
  ] as const);
  const models = new ModelDirectory({ providers: apis, routing: client.routing, catalog });
  return servers.start(
    {},
    {
      inference: client,
      services: [createRunService(engine, client)],
      ...createV1Api({ engine, models }),
    },
  );
}

const messages = [userMessage("Say something.")];
const grpc = (url: string): Transport => createGrpcTransport({ baseUrl: url });
const json = (url: string): Transport =>
  createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false });

type Send = (client: Client, request: { model: string; provider?: string }) => Promise<unknown>;

async function drain(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

/** Every API with a field for the provider. */
const APIS: readonly (readonly [name: string, send: Send])[] = [
  ["complete of the library", (client, request) => client.complete({ ...request, messages })],
  ["stream of the library", (client, request) => accumulate(client.stream({ ...request, messages }))],
  ["a prompt of the library", (client, request) => generate({ ...request, client, prompt: "hi" })],
  ...[["gRPC", grpc] as const, ["Connect with JSON", json] as const].flatMap(
    ([protocol, transportTo]): readonly (readonly [string, Send])[] => [
      [
        `InferenceService over ${protocol}`,
        async (client, request) => {
          const rpc = createRpcClient(InferenceService, transportTo((await startEveryApi(client)).url));
          return rpc.complete({ ...request, messages });
        },
      ],
      [
        `streams of InferenceService over ${protocol}`,
        async (client, request) => {
          const rpc = createRpcClient(InferenceService, transportTo((await startEveryApi(client)).url));
          return drain(rpc.stream({ ...request, messages }));
        },
      ],
      [
        `GenerationService over ${protocol}`,
        async (client, request) => {
          const rpc = createRpcClient(GenerationService, transportTo((await startEveryApi(client)).url));
          return rpc.generate({ options: { prompt: "hi", request } });
        },
      ],
      [
        `RunService over ${protocol}`,
        async (client, request) => {
          const rpc = createRpcClient(RunService, transportTo((await startEveryApi(client)).url));
          return rpc.createRun({ options: { prompt: "hi", request } });
        },
      ],
    ],
  ),
];

async function postResponse(client: Client, body: object): Promise<Record<string, unknown>> {
  const { url } = await startEveryApi(client);
  const response = await fetch(`${url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: "hi", ...body }),
  });
  const answer: unknown = await response.json();
  return Object.fromEntries(Object.entries(answer ?? {}));
}

describe.each(APIS)("a model named over %s", (_api, send) => {
  it.each([...NAMES, ...NAMED_PROVIDERS])("by $name is sent to its provider", async (each) => {
    const { model, provider, goesTo } = each;
    const { client, asked } = createTestClient();
    await send(client, { model, ...(provider === undefined ? {} : { provider }) });
    expect(asked()).toEqual([goesTo]);
  });

  it.each([
    ["the default provider", {}, "one"],
    ["the provider", { provider: "two" }, "two"],
  ])("by nothing is the newest model of %s in the catalog", async (_name, fields, provider) => {
    const { client, asked } = createTestClient();
    await send(client, { model: "", ...fields });
    expect(asked()).toEqual([to(provider, `sim-text:owner=${provider}`)]);
  });
});

it("is that of the default provider if the catalog lists the model for several", () => {
  const apiKey = "test-key";
  const names = ["first", "second"];
  const client = new Client({
    providers: Object.fromEntries(names.map((name) => [name, new OpenAIAdapter({ name, apiKey })])),
    defaultProvider: "second",
  });
  const resolve = (model: string) =>
    resolveModel({ provider: "", model }, client.routing, { usesCatalog: true });
  expect(resolve("gpt-5.2")).toEqual({ provider: "second", model: "gpt-5.2" });
});

it("is that of a provider whose name is a single letter", async () => {
  const adapter = new ScriptedAdapter("a");
  const client = new Client({ providers: { a: adapter, b: new ScriptedAdapter("b") }, defaultProvider: "b" });
  expect(client.resolveModel({ provider: "", model: "a/m" })).toMatchObject({ provider: "a", model: "m" });
  for (const model of ["/m", "a/", "c/m"])
    expect(client.resolveModel({ provider: "", model })).toMatchObject({ provider: "b", model });
});

describe("a model named over /v1/responses", () => {
  it.each(NAMES)("by $name is sent to its provider", async ({ model, goesTo, overHttp = goesTo }) => {
    const { client, asked } = createTestClient();
    expect(await postResponse(client, { model })).toMatchObject({ status: "completed" });
    expect(asked()).toEqual([overHttp]);
  });

  it("by nothing is the newest model of the default provider, with a warning", async () => {
    const { client, asked } = createTestClient();
    const response = await postResponse(client, {});
    expect(response).toMatchObject({ status: "completed", warnings: [{ code: "model_chosen" }] });
    expect(asked()).toEqual([to("one", "sim-text:owner=one")]);
  });
});

describe.each([...NAMES, ...NAMED_PROVIDERS])(
  "a call that names $name",
  ({ model, provider = "", goesTo }) => {
    const request = { model, provider, messages };
    const elsewhere = to(goesTo.provider === "one" ? "two" : "one", goesTo.model);

    it("needs the grant of its target", async () => {
      const callerWith = (allowed: CallTarget): Caller => ({
        name: "key",
        isRestricted: true,
        allowsModel: (name, id) => name === allowed.provider && id === allowed.model,
      });
      const { client } = createTestClient([createModelAccess()]);
      await client.complete(request, { caller: callerWith(goesTo) });
      const denied = client.complete(request, { caller: callerWith(elsewhere) });
      await expect(denied).rejects.toThrow("may not use the model");
    });

    it("gets the fallbacks of its target", async () => {
      const failing: Middleware = {
        complete: (called, next) =>
          called.model === "reserve" ? next(called) : Promise.reject(new ServerError("overloaded")),
      };
      const chains = [
        onlyFor(elsewhere, createFallback({ targets: [{ model: "wrong" }] })),
        onlyFor(goesTo, createFallback({ targets: [{ model: "reserve" }] })),
      ];
      const { client, asked } = createTestClient([...chains, failing]);
      const response = await client.complete(request);
      expect(response.attempts).toMatchObject([goesTo]);
      expect(asked()).toEqual([to(goesTo.provider, "reserve")]);
    });

    it("shares the cached answers of its target", async () => {
      const { client, asked } = createTestClient([createCache()]);
      await client.complete(request);
      expect((await client.complete({ ...goesTo, messages })).warnings).toMatchObject([
        { code: "cache_hit" },
      ]);
      expect(asked()).toEqual([goesTo]);
    });

    it("is logged and counted by its target, even if it is refused", async () => {
      const { client } = createTestClient();
      const server = await startEveryApi(client);
      await createRpcClient(InferenceService, grpc(server.url)).complete(request);
      const label = `provider="${goesTo.provider}",model="${goesTo.model}"`;
      await expect.poll(async () => (await fetch(`${server.adminUrl}/metrics`)).text()).toContain(label);
      const refusing: Middleware = { complete: () => Promise.reject(new AccessDeniedError("no")) };
      const other = await startEveryApi(createTestClient([refusing]).client);
      const refused = createRpcClient(InferenceService, grpc(other.url)).complete(request);
      await expect(refused).rejects.toThrow("no");
      await expect
        .poll(() => other.log.find(({ rpc }) => rpc?.toString().endsWith("/Complete")))
        .toMatchObject(goesTo);
    });
  },
);

describe("a request that names no model", () => {
  it("has a warning in whole and streamed answers", async () => {
    const { client } = createTestClient();
    const warning = { code: "model_chosen", field: "model", message: expect.stringContaining("newest") };
    expect((await client.complete({ messages })).warnings).toMatchObject([warning]);
    expect((await accumulate(client.stream({ messages }))).warnings).toMatchObject([warning]);
    for await (const { event } of client.stream({ messages }))
      if (event.case === "streamStart") expect(event.value.warnings).toMatchObject([warning]);
  });

  it("is invalid if the catalog has no model of the provider", async () => {
    const client = new Client({ providers: { custom: new ScriptedAdapter("custom") } });
    await expect(client.complete({ messages })).rejects.toMatchObject({ violations: [{ field: "model" }] });
  });
});

describe("the error for a model that its provider does not know", () => {
  function createClient(): Client {
    const apiKey = "test-key";
    const one = new OpenAIAdapter({ name: "one", apiKey, baseUrl: simulator().openaiBaseUrl });
    const two = new AnthropicAdapter({ name: "two", apiKey, baseUrl: simulator().anthropicBaseUrl });
    const client = new Client({ providers: { one, two }, defaultProvider: "one" });
    servers.onEnd(() => client.close());
    return client;
  }

  async function messageFor(model: string, provider = ""): Promise<string> {
    const error: unknown = await createClient()
      .complete({ model, provider, messages })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof NotFoundError)) throw new Error("expected a model that is not found");
    return error.message;
  }

  it("names the registered provider that has it", async () => {
    const advice =
      "the registered provider two has this model: name it as the provider, or write two/claude-sonnet-4-5";
    expect(await messageFor("claude-sonnet-4-5")).toContain(advice);
    expect(await messageFor("claude-sonnet-4-5", "one")).toContain(advice);
    const stream = createClient().stream({ model: "claude-sonnet-4-5", messages });
    await expect(accumulate(stream)).rejects.toThrow(advice);
  });

  it("names no provider if none has it, or if the catalog lists it for the one that was asked", async () => {
    expect(await messageFor("unheard-of")).not.toContain("registered provider");
    expect(await messageFor("gpt-5.2")).not.toContain("registered provider");
  });
});
