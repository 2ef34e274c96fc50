/** The smallest and the largest value of each setting with limits, and the values next to them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadConfig } from "../../src/config/index.ts";
import { createKey } from "../support/issuer.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-limits-"));
  const { jwk } = await createKey("k");
  await writeFile(join(folder, "jwks.json"), JSON.stringify({ keys: [jwk] }));
});

afterAll(() => rm(folder, { recursive: true }));

/** Returns the problem of a configuration; empty if there is none. JSON is YAML. */
async function findProblem(settings: object): Promise<string> {
  const config = join(folder, "outrigger.yaml");
  const providers = { main: { api: "openai-responses", api_key: "k" } };
  await writeFile(config, JSON.stringify({ providers, ...settings }));
  return loadConfig({ environment: {}, flags: { config } }).then(
    () => "",
    (thrown: unknown) => String(thrown),
  );
}

/** Creates nested sections around a value, by a path such as `middleware.retries.max_retries`. */
function nest(path: string, value: unknown): object {
  return path.split(".").reduceRight((inner, name) => ({ [name]: inner }), value) as object;
}

const targets = (count: number, weights: readonly number[] = []) =>
  Array.from({ length: count }, (_, index) => ({ model: `m${index}`, weight: weights[index] }));
const toAlias = (fields: object) => ({ middleware: { model_aliases: { fast: fields } } });
const toEjection = (fields: object) => toAlias({ targets: targets(2), outlier_ejection: fields });
const toHedge = (fields: object) => ({ middleware: { hedge: { after: "1s", ...fields } } });
const toIssuer = (fields: object) => ({ issuer: "i", audience: "a", jwks_file: "jwks.json", ...fields });
const repeat = <Item>(length: number, toItem: (index: number) => Item) =>
  Array.from({ length }, (_, index) => toItem(index));

type ToSettings = (value: never) => object;

/** Creates settings with a value at a path. */
const at =
  (path: string): ToSettings =>
  (value) =>
    nest(path, value);

it.each<[field: string, allowed: unknown[], refused: unknown[], toSettings?: ToSettings]>([
  ["middleware.retries.max_retries", [0, 10], [-1, 11, 1.5]],
  ["middleware.retries.backoff_multiplier", [1, 10], [0.99, 10.01]],
  ["middleware.retries.budget.ratio", [0, 10], [-0.01, 10.01]],
  ["middleware.retries.budget.min_per_second", [0, 1000], [-0.01, 1000.01]],
  ["middleware.circuit_breaker.failure_ratio", [0.01, 1], [0.009, 1.01]],
  ["middleware.circuit_breaker.min_calls", [1], [0, 1.5]],
  ["middleware.circuit_breaker.window", ["1ms"], [0]],
  ["middleware.rate_limit.requests_per_minute", [1, "1"], [0, "0"]],
  [
    "rate_limit.max_queue",
    [0, 10_000],
    [-1, 10_001],
    (max_queue) => nest("middleware.rate_limit", { requests_per_minute: 1, max_queue }),
  ],
  [
    "rate_limit.max_wait",
    [0, "1h"],
    ["3600001ms"],
    (max_wait) => nest("middleware.rate_limit", { requests_per_minute: 1, max_wait }),
  ],
  [
    "budget.usd",
    [0.000001, 1_000_000],
    [0.0000009, 1_000_001],
    (usd) => nest("middleware.budget", { window: "day", usd }),
  ],
  ["middleware.cache.max_entries", [1], [0]],
  ["middleware.cache.max_bytes", [1, "1KiB"], [0]],
  ["middleware.logging.max_text", [1, 100_000], [0, 100_001]],
  ["middleware.hedge.after", ["1ms", "10m", "p50", "p99"], [0, "600001ms", "p49", "p100"]],
  ["hedge.max", [1, 3], [0, 4], (max) => toHedge({ max })],
  ["hedge.budget", [0.001, 1], [0.0009, 1.01], (budget) => toHedge({ budget })],
  [
    "fast.targets",
    [1, 8].map((count) => targets(count)),
    [[], targets(9)],
    (list) => toAlias({ targets: list }),
  ],
  [
    "fast.fallbacks",
    [1, 8].map((count) => targets(count).map(({ model }) => ({ model }))),
    [[], targets(9).map(({ model }) => ({ model }))],
    (fallbacks) => toAlias({ model: "m", fallbacks }),
  ],
  ["weight", [0, 1000], [-1, 1001], (weight) => toAlias({ targets: targets(2, [weight, 1]) })],
  ["consecutive_failures", [1], [0], (consecutive_failures) => toEjection({ consecutive_failures })],
  ["failure_ratio", [0.01, 1], [0.009, 1.01], (failure_ratio) => toEjection({ failure_ratio })],
  ["latency_factor", [1.1, 1000], [1.09, 1000.1], (latency_factor) => toEjection({ latency_factor })],
  ["outlier_ejection.min_calls", [1, 256], [0, 257], (min_calls) => toEjection({ min_calls })],
  ["max_ejected", [0, 1], [-0.1, 1.1], (max_ejected) => toEjection({ max_ejected })],
  ["max_time", ["1m"], ["59999ms"], (max_time) => toEjection({ base_time: "1m", max_time })],
  ["max_time", ["30s"], ["29999ms"], (max_time) => toEjection({ max_time })],
  ["max_time", ["300s"], ["300001ms"], (base_time) => toEjection({ base_time })],
  ["runs.postgres.pool_size", [1, 1000], [0, 1001]],
  [
    "jwt",
    [1, 16].map((count) =>
      repeat(count, (index) => toIssuer({ issuer: `i${index}`, caller: `c${index}/{sub}` })),
    ),
    [[], repeat(17, (index) => toIssuer({ issuer: `i${index}`, caller: `c${index}/{sub}` }))],
  ],
  [
    "audience",
    [repeat(64, String)],
    [[], repeat(65, String)],
    (audience) => ({ jwt: toIssuer({ audience }) }),
  ],
  [
    "jwt.rules",
    [1, 256].map((count) => repeat(count, () => ({}))),
    [[], repeat(257, () => ({}))],
    (rules) => ({ jwt: toIssuer({ rules }) }),
  ],
  [
    "when.sub",
    [repeat(64, String)],
    [repeat(65, String)],
    (sub) => ({ jwt: toIssuer({ rules: [{ when: { sub } }] }) }),
  ],
  [
    "budget",
    [repeat(16, () => ({ window: "day", requests: 1 }))],
    [repeat(17, () => ({ window: "day", requests: 1 }))],
    (budget) => ({ jwt: toIssuer({ rules: [{ budget }] }) }),
  ],
  [
    "rules[0].models",
    [repeat(256, (index) => `main/m${index}`)],
    [repeat(257, (index) => `main/m${index}`)],
    (models) => ({ jwt: toIssuer({ rules: [{ models }] }) }),
  ],
  ["clock_tolerance", [0, "5m"], ["300001ms"], (clock_tolerance) => ({ jwt: toIssuer({ clock_tolerance }) })],
])(
  "%s takes its limits, and refuses what is beyond",
  async (field, allowed, refused, toSettings = at(field)) => {
    for (const value of allowed) expect(await findProblem(toSettings(value as never))).toBe("");
    for (const value of refused) {
      const problem = await findProblem(toSettings(value as never));
      expect(problem).toMatch(/^ConfigurationError: /);
      expect(problem).toContain(field);
    }
  },
);
