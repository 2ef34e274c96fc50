/** A response is the same streamed and whole, stored and not stored, and read again. */
import { describe, expect, it } from "vitest";
import type { RunEngine } from "../../../src/runs/run-engine.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";
import { eventsIn } from "../support/events-in.ts";
import { expectWholeStream } from "../support/expect-whole-stream.ts";

const servers = useTestServers();

/** The bytes of a response's events, without the parts that differ between responses. */
async function getEvents({ fetch }: ApiServer, body: object): Promise<string[]> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const text = await (await fetch("/v1/responses", init)).text();
  return text
    .replace(/_[0-9a-f]{32}([0-9a-f]*)"/g, '_ID$1"')
    .replace(/"(created_at|completed_at)":\d+/g, '"$1":0')
    .replace(/"store":(true|false)/g, '"store":true')
    .split("\n\n");
}

describe("a response that is kept, and one that is not", () => {
  // A response of OpenAI that is not kept is relayed as it is.
  it.each(["compatible", "anthropic", "gemini"])("have the same events from %s", async (provider) => {
    // Each has a separate simulator: the ids that it gives count up.
    const [keeping, forgetting] = [await startApi(servers), await startApi(servers)];
    const tools = [{ type: "function", name: "get_weather", parameters: { type: "object", properties: {} } }];
    for (const model of ["sim-text", "sim-tools"]) {
      const body = { model: `${provider}/${model}`, input: "Weather in Oslo?", tools, stream: true };
      const kept = await getEvents(keeping, {
        ...body,
        store: true,
        include: ["reasoning.encrypted_content"],
      });
      const unkept = await getEvents(forgetting, {
        ...body,
        store: false,
        include: ["reasoning.encrypted_content"],
      });
      expect(kept.length).toBeGreaterThan(5);
      expect(unkept).toEqual(kept);
    }
  });
});

describe("a response that is neither kept nor uses tools of servers", () => {
  it.each(["openai", "anthropic"])("is one call of %s, and no run", async (provider) => {
    let runs = 0;
    const wrapEngine = (engine: RunEngine) => {
      const createRun = engine.createRun.bind(engine);
      return Object.assign(engine, {
        createRun: (...all: Parameters<RunEngine["createRun"]>) => {
          runs += 1;
          return createRun(...all);
        },
      });
    };
    const { fetch, simulator } = await startApi(servers, { wrapEngine });
    const tools = [{ type: "function", name: "get_weather", parameters: { type: "object", properties: {} } }];
    const create = async (more: object) => {
      const body = { model: `${provider}/sim-tools`, input: "Weather in Oslo?", tools, ...more };
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      expect(await (await fetch("/v1/responses", init)).text()).toContain("get_weather");
    };
    for (const stream of [true, false]) await create({ store: false, stream });
    expect([runs, simulator.requests.length]).toEqual([0, 2]);
    await create({ store: true });
    expect(runs).toBe(1);
  });
});

/** A response without the parts that differ between responses. */
function withoutIds(response: unknown): unknown {
  return JSON.parse(
    JSON.stringify(response)
      .replace(/_[0-9a-f]{32}([0-9a-f]*)"/g, '_ID$1"')
      .replace(/"(created_at|completed_at)":\d+/g, '"$1":0'),
  );
}

describe("a response that is not streamed", () => {
  it.each(
    ["openai", "compatible", "anthropic", "gemini"]
      .flatMap((provider) => [true, false].map((store) => ({ provider, store })))
      .filter(({ provider, store }) => store || provider !== "openai"),
  )(
    "is the one that a stream ends with, and that a reader finds ($provider, store: $store)",
    async (wanted) => {
      const { provider, store } = wanted;
      // Each has a separate simulator: the ids that it gives count up.
      const [streaming, whole] = [await startApi(servers), await startApi(servers)];
      const tools = [
        { type: "function", name: "get_weather", parameters: { type: "object", properties: {} } },
      ];
      const post = (api: ApiServer, body: object) =>
        api.fetch("/v1/responses", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      for (const model of ["sim-text", "sim-tools", "sim-long:tokens=400,rate=4000"]) {
        const include = ["reasoning.encrypted_content"];
        const body = { model: `${provider}/${model}`, input: "Weather in Oslo?", tools, include, store };
        const events = eventsIn(await (await post(streaming, { ...body, stream: true })).text());
        const answer = (await (await post(whole, body)).json()) as { readonly id: string };
        expect(withoutIds(answer)).toEqual(withoutIds(events.at(-1)?.response));
        const path = `/v1/responses/${answer.id}`;
        if (!store) {
          expect((await whole.fetch(path)).status).toBe(404);
          continue;
        }
        expect(await (await whole.fetch(`${path}?include=${include[0]}`)).json()).toEqual(answer);
        const replayed = eventsIn(
          await (await whole.fetch(`${path}?stream=true&include=${include[0]}`)).text(),
        );
        expect(expectWholeStream(replayed)).toEqual(answer);
      }
      const { requests } = whole.simulator;
      expect(requests.length).toBe(3);
      for (const { path: url, body } of requests)
        expect(url.includes("stream") || (body as { readonly stream?: boolean }).stream === true).toBe(false);
    },
  );
});
