/** Middleware that a configuration file asks for. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { buildClient, loadConfig } from "../../src/config/index.ts";
import { userMessage } from "../../src/core/message.ts";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import { listAsked, requestFor } from "../middleware/support/providers.ts";
import { useSimulator } from "../simulator/support.ts";
import { getParts } from "./support/client-parts.ts";

const simulator = useSimulator();

/** The log lines so far. */
let lines: [fields: object, message: string][] = [];
const log = {
  info: (fields: object, message: string) => void lines.push([fields, message]),
  warn() {},
};

let folder: string;
let opened: Client[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-middleware-"));
});

afterEach(async () => {
  await Promise.all(opened.map((client) => client.close()));
  opened = [];
  lines = [];
  simulator().clearRequests();
});

afterAll(() => rm(folder, { recursive: true }));

/** A client of two providers, with settings of the first one. */
async function getClient(text: string, settingsOfOne = "", others = ""): Promise<Client> {
  const config = await load(`${text}
providers:
  one: { api: openai-responses, api_key: k, base_url: "${simulator().openaiBaseUrl}" ${settingsOfOne} }
  two: { api: anthropic-messages, api_key: k, base_url: "${simulator().anthropicBaseUrl}" }
  ${others}
`);
  const client = buildClient(config, getParts(config, log));
  opened.push(client);
  return client;
}

async function load(text: string) {
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, text);
  return (await loadConfig({ environment: {}, flags: { config: path } })).client;
}

const PROVIDERS = "providers: { main: { api: openai-responses, api_key: k } }";

