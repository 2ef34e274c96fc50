import { expect, it } from "vitest";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";

const servers = useTestServers();

it("answers under /v1", async () => {
  const api = await startApi(servers);
  const response = await api.fetch("/v1/ping");
  expect([response.status, await response.json()]).toEqual([200, { pong: expect.any(String) }]);
  expect((await api.fetch("/v1/ping", { method: "POST" })).status).toBe(405);
});
