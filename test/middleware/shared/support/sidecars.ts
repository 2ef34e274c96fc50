/** The parts of several sidecars that share their counts. */
import {
  Client,
  createCatalog,
  type Middleware,
  type RequestInput,
  type SDKError,
  userMessage,
} from "outrigger";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type SharedSettings, SharedStores } from "../../../../src/middleware/shared/shared-stores.ts";
import type { ValkeySettings } from "../../../../src/middleware/shared/valkey.ts";
import { ScriptedAdapter } from "../../../client/support/scripted-adapter.ts";
import { ValkeyServer } from "../../../support/valkey/start-valkey.ts";

/** Prices so that a token of a prompt costs a millionth of a dollar, and one of an answer two. */
export const catalog = createCatalog({
  models: [{ id: "m", provider: "one", prices: { input: 1, output: 2 } }],
});

/** A sidecar: its stores, and what it tells. */
export interface Sidecar {
  readonly stores: SharedStores;
  /** Messages and fields of the log. */
  readonly log: [message: string, fields: object][];
  /** Failures by reason. */
  readonly failures: string[];
  /** A client of an adapter that answers with 3 input tokens and 2 output tokens. */
  client(middleware: Middleware[], failures?: Error[]): { client: Client; one: ScriptedAdapter };
}

const opened: (SharedStores | Client)[] = [];

/** Closes what a test opened. */
export function closeAfterEach(): void {
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((part) => part.close()));
  });
}

/** Opens the stores of a sidecar. */
export async function openSidecar(settings: Partial<SharedSettings>): Promise<Sidecar> {
  const log: Sidecar["log"] = [];
  const failures: string[] = [];
  const note = (fields: object, message: string) => void log.push([message, fields]);
  const stores = await SharedStores.open(
    { valkey: undefined, postgres: undefined, whenAway: "local", ...settings },
    { info: note, warn: note },
    { sharedFailure: (server, reason) => void failures.push(`${server} ${reason}`) },
  );
  opened.push(stores);
  return {
    stores,
    log,
    failures,
    client(middleware, errors = []) {
      const one = new ScriptedAdapter("one", { failures: errors });
      const client = new Client({ providers: { one }, middleware, catalog });
      opened.push(client);
      return { client, one };
    },
  };
}

/** A Valkey for the tests of a file. */
export function useValkey(): () => ValkeyServer {
  let server: ValkeyServer | undefined;
  beforeAll(async () => {
    server = await ValkeyServer.start();
  });
  afterAll(() => server?.stop());
  return () => {
    if (server === undefined) throw new Error("there is no Valkey");
    return server;
  };
}

let prefixes = 0;

/** Settings of the server, with a separate prefix. */
export function toSettings(
  { port }: Pick<ValkeyServer, "port">,
  changes: Partial<ValkeySettings> = {},
): ValkeySettings {
  prefixes += 1;
  return {
    host: "127.0.0.1",
    port,
    username: undefined,
    database: 0,
    prefix: `test${prefixes}`,
    // A busy machine must not look like a server that hangs.
    timeoutMs: 5000,
    readPassword: async () => undefined,
    tls: undefined,
    ...changes,
  };
}

/** A request of 3 estimated input tokens, and as many output tokens as given. */
export function request(maxTokens = 50): RequestInput {
  return { model: "m", maxTokens, messages: [userMessage("twelve bytes")] };
}

/** Settles calls. Returns how many succeeded, and the kinds of errors of the others. */
export async function countResults(
  calls: readonly (Promise<unknown> | undefined)[],
): Promise<{ ok: number; errors: string[] }> {
  const settled = await Promise.allSettled(calls);
  const failed = settled.filter((result) => result.status === "rejected");
  return {
    ok: settled.length - failed.length,
    errors: [...new Set(failed.map(({ reason }) => (reason as SDKError).name))],
  };
}
