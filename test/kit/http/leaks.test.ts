import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { serveHttp, waitUntil } from "./servers.ts";

const SCRIPT = `
  const { createHttpTransport } = await import(process.argv[1]);
  const transport = createHttpTransport({ baseUrl: process.argv[2], environment: {} });
  const post = (path, options) => transport.post(path, { headers: {}, body: "x", ...options });
  const failed = (promise) => promise.then(() => "none", (error) => error.name);
  const texts = [];
  for (let call = 0; call < 10; call += 1) texts.push((await (await post("whole")).text(100)).length);
  const left = [];
  for (let call = 0; call < 5; call += 1) {
    for await (const chunk of (await post("endless")).body) { left.push(chunk.length > 0); break; }
  }
  const controller = new AbortController();
  const aborted = [failed(post("silent", { signal: controller.signal })), failed((await post("endless", { signal: controller.signal })).text(1e9))];
  setTimeout(() => controller.abort(), 20);
  const timedOut = failed(post("silent", { timeouts: { requestMs: 20 } }));
  const lost = failed(post("cut"));
  const kinds = await Promise.all([...aborted, timedOut, lost]);
  const held = () => process.getActiveResourcesInfo().filter((name) => !["PipeWrap", "TTYWrap"].includes(name));
  for (let turn = 0; held().length > 0 && turn < 500; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  console.log(JSON.stringify({ texts: texts.length, left: left.length, kinds, held: held() }));
`;

it("a process that used a transport in every way, and did not close it, ends by itself", async () => {
  const { port, sockets } = await serveHttp((request, response) => {
    request.resume();
    if (request.url === "/whole") response.end("ok");
    else if (request.url === "/endless") response.write("x");
    else if (request.url === "/cut") response.destroy();
  });
  const source = new URL("../../../src/kit/http/transport.ts", import.meta.url).href;
  const child = promisify(execFile)(process.execPath, [
    "--input-type=module",
    "-e",
    SCRIPT,
    source,
    `http://127.0.0.1:${port}`,
  ]);
  const report = JSON.parse((await child).stdout);
  expect(report).toMatchObject({
    texts: 10,
    left: 5,
    kinds: ["AbortError", "AbortError", "RequestTimeoutError", "NetworkError"],
    held: [],
  });
  await waitUntil(() => sockets.every((socket) => socket.destroyed));
});
