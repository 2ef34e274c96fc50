/**
 * A sidecar that is killed at random moments under load, over a store in a file: nothing that it acknowledged is lost,
 * every call of a model is in the events, and every run ends once.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { startSimulator } from "../../simulator/index.ts";
import { killLeftovers, type Outrigger, spawnOutrigger } from "../cli/support/spawn-outrigger.ts";
import { createRandom } from "../support/random.ts";

/** How often the sidecar is killed. */
const KILLS = 4;

/** Callers that create runs at the same time. */
const CALLERS = 8;

/** A run in the JSON form of the contract. */
interface JsonRun {
  readonly id: string;
  readonly status: string;
  readonly lastSequence?: number;
  readonly background?: boolean;
  readonly attempts?: readonly object[];
  readonly error?: { readonly message: string };
}

/** A run that a sidecar has acknowledged. */
interface Acknowledged {
  readonly prompt: string;
  readonly run: JsonRun;
}

const TERMINAL = /COMPLETED|FAILED|CANCELLED|INCOMPLETE/;

afterEach(killLeftovers);

it("loses no acknowledged run, records every model call and ends every run once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-kill-"));
  const simulator = await startSimulator({ requestLog: { maxEntries: 100_000 } });
  const config = join(folder, "outrigger.yaml");
  writeFileSync(config, createConfig(simulator.openaiBaseUrl, join(folder, "runs.db")));
  const random = createRandom(7);
  const acknowledged: Acknowledged[] = [];
  let prompts = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const sidecar = spawnOutrigger(["serve", "--config", config]);
    const url = await toUrl(sidecar);
    const callers = Array.from({ length: CALLERS }, (_, index) =>
      createUntilGone(url, index % 2 === 0, () => `prompt-${prompts++}-`, acknowledged),
    );
    await new Promise((resolve) => setTimeout(resolve, 200 + random() * 1_500));
    sidecar.child.kill("SIGKILL");
    expect(await sidecar.ended).toBe("SIGKILL");
    await Promise.all(callers);
  }
  const last = spawnOutrigger(["serve", "--config", config]);
  const url = await toUrl(last);
  await expectAllEnded(url);
  const calls = callsByPrompt(simulator.requests.map(({ body }) => JSON.stringify(body)));
  expect(acknowledged.length).toBeGreaterThan(KILLS * CALLERS);
  for (const { prompt, run } of acknowledged) await expectWhole(url, prompt, run, calls);
  expect([...calls.values()].filter((count) => count > 2)).toEqual([]);
  expect(acknowledged.some(({ run }) => run.status === "RUN_STATUS_QUEUED")).toBe(true);
  last.child.kill("SIGTERM");
  expect(await last.ended).toBe(0);
  await simulator.close();
  rmSync(folder, { recursive: true });
}, 300_000);

function createConfig(providerUrl: string, store: string): string {
  return `
listen: 127.0.0.1:0
admin_listen: off
drain_timeout: 5s
providers:
  main: { api: openai-responses, api_key: any, base_url: ${providerUrl} }
runs:
  store: ${store}
  limits: { lease: 1s, max_background_runs: 4 }
`;
}

async function toUrl(sidecar: Outrigger): Promise<string> {
  const [, address] = await sidecar.printed(/"addresses":\["([^"]+)"\].*"listening"/);
  return `http://${address}`;
}

/** Creates runs one after the other until the sidecar is gone, and notes those that it acknowledges. */
async function createUntilGone(
  url: string,
  background: boolean,
  nextPrompt: () => string,
  acknowledged: Acknowledged[],
): Promise<void> {
  for (;;) {
    const prompt = nextPrompt();
    const options = { request: { model: "sim-long:tokens=20,rate=200" }, prompt };
    try {
      acknowledged.push({ prompt, run: await call<JsonRun>(url, "CreateRun", { options, background }) });
    } catch (error) {
      // `fetch` throws a TypeError if the connection broke.
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

/** Waits until no run is in progress. */
async function expectAllEnded(url: string): Promise<void> {
  const statuses = ["RUN_STATUS_QUEUED", "RUN_STATUS_IN_PROGRESS"];
  const listUnfinished = () => call<{ runs?: JsonRun[] }>(url, "ListRuns", { statuses, pageSize: 1 });
  await expect
    .poll(async () => (await listUnfinished()).runs ?? [], { timeout: 120_000, interval: 200 })
    .toEqual([]);
}

/** Expects that a run ended once, that its events have no gaps, and that they show every call of the model. */
async function expectWhole(
  url: string,
  prompt: string,
  acknowledged: JsonRun,
  calls: ReadonlyMap<string, number>,
): Promise<void> {
  const run = await call<JsonRun>(url, "GetRun", { runId: acknowledged.id });
  expect(run.status).toMatch(TERMINAL);
  if (TERMINAL.test(acknowledged.status)) expect(run.status).toBe(acknowledged.status);
  const made = calls.get(prompt) ?? 0;
  const { attempts = [] } = run;
  if (run.background === true && run.status === "RUN_STATUS_FAILED")
    expect(run.error?.message).toContain("the model was called twice");
  if (run.background !== true) expect(made).toBeLessThanOrEqual(1);
  // The events may show a call that a killed process was about to make and did not make.
  if (run.status === "RUN_STATUS_COMPLETED") expect(made).toBeGreaterThanOrEqual(1);
  if (run.status === "RUN_STATUS_COMPLETED") expect(attempts.length).toBeGreaterThanOrEqual(made);
  const events = await getEvents(url, run.id);
  expect(events.map(({ sequence = 0 }) => sequence)).toEqual(events.map((_, index) => index));
  expect(events.length - 1).toBe(run.lastSequence);
  const ends = events.filter((event) => TERMINAL.test(event.run?.status ?? ""));
  expect(ends).toEqual([events.at(-1)]);
}

interface JsonEvent {
  readonly sequence?: number;
  readonly run?: JsonRun;
}

/** Returns all events of a run. The status follows the last event of a failed run. */
async function getEvents(url: string, runId: string): Promise<JsonEvent[]> {
  const response = await post(url, "StreamRun", { runId }, { accept: "application/x-ndjson" });
  const lines = (await response.text()).trim().split("\n");
  return lines.map((line) => JSON.parse(line)).filter((line) => !("status" in line));
}

/** How many requests each prompt was in. */
function callsByPrompt(bodies: readonly string[]): Map<string, number> {
  const calls = new Map<string, number>();
  for (const body of bodies) {
    const [prompt] = /prompt-\d+-/.exec(body) ?? [];
    if (prompt !== undefined) calls.set(prompt, (calls.get(prompt) ?? 0) + 1);
  }
  return calls;
}

async function call<Answer>(url: string, method: string, request: object): Promise<Answer> {
  const response = await post(url, method, request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method}: ${response.status} ${text}`);
  return JSON.parse(text);
}

function post(url: string, method: string, request: object, headers: Record<string, string> = {}) {
  return fetch(`${url}/outrigger.v1.RunService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
}
