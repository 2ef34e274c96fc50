/** A provider that refuses the sidecar's key, as callers of each API see it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { InferenceService, Role } from "outrigger/proto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { ErrorInfoSchema } from "../../src/gen/google/rpc/error_details_pb.ts";
import { InferenceErrorSchema } from "../../src/gen/outrigger/v1/error_pb.ts";
import { killLeftovers, spawnOutrigger } from "./support/spawn-outrigger.ts";

let simulator: Simulator;
let folder: string;

beforeAll(async () => {
  simulator = await startSimulator();
  folder = await mkdtemp(join(tmpdir(), "outrigger-refused-"));
});

afterEach(killLeftovers);

afterAll(async () => {
  await simulator.close();
  await rm(folder, { recursive: true });
});

/** Starts a sidecar. Returns the address of its data port. */
async function serve(variables: Record<string, string>): Promise<string> {
  const flags = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
  const outrigger = spawnOutrigger(flags, variables);
  const listening = await outrigger.printed(/\{[^\n]*"msg":"listening"\}/);
  await outrigger.printed(/"msg":"serving"/);
  return (JSON.parse(listening[0]) as { addresses: string[] }).addresses[0] ?? "";
}

async function toRefusal(address: string): Promise<ConnectError> {
  const client = createClient(InferenceService, createGrpcTransport({ baseUrl: `http://${address}` }));
  const text = { part: { case: "text", value: "Hi" } } as const;
  const messages = [{ role: Role.USER, content: [text] }];
  const call = client.complete({ model: "sim-text:status=401", messages });
  return ConnectError.from(await call.catch((thrown: unknown) => thrown));
}

const ORIGIN = "the provider openai refused the key that Outrigger has";

describe("a provider's 401", () => {
  it("names the variable of the key, and has a separate reason", async () => {
    const address = await serve({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: simulator.openaiBaseUrl });
    const error = await toRefusal(address);
    expect(error.rawMessage).toContain(`${ORIGIN} (OPENAI_API_KEY): openai answered 401`);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "PROVIDER_KEY_REFUSED" }]);
    expect(error.findDetails(InferenceErrorSchema)[0]?.providerFailure?.provider).toBe("openai");
  });

  it("names the field with the file of the key, without its folder", async () => {
    const config = join(folder, "outrigger.yaml");
    await writeFile(join(folder, "openai-key"), "k\n");
    const entry = `{ api: openai-responses, api_key_file: openai-key, base_url: "${simulator.openaiBaseUrl}" }`;
    await writeFile(config, `providers: { openai: ${entry} }\n`);
    const error = await toRefusal(await serve({ OUTRIGGER_CONFIG: config }));
    expect(error.rawMessage).toContain(`${ORIGIN} (providers.openai.api_key_file: openai-key): `);
    expect(error.rawMessage).not.toContain(folder);
  });

  it("has a distinct code over /v1/responses, which a wrong access key does not have", async () => {
    const keys = join(folder, "keys.yaml");
    await writeFile(keys, "keys: [{ name: one, key: an-access-key-of-32-characters-01 }]\n");
    const address = await serve({
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: simulator.openaiBaseUrl,
      OUTRIGGER_ACCESS_KEYS_FILE: keys,
    });
    const codeWith = async (key: string) => {
      const answer = await fetch(`http://${address}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "sim-text:status=401", input: "Hi" }),
      });
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      return [answer.status, error.code];
    };
    expect(await codeWith("an-access-key-of-32-characters-01")).toEqual([401, "provider_key_refused"]);
    expect(await codeWith("wrong")).toEqual([401, "invalid_api_key"]);
  });
});