describe("the middleware of a configuration file", () => {
  it("sends calls of an alias to its fallbacks", async () => {
    const client = await getClient(`
middleware:
  model_aliases:
    fast:
      provider: one
      model: "sim-text:status=503"
      fallbacks: [{ provider: two, model: sim-text }]
    strict:
      model: "sim-text:status=503"
      fallbacks: [{ provider: two, model: sim-text }]
      fallback_on: [rate_limit]
`);
    const response = await client.complete(requestFor("fast"));
    expect(response).toMatchObject({ provider: "two", attempts: [{ provider: "one" }] });
    await expect(client.complete(requestFor("strict"))).rejects.toMatchObject({ kindName: "SERVER" });
  });

  it("chooses among the targets of an alias, and keeps calls at one by a field", async () => {
    const client = await getClient(`
middleware:
  model_aliases:
    fast: { targets: [{ provider: one, model: sim-text, weight: 2 }, { model: two/sim-text }] }
    sticky:
      targets: [{ provider: one, model: sim-text }, { provider: two, model: sim-text }]
      sticky_by: metadata.session
      outlier_ejection: { consecutive_failures: 3 }
    cheap:
      targets: [{ provider: one, model: sim-text }, { provider: two, model: sim-echo }]
      choose: cost
models: [{ id: sim-echo, provider: two, prices: { input: 1, output: 1 } }]
`);
    const ask = async (model: string, changes = {}) =>
      (await client.complete(requestFor(model, changes))).provider;
    expect([await ask("fast"), await ask("fast"), await ask("fast")]).toEqual(["one", "two", "one"]);
    const metadata = { session: "a" };
    expect(await ask("sticky", { metadata })).toBe(await ask("sticky", { metadata }));
    expect(await ask("cheap")).toBe("two");
  });

  it("sends a call without output again, but not to programs", async () => {
    const silent = "sim-text:delay_ms=600000";
    const client = await getClient(
      `
middleware:
  hedge: { after: 1ms, budget: 1 }
  fallbacks:
    - { targets: [{ provider: agent, model: m }, { provider: two, model: sim-text }] }
  model_aliases:
    fast: { provider: one, model: "${silent}", fallbacks: [{ model: two/sim-text }], hedge: { after: 2ms, budget: 1 } }
    percentile: { provider: one, model: sim-text, hedge: { after: p95, max: 2 } }
`,
      "",
      "agent: { api: command, command: [/bin/cat], format: text }",
    );
    expect(await client.complete(requestFor(silent))).toMatchObject({
      provider: "two",
      attempts: [{ provider: "one" }],
    });
    expect(await client.complete(requestFor("fast"))).toMatchObject({ provider: "two" });
    expect(await client.complete(requestFor("percentile"))).toMatchObject({ provider: "one" });
  });

  it.each([
    ["hedge: {}", "hedge.after: expected a duration"],
    ["hedge: { after: 0 }", "hedge.after: expected a duration"],
    ["hedge: { after: p30 }", 'hedge.after: expected a duration from "1ms" to "10m", or a percentile'],
    ["hedge: { after: 11m }", 'found "11m"'],
    ["hedge: { after: 1s, max: 9 }", "hedge.max: expected a whole number from 1 to 3, found 9"],
    ["hedge: { after: 1s, budget: 0 }", "hedge.budget: expected a number from 0.001 to 1, found 0"],
  ])("names the mistake in %s", async (rule, message) => {
    await expect(load(`${PROVIDERS}\nmiddleware: { ${rule} }`)).rejects.toThrow(message);
    const alias = `${PROVIDERS}\nmiddleware: { model_aliases: { fast: { model: m, ${rule} } } }`;
    await expect(load(alias)).rejects.toThrow(message);
  });

  it.each([
    ["targets: []", "targets: expected a list of targets"],
    [
      `targets: [${Array.from({ length: 9 }, (_, index) => `{ model: m${index} }`).join(", ")}]`,
      "targets: expected at most 8 targets",
    ],
    [
      "targets: [{ model: main/m }, { provider: main, model: m }]",
      "targets[1]: expected a target that is not listed twice",
    ],
    [
      "targets: [{ model: m, weight: -1 }]",
      "targets[0].weight: expected a whole number from 0 to 1000, found -1",
    ],
    ["targets: [{ model: m, weight: 1001 }]", "targets[0].weight: expected a whole number from 0 to 1000"],
    ["targets: [{ model: m, weight: 0 }]", "targets: expected a target with a weight above 0"],
    ["targets: [{ provider: none, model: m }]", 'targets[0].provider: expected main, found "none"'],
    ["model: m, targets: [{ model: n }]", 'model: expected no model together with targets, found "m"'],
    ["model: m, choose: cost", 'choose: expected no choose without targets, found "cost"'],
    ["targets: [{ model: m }], choose: random", 'choose: expected weight, latency, cost, found "random"'],
    [
      "targets: [{ model: m, weight: 2 }], choose: cost",
      'targets[0].weight: expected 0 or no weight with "choose: cost", found 2',
    ],
    [
      "targets: [{ model: m }], choose: cost, sticky_by: caller",
      'sticky_by: expected no sticky_by with "choose: cost"',
    ],
    [
      "targets: [{ model: m }], sticky_by: session",
      'sticky_by: expected prompt_cache_key, user, caller, conversation or metadata.<name>, found "session"',
    ],
    [
      "targets: [{ model: m }], outlier_ejection: { max_ejected: 50 }",
      "outlier_ejection.max_ejected: expected a number from 0 to 1, found 50",
    ],
    [
      "targets: [{ model: m }], outlier_ejection: { base_time: 1m, max_time: 30s }",
      'outlier_ejection.max_time: expected at least base_time, found "30s"',
    ],
  ])("names the mistake in an alias with %s", async (fields, message) => {
    const text = `${PROVIDERS}\nmiddleware: { model_aliases: { fast: { ${fields} } } }`;
    await expect(load(text)).rejects.toThrow(`middleware.model_aliases.fast.${message}`);
  });

  it("sends calls of a provider or model to the targets of the first rule that fits", async () => {
    const client = await getClient(`
middleware:
  fallbacks:
    - { provider: one, model: "sim-text:status=500", targets: [{ model: sim-text }] }
    - { provider: one, targets: [{ provider: two, model: sim-text }], on: [server, network] }
`);
    expect(await client.complete(requestFor("sim-text:status=500"))).toMatchObject({ provider: "one" });
    expect(await client.complete(requestFor("sim-text:status=503"))).toMatchObject({ provider: "two" });
    simulator().clearRequests();
    await expect(client.complete(requestFor("sim-text:status=429"))).rejects.toThrow();
    expect(listAsked(simulator())).toHaveLength(1);
  });

  it("repeats calls by the rule of the model, else of the provider, else of all calls", async () => {
    const client = await getClient(
      `
middleware: { retries: { max_retries: 1, base_delay: 1ms } }
models: [{ id: "sim-text:status=502", provider: one, aliases: ["sim-text:status=504"], retries: { max_retries: 3, base_delay: 1ms } }]
`,
      ", retries: { max_retries: 2, base_delay: 1ms, jitter: false, max_delay: 2s }",
    );
    const asked = async (provider: string, model: string) => {
      simulator().clearRequests();
      await expect(client.complete(requestFor(model, { provider }))).rejects.toThrow();
      return listAsked(simulator()).length;
    };
    expect(await asked("two", "sim-text:status=503")).toBe(2);
    expect(await asked("one", "sim-text:status=503")).toBe(3);
    expect(await asked("one", "sim-text:status=502")).toBe(4);
    expect(await asked("one", "sim-text:status=504")).toBe(4);
  });

  it("refuses calls to a model that has failed too often", async () => {
    const client = await getClient(
      "",
      ", circuit_breaker: { min_calls: 1, failure_ratio: 0.1, open_for: 1m }",
    );
    const request = requestFor("sim-text:status=503");
    await expect(client.complete(request)).rejects.not.toThrow("circuit breaker");
    await expect(client.complete(request)).rejects.toThrow("circuit breaker of one, sim-text:status=503");
    await expect(client.complete({ ...request, provider: "two" })).rejects.not.toThrow("circuit breaker");
    await expect(client.complete({ ...request, provider: "two" })).rejects.not.toThrow("circuit breaker");
  });

  it.each([
    ["middleware: { rate_limit: { requests_per_minute: 1, max_wait: 0 } }", "", "this sidecar"],
    ["", ", rate_limit: { requests_per_minute: 1, max_wait: 0s, max_queue: 0 }", "one"],
    [
      'models: [{ id: sim-text, provider: one, aliases: ["sim-echo"], rate_limit: { requests_per_minute: 1, max_wait: 0 } }]',
      "",
      "one, sim-text",
    ],
  ])("limits the rate of all calls, of a provider or of a model", async (text, ofOne, what) => {
    const client = await getClient(text, ofOne);
    await client.complete(requestFor("sim-text"));
    await expect(client.complete(requestFor("sim-echo"))).rejects.toThrow(
      `the limit of 1 request per minute for ${what} is reached`,
    );
  });

  it("holds the budgets of callers with access keys", async () => {
    const keys = { name: "shop", key: "a".repeat(16), budget: { window: "day", requests: 1 } };
    await writeFile(join(folder, "keys.yaml"), JSON.stringify({ keys: [keys] }));
    const client = await getClient("access_keys_file: keys.yaml");
    const budgets = [{ window: "day", requests: 1, countsModel: () => true }] as const;
    const caller = { name: "shop", isRestricted: false, allowsModel: () => true, budgets };
    await client.complete(requestFor("sim-text"), { caller });
    await expect(client.complete(requestFor("sim-text"), { caller })).rejects.toThrow(
      "the budget of 1 request per day for the caller shop",
    );
    await client.complete(requestFor("sim-text"), { caller: { ...caller, name: "search" } });
  });

  it("holds several budgets at once, and takes prices from the models of the file", async () => {
    const client = await getClient(
      "models: [{ id: sim-text, provider: one, prices: { input: 1, output: 1 } }]",
      ", budget: [{ window: day, usd: 0.01 }, { window: month, requests: 1 }]",
    );
    await client.complete(requestFor("sim-text"));
    await expect(client.complete(requestFor("sim-text"))).rejects.toThrow("1 request per month for one");
    await expect(client.complete(requestFor("sim-text", { maxTokens: 20_000 }))).rejects.toThrow(
      "0.01 US dollars per day for one",
    );
    await expect(client.complete(requestFor("sim-echo"))).rejects.toThrow(
      "the price of one, sim-echo is unknown",
    );
  });

  it("logs each attempt, with the content that the file asks for, and redacted", async () => {
    const client = await getClient(
      "middleware: { retries: { max_retries: 1, base_delay: 1ms }, logging: {} }",
      `, logging: { include: [messages, answer], max_text: 1000, redact: ['\\d{4}'] }`,
    );
    const messages = [userMessage("My card is 1234, my key sk-abcdefghijklmnop!")];
    await client.complete({ model: "sim-echo:status=503,times=1", provider: "one", messages });
    await client.complete({ model: "sim-echo", provider: "two", messages }, { inferenceId: "inf_2" });
    const text = "My card is [redacted], my key [redacted]!";
    expect(lines).toMatchObject([
      [
        { kind: "complete", provider: "one", error_kind: "SERVER", messages: [{ role: "user", text }] },
        "attempt",
      ],
      [{ kind: "complete", provider: "one", finish_reason: "STOP", answer: text }, "attempt"],
      [{ kind: "complete", provider: "two", inference_id: "inf_2", finish_reason: "STOP" }, "attempt"],
    ]);
    expect(Object.keys(lines[2]?.[0] ?? {})).not.toContain("messages");
    expect(Object.keys(lines[2]?.[0] ?? {})).not.toContain("answer");
  });

  it("answers a request from memory that was answered before", async () => {
    const client = await getClient(
      "",
      ", cache: { max_age: 1m, max_bytes: 1MiB, max_entries: 10, tool_calls: true }",
    );
    await client.complete(requestFor("sim-text"));
    expect((await client.complete(requestFor("sim-text"))).warnings).toMatchObject([{ code: "cache_hit" }]);
    await client.complete(requestFor("sim-text", { provider: "two" }));
    expect((await client.complete(requestFor("sim-text", { provider: "two" }))).warnings).toEqual([]);
  });

  it("applies everything at once, in an order in which each has its effect", async () => {
    const client = await getClient(
      `
middleware:
  model_aliases:
    fast: { provider: one, model: "sim-text:status=503", fallbacks: [{ provider: two, model: sim-text }] }
  retries: { max_retries: 1, base_delay: 1ms }
  circuit_breaker: { min_calls: 2 }
  rate_limit: { requests_per_minute: 100 }
  budget: { window: day, requests: 4 }
  logging: {}
`,
      ", cache: {}",
    );
    const first = await client.complete(requestFor("fast"));
    expect(first.attempts.map(({ provider }) => provider)).toEqual(["one", "one"]);
    const second = await client.stream(requestFor("fast")).final();
    expect(second.attempts).toMatchObject([{ provider: "one", error: { kind: ErrorKind.SERVER } }]);
    expect(second.attempts[0]?.error?.message).toContain("circuit breaker");
    expect(lines.map(([fields]) => Reflect.get(fields, "provider"))).toEqual(["one", "one", "two", "two"]);
    await expect(client.complete(requestFor("sim-text"))).rejects.toThrow(
      "4 requests per day for this sidecar",
    );
  });

  it.each([
    [
      "a pattern that is none",
      "middleware: { logging: { redact: ['('] } }",
      'middleware.logging.redact[0]: expected a regular expression in quotes, found "("',
    ],
    [
      "content that cannot be logged",
      "middleware: { logging: { include: [message] } }",
      'middleware.logging.include[0]: expected messages, answer, found "message"; did you mean "messages"?',
    ],
    [
      "a rate limit without a limit",
      "middleware: { rate_limit: { max_wait: 1s } }",
      "middleware.rate_limit: expected requests_per_minute, tokens_per_minute or both, found a mapping",
    ],
    [
      "a wait of more than an hour",
      "middleware: { rate_limit: { requests_per_minute: 1, max_wait: 2h } }",
      'middleware.rate_limit.max_wait: expected at most "1h", found "2h"',
    ],
    [
      "a budget without a limit",
      "middleware: { budget: { window: day } }",
      "middleware.budget: expected requests, tokens, usd or several of them",
    ],
    [
      "a budget of a week",
      "middleware: { budget: [{ window: week, usd: 1 }] }",
      'middleware.budget[0].window: expected hour, day, month, found "week"',
    ],
    [
      "a circuit breaker without calls",
      "middleware: { circuit_breaker: { min_calls: 0 } }",
      "middleware.circuit_breaker.min_calls: expected a whole number from 1, found 0",
    ],
    [
      "a number of retries that is too high",
      "middleware: { retries: { max_retries: 11 } }",
      "middleware.retries.max_retries: expected a whole number from 0 to 10, found 11",
    ],
    [
      "a retry budget in words",
      "middleware: { retries: { budget: { ratio: low } } }",
      'middleware.retries.budget.ratio: expected a number from 0 to 10, found "low"',
    ],
    [
      "rules for a model of a provider that does not exist",
      "models: [{ id: m, provider: other, retries: { max_retries: 1 } }]",
      'models[0].provider: expected main, found "other"',
    ],
    [
      "a fallback to a provider that does not exist",
      "middleware: { model_aliases: { fast: { model: m, fallbacks: [{ provider: other }] } } }",
      'middleware.model_aliases.fast.fallbacks[0].provider: expected main, found "other"',
    ],
    [
      "a rule for a provider that does not exist",
      "middleware: { fallbacks: [{ provider: other, targets: [{ model: m }] }] }",
      'middleware.fallbacks[0].provider: expected main, found "other"',
    ],
    [
      "a target without provider and model",
      "middleware: { fallbacks: [{ targets: [{}] }] }",
      "middleware.fallbacks[0].targets[0]: expected a provider, a model or both",
    ],
    [
      "a rule without targets",
      "middleware: { fallbacks: [{ targets: [] }] }",
      "middleware.fallbacks[0].targets: expected a list of targets, found an empty list",
    ],
    [
      "too many targets",
      `middleware: { fallbacks: [{ targets: [${"{ model: m }, ".repeat(9)}] }] }`,
      "middleware.fallbacks[0].targets: expected at most 8 targets, found a list",
    ],
    [
      "a kind of error that does not exist",
      "middleware: { fallbacks: [{ targets: [{ model: m }], on: [server, rate_limits] }] }",
      'found "rate_limits"; did you mean "rate_limit"?',
    ],
    [
      "a kind of error after which nothing can help",
      "middleware: { fallbacks: [{ targets: [{ model: m }], on: [abort] }] }",
      "middleware.fallbacks[0].on[0]: expected provider, authentication",
    ],
  ])("is refused with %s", async (_name, text, problem) => {
    await expect(load(`${text}\n${PROVIDERS}`)).rejects.toThrow(problem);
  });
});
