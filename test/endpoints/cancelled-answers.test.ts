/** Answers that a server of the Responses API cancelled, over each HTTP API. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { useTestServers } from "../server/support/test-server.ts";
import { type ApiName, createBody, getPath, getStreamPath } from "./apis/features.ts";
import { startApi } from "./support/api-server.ts";

const servers = useTestServers();

const item = { type: "message", id: "msg_1", role: "assistant", status: "incomplete" };
const content = [{ type: "output_text", text: "Half", annotations: [] }];
const response = { id: "resp_1", object: "response", model: "m", output: [{ ...item, content }] };

/** The body of an answer with a status. @param event The type of the last event of a stream. */
function toBody(status: string, event: string, streams: boolean): string {
  if (!streams) return JSON.stringify({ ...response, status });
  return [
    { type: "response.created", response: { ...response, output: [], status: "in_progress" } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Half" },
    { type: "response.output_item.done", output_index: 0, item: { ...item, content } },
    { type: event, response: { ...response, status } },
  ]
    .map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)
    .join("");
}

async function startServer(status: string, event: string) {
  const server = createServer((request, answer) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const streams = /"stream":\s*true/.test(Buffer.concat(chunks).toString());
      answer.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
      answer.end(toBody(status, event, streams));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  servers.onEnd(() => server.close());
  const { port } = server.address() as AddressInfo;
  return await startApi(servers, { providerUrl: `http://127.0.0.1:${port}` });
}

const FAILURE = String.raw`the provider ended the answer with the finish reason \"cancelled\"`;

const APIS: readonly (readonly [api: ApiName, settings: object])[] = [
  ["responses", { store: true }],
  ["chat", {}],
  ["messages", {}],
  ["gemini", {}],
];

it.each(APIS)("An answer that was cancelled is a failure over %s", async (api, settings) => {
  const { fetch } = await startServer("cancelled", "response.cancelled");
  const send = (path: string, fields: object) => {
    const body = JSON.stringify({ ...createBody(api, "openai/m"), ...settings, ...fields });
    return fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body });
  };
  const whole = await send(getPath(api, "openai/m"), {});
  expect(whole.status).toBe(502);
  expect(await whole.text()).toContain(FAILURE);
  const streamed = await send(getStreamPath(api, "openai/m"), api === "gemini" ? {} : { stream: true });
  // The text comes first, also if it and the failure were one read of the network.
  const [before = "", after] = (await streamed.text()).split(FAILURE, 2);
  expect(before).toContain("Half");
  expect(after).not.toContain("Half");
});

it("A relayed answer that was cancelled is what the server wrote", async () => {
  const { fetch } = await startServer("cancelled", "response.cancelled");
  const send = (stream: boolean) =>
    fetch("/v1/responses", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...createBody("responses", "openai/m"), stream }),
    });
  expect(await (await send(false)).text()).toBe(toBody("cancelled", "", false));
  expect(await (await send(true)).text()).toBe(toBody("cancelled", "response.cancelled", true));
});
