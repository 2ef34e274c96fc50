import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AuthenticationError, accumulate, Client, EchoAdapter, textOf, userMessage } from "outrigger";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { providerVariables } from "../../../src/client/from-env.ts";
import { loadConfig } from "../../../src/config/index.ts";

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterAll(() => simulator.close());

const request = { model: "sim-echo", messages: [userMessage("one two three")] };

it("is registered by its variables, and answers whole and as a stream", async () => {
  expect(providerVariables).toContain("ECHO_API_KEY");
  await using client = Client.fromEnv({ ECHO_API_KEY: "any", ECHO_BASE_URL: simulator.url });
  expect(client.providerNames).toEqual(["echo"]);
  const whole = await client.complete(request);
  expect(textOf(whole)).toBe("one two three");
  const streamed = await accumulate(client.stream(request));
  expect(streamed.message).toEqual(whole.message);
  expect(streamed.usage?.totalTokens).toBe(whole.usage?.totalTokens);
});

it("is an API of a configuration", async () => {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-"));
  const config = join(folder, "config.yaml");
  await writeFile(config, "providers: { mine: { api: echo, api_key: any } }");
  const { client } = await loadConfig({ environment: {}, flags: { config } });
  expect(client.providers.get("mine")).toMatchObject({ api: "echo", apiKey: "any" });
  await rm(folder, { recursive: true });
});

it("throws the error of a refused key", async () => {
  const adapter = new EchoAdapter({ apiKey: "any", baseUrl: simulator.url });
  await using client = new Client({ providers: { echo: adapter } });
  const refused = { ...request, model: "sim-echo:status=401" };
  await expect(client.complete(refused)).rejects.toThrow(AuthenticationError);
});
