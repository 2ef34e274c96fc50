/** A real server for each test, and the proof that nothing is left afterwards. */
import { type DestinationStream, type Logger, pino } from "pino";
import { afterEach, beforeEach, expect } from "vitest";
import type { TlsOptions } from "../../../src/config/tls-files.ts";
import type { ModelClient } from "../../../src/generation/loop/model-calls.ts";
import type { HttpApi } from "../../../src/http/endpoint.ts";
import type { AccessControl } from "../../../src/server/access/access-control.ts";
import type { Limits } from "../../../src/server/base/limits.ts";
import type { Service } from "../../../src/server/calls/service.ts";
import type { CorsOptions } from "../../../src/server/http/origin.ts";
import type { RunningServer } from "../../../src/server/options.ts";
import { type Catalog, createCatalogService } from "../../../src/server/services/catalog-service.ts";
import {
  createGenerationService,
  type GenerationServiceLimits,
} from "../../../src/server/services/generation-service.ts";
import {
  createEmbeddingService,
  createInferenceService,
} from "../../../src/server/services/inference-service.ts";
import type { ShutdownPart } from "../../../src/server/shutdown.ts";
import { startServer } from "../../../src/server/start-server.ts";
import type { CallObserver } from "../../../src/server/telemetry/call-observer.ts";
import { createCallLog } from "../../../src/server/telemetry/logging.ts";
import { createMetrics } from "../../../src/server/telemetry/metrics.ts";
import { watchForLeaks } from "./leak-watch.ts";
import { type Script, type ScriptedInference, scriptedInference } from "./scripted-inference.ts";

/** A line of the log, parsed. */
export type LogLine = Record<string, unknown>;

/** A server under test. */
export interface TestServer extends RunningServer {
  readonly inference: ScriptedInference;
  /** The lines logged so far. */
  readonly log: LogLine[];
  /** `http://127.0.0.1:<port>` of the first address. */
  readonly url: string;
  /** `127.0.0.1:<port>` of the first address. */
  readonly authority: string;
  readonly adminUrl: string;
}

/** The settings that a test may change. */
export interface TestServerOptions {
  readonly listen?: readonly string[];
  readonly adminListen?: string | undefined;
  readonly limits?: Partial<Limits>;
  readonly cors?: CorsOptions;
  readonly allowedHosts?: readonly string[];
  /** Access keys. Default: none are needed. */
  readonly access?: AccessControl;
  readonly unixSocketMode?: number;
  /** Replaces the scripted inference. */
  readonly inference?: ModelClient;
  readonly catalog?: Catalog;
  readonly generationLimits?: Partial<GenerationServiceLimits>;
  /** Services besides Outrigger's services. */
  readonly services?: readonly Service[];
  /** HTTP APIs over the same inference. */
  readonly apis?: readonly HttpApi[];
  /** Besides the log and the metrics. */
  readonly observers?: readonly CallObserver[];
  readonly reflection?: boolean;
  readonly drainTimeoutMs?: number;
  readonly parts?: readonly ShutdownPart[];
  /** TLS of the data listener. */
  readonly tls?: TlsOptions;
  /** The problems that `/readyz?verbose` names. */
  readonly problems?: readonly string[];
}

const emptyCatalog: Catalog = {
  getModelInfo: () => undefined,
  listModels: () => [],
  getLatestModel: () => undefined,
};

/** A logger that keeps its lines. */
export function recordingLogger(): { logger: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const destination: DestinationStream = { write: (line) => void lines.push(JSON.parse(line)) };
  return { logger: pino({ level: "trace" }, destination), lines };
}

/**
 * Registers hooks that close everything that a test opened and fail it if a socket, server or timer outlives it. To be
 * called once in a test file.
 */
export function useTestServers(): {
  start(script?: Script, options?: TestServerOptions): Promise<TestServer>;
  /** Closes something after the test, before the servers. */
  onEnd(close: () => unknown): void;
} {
  let closers: (() => unknown)[] = [];
  let leaks = watchForLeaks();
  beforeEach(() => {
    closers = [];
    leaks = watchForLeaks();
  });
  afterEach(async () => {
    for (const close of closers.reverse()) await close();
    expect(await leaks.remains()).toEqual([]);
  });
  return {
    onEnd: (close) => void closers.push(close),
    async start(script = {}, options = {}) {
      const server = await startTestServer(script, options);
      closers.push(() => server.close());
      return server;
    },
  };
}

/** Starts a server that the caller closes. */
export async function startTestServer(script: Script, options: TestServerOptions): Promise<TestServer> {
  const inference = scriptedInference(script);
  const { logger, lines } = recordingLogger();
  const { listen = ["127.0.0.1:0"], catalog = emptyCatalog, drainTimeoutMs, parts, cors, limits } = options;
  const adminListen = "adminListen" in options ? options.adminListen : "127.0.0.1:0";
  const metrics = createMetrics({ version: "0.0.0-test" });
  const server = await startServer({
    listeners: {
      data: { addresses: listen, cors, tls: options.tls },
      admin: adminListen === undefined ? undefined : { address: adminListen },
      allowedHosts: options.allowedHosts,
      unixSocketMode: options.unixSocketMode,
      limits,
    },
    services: [
      createInferenceService(options.inference ?? inference),
      createEmbeddingService(options.inference ?? inference),
      createGenerationService(options.inference ?? inference, options.generationLimits),
      createCatalogService({ catalog }),
      ...(options.services ?? []),
    ],
    access: options.access,
    http: { apis: options.apis ?? [], client: options.inference ?? inference },
    observers: [metrics, createCallLog(logger), ...(options.observers ?? [])],
    metrics,
    shutdown: { timeoutMs: drainTimeoutMs, parts },
    reflection: options.reflection,
    listProblems: () => options.problems ?? [],
    logger,
  });
  const authority = server.addresses[0] ?? "";
  return {
    ...server,
    inference,
    log: lines,
    url: `http://${authority}`,
    authority,
    adminUrl: `http://${server.adminAddress}`,
  };
}
