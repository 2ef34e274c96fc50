/** The errors for callers of the HTTP APIs whose calls have not ended when a drain runs out. */
import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { columns } from "../../providers/support/columns.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";
import { eventsIn } from "../support/events-in.ts";
import { readField } from "./answers.ts";
import { type ApiName, createBody, getPath, getStreamPath } from "./features.ts";

const servers = useTestServers();

const STOPPING = "the sidecar is stopping and did not wait for the call any longer";

/** Ends long after the drain. */
const SLOW = "sim-long:tokens=2000,rate=50";

/** The word of each API for a server that may be asked again, and its HTTP status. */
const ERRORS: readonly (readonly [ApiName, string, number])[] = [
  ["responses", "server_error", 503],
  ["chat", "server_error", 503],
  ["messages", "overloaded_error", 529],
  ["gemini", "UNAVAILABLE", 503],
];

const cases = ERRORS.flatMap(([api, word, status]) =>
  columns.map(({ name }) => ({ api, word, status, column: name, model: `${name}/${SLOW}` })),
);

function post(server: ApiServer, path: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return server.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

describe("When the time of a drain runs out", () => {
  it.each(cases)(
    "a stream of $api with $column behind it ends with the error of the API",
    async ({ api, word, model }) => {
      const server = await startApi(servers, { drainTimeoutMs: 50 });
      const body = { ...createBody(api, model), ...(api !== "gemini" && { stream: true }) };
      const answer = await post(server, getStreamPath(api, model), body);
      const [text] = await Promise.all([answer.text(), server.server.drain()]);
      const last = eventsIn(text).at(-1);
      expect(readField(api, "streamError", last)).toEqual([word]);
      expect(JSON.stringify(last)).toContain(STOPPING);
    },
  );

  it.each(cases)(
    "a whole answer of $api with $column behind it is an error with the status of the API",
    async ({ api, word, status, model }) => {
      const server = await startApi(servers, { drainTimeoutMs: 50 });
      const answered = post(server, getPath(api, model), createBody(api, model));
      await vi.waitFor(() => expect(server.simulator.requests).toHaveLength(1));
      const [answer] = await Promise.all([answered, server.server.drain()]);
      const failure = await answer.json();
      expect([answer.status, readField(api, "error", failure)]).toEqual([status, [word]]);
      expect(JSON.stringify(failure)).toContain(STOPPING);
    },
  );

  it.each([true, false])(
    "a WebSocket gets the error of its response, and then the close status 1012 (store: %s)",
    async (store) => {
      const server = await startApi(servers, { drainTimeoutMs: 50 });
      const socket = new WebSocket(`${server.server.url.replace(/^http/, "ws")}/v1/responses`);
      servers.onEnd(() => socket.terminate());
      const messages: { type: string; error?: { message: string } }[] = [];
      socket.on("message", (data) => messages.push(JSON.parse(String(data))));
      await once(socket, "open");
      socket.send(JSON.stringify({ type: "response.create", model: `openai/${SLOW}`, input: "hi", store }));
      await vi.waitFor(() => expect(messages.length).toBeGreaterThan(2));
      const [[code]] = await Promise.all([once(socket, "close"), server.server.drain()]);
      expect(code).toBe(1012);
      expect(JSON.stringify(messages.at(-1))).toContain(STOPPING);
    },
  );
});
