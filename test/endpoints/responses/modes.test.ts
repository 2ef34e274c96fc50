/** Stored and unstored runs give the same response, with the same events. */
import { describe, expect, it } from "vitest";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";

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
  it.each(["openai", "compatible", "anthropic", "gemini"])(
    "have the same events from %s",
    async (provider) => {
      // Each has a separate simulator: the ids that it gives count up.
      const [keeping, forgetting] = [await startApi(servers), await startApi(servers)];
      const tools = [
        { type: "function", name: "get_weather", parameters: { type: "object", properties: {} } },
      ];
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
    },
  );
});
