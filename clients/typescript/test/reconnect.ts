import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import { createServer, type Server } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, functionTool, generate, NetworkError, textOf, userMessage } from "outrigger-client";
import * as z from "zod";
import { createBrokenServer, MOMENTS } from "./broken-server.ts";

const OUTAGE_MS = 3_000;
/** Bounds the time until a client reaches a sidecar that returned. Twice the promise, for busy machines. */
const RECONNECT_MS = 2_000;

const request = { model: "sim-echo", messages: [userMessage("hello")] };

/** Checks of a sidecar that is away. */
export const reconnectChecks: readonly (readonly [name: string, check: () => Promise<void>])[] = [
  ["late_sidecar", lateSidecar],
  ["sidecar_that_returns", sidecarThatReturns],
  ["lost_connection", lostConnection],
];

/** A call, a stream and a tool loop that find no sidecar are made again and find it. */
async function lateSidecar(): Promise<void> {
  const port = await freePort();
  await using client = new Client({ address: `127.0.0.1:${port}` });
  const tool = functionTool({ name: "act", parameters: z.object({}), execute: () => "done" });
  const failures = Promise.allSettled([
    client.complete(request),
    client.stream(request).final(),
    generate({ client, ...request, tools: [tool], retry: { maxRetries: 0 } }),
  ]);
  // The first attempts are refused before this server listens.
  await sleep(50);
  const called: (string | undefined)[] = [];
  const server = createHttp2Server().on("stream", (opened, headers) => {
    called.push(headers[":path"]?.split("/").at(-1));
    // The client ends the connection of the tool loop, whose request is still open.
    opened.on("error", () => {});
    opened.respond({ "content-type": "application/grpc", "grpc-status": "16" }, { endStream: true });
  });
  server.listen(port, "127.0.0.1");
  for (const failure of await failures) {
    assert(failure.status === "rejected");
    assert(!(failure.reason instanceof NetworkError), String(failure.reason));
  }
  assert.deepEqual(called.sort(), ["Complete", "RunTools", "Stream"]);
  server.close();
}

/** Whenever a connection is lost, and however, its calls fail as failures of the network do. */
async function lostConnection(): Promise<void> {
  const tool = functionTool({ name: "act", parameters: z.object({}), execute: () => "done" });
  for (const moment of MOMENTS)
    for (const resets of [false, true]) {
      const server = createBrokenServer(moment, resets).listen(0, "127.0.0.1");
      await once(server, "listening");
      await using client = new Client({ address: getAddress(server) });
      const calls = [
        () => client.complete(request),
        () => client.stream(request).final(),
        () => generate({ client, ...request, tools: [tool], retry: { maxRetries: 0 } }),
      ];
      for (const call of calls)
        await assert.rejects(call, (error) => {
          assert(error instanceof NetworkError && error.retryable, `${moment}: ${error}`);
          return true;
        });
      server.close();
    }
}

async function sidecarThatReturns(): Promise<void> {
  const address = `127.0.0.1:${await freePort()}`;
  await using client = new Client({ address });
  await assert.rejects(client.waitUntilReady(0), NetworkError);
  const [first] = await Promise.all([startSidecar(address), client.waitUntilReady(120_000)]);
  assert.equal(textOf(await client.complete(request)), "hello");
  await first.stop();
  for (const end = Date.now() + OUTAGE_MS; Date.now() < end; )
    await assert.rejects(client.complete(request), NetworkError);
  const second = await startSidecar(address);
  const returned = Date.now();
  try {
    await reach(client, returned);
  } finally {
    await second.stop();
  }
}

async function reach(client: Client, returned: number): Promise<void> {
  for (;;) {
    try {
      await client.complete(request);
      return;
    } catch (error) {
      assert(error instanceof NetworkError && Date.now() - returned < RECONNECT_MS, String(error));
    }
  }
}

/** Starts `outrigger demo` with the command in `OUTRIGGER_COMMAND`, an argument a line, and waits until it is ready. */
async function startSidecar(address: string): Promise<{ stop(): Promise<void> }> {
  const [file = "", ...args] = process.env.OUTRIGGER_COMMAND?.split("\n") ?? [];
  assert.notEqual(file, "", "OUTRIGGER_COMMAND does not name the program");
  const admin = `127.0.0.1:${await freePort()}`;
  const env = { ...process.env, OUTRIGGER_LISTEN: address, OUTRIGGER_ADMIN_LISTEN: admin };
  const child = spawn(file, [...args, "demo"], { env, stdio: "ignore" });
  const exited = once(child, "exit");
  while (!(await isReady(`http://${admin}/readyz`))) {
    assert.equal(child.exitCode, null, "the sidecar did not start");
    await sleep(20);
  }
  return {
    async stop() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok === true;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = new URL(`http://${getAddress(server)}`);
  server.close();
  await once(server, "close");
  return Number(port);
}

function getAddress(server: Server): string {
  const address = server.address();
  assert(address !== null && typeof address === "object");
  return `127.0.0.1:${address.port}`;
}
