/** A server with the API, the simulator as its provider, and the official SDK as its client. */
import OpenAI from "openai";
import { Client, type ClientOptions, type Middleware, type ProviderAdapter } from "outrigger";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { defaultCatalog } from "../../../src/catalog/catalog.ts";
import type { WireApi } from "../../../src/client/providers.ts";
import type { MemoryAccount } from "../../../src/core/memory-account.ts";
import { ModelDirectory } from "../../../src/endpoints/models/model-directory.ts";
import { createV1Api } from "../../../src/endpoints/v1.ts";
import { RunEngine } from "../../../src/runs/run-engine.ts";
import type { RunStore } from "../../../src/runs/store.ts";
import { createRunService, createThreadService } from "../../../src/server/index.ts";
import { type ColumnName, columns } from "../../providers/support/columns.ts";
import { openMemory } from "../../runs/store/sqlite/open-store.ts";
import type { TestServer, TestServerOptions, useTestServers } from "../../server/support/test-server.ts";

/** The server and its clients that a test uses. */
export interface ApiServer {
  readonly simulator: Simulator;
  readonly client: Client;
  readonly engine: RunEngine;
  readonly server: TestServer;
  readonly openai: OpenAI;
  /** Calls the API without an SDK. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** The settings that a test may change. */
export interface ApiServerOptions extends TestServerOptions {
  readonly keepAliveMs?: number;
  readonly allowsUnstoredContinuation?: boolean;
  readonly keepUnstoredMs?: number;
  /** The memory of the API. */
  readonly account?: MemoryAccount;
  /** Model strings of the simulator by other names. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Address of the providers. The simulator's by default. */
  readonly providerUrl?: string;
  /** Default: one adapter for each column. */
  readonly adapters?: readonly ProviderAdapter[];
  readonly middleware?: readonly Middleware[];
  readonly modelAliases?: ClientOptions["modelAliases"];
  /** Wraps the engine that the API uses. */
  readonly wrapEngine?: (engine: RunEngine) => RunEngine;
  /** Default: a new one in memory. */
  readonly store?: RunStore;
}

const APIS: Readonly<Record<ColumnName, WireApi>> = {
  openai: "openai-responses",
  anthropic: "anthropic-messages",
  gemini: "gemini",
  compatible: "openai-chat",
};

/** Starts them; the hooks of the test servers close them. */
export async function startApi(
  servers: ReturnType<typeof useTestServers>,
  {
    keepAliveMs,
    allowsUnstoredContinuation,
    keepUnstoredMs,
    account,
    aliases = {},
    providerUrl,
    store: given,
    wrapEngine = (engine) => engine,
    adapters: givenAdapters,
    middleware = [],
    modelAliases,
    ...options
  }: ApiServerOptions = {},
): Promise<ApiServer> {
  const simulator = await startSimulator({ aliases });
  const url = providerUrl ?? simulator.url;
  const adapters = givenAdapters ?? columns.map(({ connect }) => connect(url, { apiKey: "any" }));
  const providers = Object.fromEntries(adapters.map((adapter) => [adapter.name, adapter]));
  const client = new Client({
    providers,
    defaultProvider: adapters[0]?.name,
    middleware,
    modelAliases,
    fieldPaths: "contract",
  });
  const store = given ?? (await openMemory());
  const engine = new RunEngine({ client, store });
  const apis = new Map(columns.map(({ name }) => [name, APIS[name]]));
  const models = new ModelDirectory({ providers: apis, routing: client.routing, catalog: defaultCatalog });
  const endpoint = createV1Api({
    engine: wrapEngine(engine),
    models,
    keepAliveMs,
    allowsUnstoredContinuation,
    keepUnstoredMs,
    account,
  });
  servers.onEnd(() => endpoint.close());
  servers.onEnd(() => simulator.close());
  servers.onEnd(() => client.close());
  servers.onEnd(() => engine.close());
  const server = await servers.start(
    {},
    {
      ...options,
      inference: client,
      apis: endpoint.apis,
      services: [createRunService(engine, client), createThreadService(engine, client)],
    },
  );
  const openai = new OpenAI({ apiKey: "any", baseURL: `${server.url}/v1`, maxRetries: 0 });
  return { simulator, client, engine, server, openai, fetch: (path, init) => fetch(server.url + path, init) };
}
