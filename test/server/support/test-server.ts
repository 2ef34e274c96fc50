/** A real server for each test, and the proof that nothing of it is left afterwards. */
import { type DestinationStream, type Logger, pino } from "pino";
import { afterEach, beforeEach, expect } from "vitest";
import type { Catalog, RunningServer, ServerOptions } from "../../../src/server/options.ts";
import { startServer } from "../../../src/server/start-server.ts";
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
 * Registers hooks that close what a test opened and fail it where a socket, server or timer
 * outlives it. To be called once in a test file.
 */
export function useTestServers(): {
  start(script?: Script, options?: Partial<ServerOptions>): Promise<TestServer>;
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

async function startTestServer(script: Script, options: Partial<ServerOptions>): Promise<TestServer> {
  const inference = scriptedInference(script);
  const { logger, lines } = recordingLogger();
  const server = await startServer({
    inference,
    catalog: emptyCatalog,
    listen: ["127.0.0.1:0"],
    adminListen: "127.0.0.1:0",
    logger,
    version: "0.0.0-test",
    ...options,
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
