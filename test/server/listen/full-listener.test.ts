import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../src/server/base/limits.ts";
import { openListener } from "../../../src/server/listen/listener.ts";
import { createIntake } from "../../../src/server/requests/intake.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** A little longer than a connection must have been idle. */
const IDLE_MS = 1100;

/** A listener for two connections, which answers at once, or never below `/wait`. */
async function open() {
  let refused = 0;
  const listener = await openListener({
    field: "listen",
    addresses: ["127.0.0.1:0"],
    intake: createIntake({ ...DEFAULT_LIMITS, maxConnections: 2 }),
    handler(request, response) {
      if (request.url !== "/wait") return void response.end("answered");
      response.write("begun");
    },
    upgrades: {
      takes: () => true,
      serve: (_request, connection) => void connection.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    },
    onRefused: () => {
      refused += 1;
    },
  });
  servers.onEnd(() => listener.close());
  const port = Number(listener.addresses[0]?.split(":").at(-1));
  return { port, refused: () => refused };
}

/** A connection that sends some bytes, and the reason why it ended, if it did. */
function connect(port: number, bytes = ""): { socket: net.Socket; isClosed: () => boolean } {
  const socket = net.connect(port, "127.0.0.1").on("error", () => {});
  let isClosed = false;
  socket.resume().once("close", () => {
    isClosed = true;
  });
  if (bytes !== "") socket.write(bytes);
  servers.onEnd(() => socket.destroy());
  return { socket, isClosed: () => isClosed };
}

function get(port: number, path = "/"): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get({ port, path, agent: false, host: "127.0.0.1" }, (response) => {
      response.setEncoding("utf8").on("data", resolve).on("error", reject);
    });
    request.on("error", reject);
  });
}

async function connectHttp2(port: number, path?: string): Promise<{ isClosed: () => boolean }> {
  const session = http2.connect(`http://127.0.0.1:${port}`).on("error", () => {});
  servers.onEnd(() => session.destroy());
  await once(session, "connect");
  let isClosed = false;
  session.once("close", () => {
    isClosed = true;
  });
  if (path !== undefined)
    await once(
      session.request({ ":path": path }).on("error", () => {}),
      "data",
    );
  return { isClosed: () => isClosed };
}

const HTTP1_GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

describe("a listener with as many connections as it may have", () => {
  it("closes the connection that has been idle longest for a new one", async () => {
    const { port, refused } = await open();
    const first = connect(port, HTTP1_GET);
    await once(first.socket, "data");
    const second = await connectHttp2(port, "/");
    await sleep(IDLE_MS);
    first.socket.write(HTTP1_GET);
    await once(first.socket, "data");
    expect(await get(port)).toBe("answered");
    await expect.poll(second.isClosed).toBe(true);
    expect([first.isClosed(), refused()]).toEqual([false, 0]);
  });

  it.each([
    ["have said nothing", (port: number) => connect(port)],
    ["have sent a part of a request", (port: number) => connect(port, "GET / HTTP/1.1\r\nHo")],
    ["have opened HTTP/2 and called nothing", (port: number) => connectHttp2(port)],
  ])("closes connections that %s", async (_name, connectIdle) => {
    const { port, refused } = await open();
    const idle = await Promise.all([connectIdle(port), connectIdle(port)]);
    await sleep(IDLE_MS);
    expect(await Promise.all([get(port), get(port)])).toEqual(["answered", "answered"]);
    await expect.poll(() => idle.map(({ isClosed }) => isClosed())).toEqual([true, true]);
    expect(refused()).toBe(0);
  });

  it.each([
    ["that has been idle for less than a second", (port: number) => connectHttp2(port, "/"), 0],
    ["with a call of HTTP/2", (port: number) => connectHttp2(port, "/wait"), IDLE_MS],
    [
      "with a request of HTTP/1.1",
      async (port: number) => {
        const connection = connect(port, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
        await once(connection.socket, "data");
        return connection;
      },
      IDLE_MS,
    ],
    [
      "that was upgraded",
      async (port: number) => {
        const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n";
        const connection = connect(port, upgrade);
        await once(connection.socket, "data");
        return connection;
      },
      IDLE_MS,
    ],
  ])("closes no connection %s", async (_name, connectBusy, waitMs) => {
    const { port, refused } = await open();
    const busy = await Promise.all([connectBusy(port), connectBusy(port)]);
    await sleep(waitMs);
    await expect(get(port)).rejects.toThrow();
    expect(refused()).toBe(1);
    expect(busy.map(({ isClosed }) => isClosed())).toEqual([false, false]);
  });
});
