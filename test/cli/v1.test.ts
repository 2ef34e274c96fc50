/** OpenAI's official SDK against the program. */
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { killLeftovers, spawnOutrigger } from "./support/spawn-outrigger.ts";

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(killLeftovers);
afterAll(() => simulator.close());

it("outrigger serve serves the HTTP API under /v1 alongside gRPC.", async () => {
  const outrigger = spawnOutrigger(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"], {
    ANTHROPIC_API_KEY: "any",
    ANTHROPIC_BASE_URL: simulator.anthropicBaseUrl,
  });
  const [line] = await outrigger.printed(/\{[^\n]*"msg":"listening"\}/);
  const { addresses } = JSON.parse(line) as { addresses: string[] };
  const openai = new OpenAI({ apiKey: "any", baseURL: `http://${addresses[0]}/v1` });
  const first = await openai.responses.create({ model: "anthropic/sim-echo", input: "One" });
  expect(first).toMatchObject({ output_text: "One", status: "completed" });
  const second = await openai.responses
    .stream({ model: "sim-echo", input: "Two", previous_response_id: first.id })
    .finalResponse();
  expect(second).toMatchObject({ output_text: "Two", previous_response_id: first.id });
  expect((await openai.models.list()).data.map(({ id }) => id)).toContain("claude-opus-4-8");
});
