import { once } from "node:events";
import net from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { HttpRequest, HttpResponse, UpgradeHandler } from "../../../src/server/base/http-types.ts";
import { DEFAULT_LIMITS } from "../../../src/server/base/limits.ts";
import { openListener } from "../../../src/server/listen/listener.ts";
import { createIntake } from "../../../src/server/requests/intake.ts";
import { createRandom } from "../../support/random.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

type Serve = (request: HttpRequest, response: HttpResponse) => void;

/** Opens a listener and a connection. Returns both, and the number of requests in progress. */
async function open(serve: Serve, upgrades?: UpgradeHandler) {
  const seen = { requests: 0, inProgress: 0, most: 0 };
  const listener = await openListener({
    field: "listen",
    addresses: ["127.0.0.1:0"],
    intake: createIntake(DEFAULT_LIMITS),
    handler(request, response) {
      seen.requests += 1;
      seen.inProgress += 1;
      seen.most = Math.max(seen.most, seen.inProgress);
      response.once("finish", () => {
        seen.inProgress -= 1;
      });
      serve(request, response);
    },
    upgrades,
  });
  servers.onEnd(() => listener.close());
  const port = Number(listener.addresses[0]?.split(":").at(-1));
  const socket = net.connect(port, "127.0.0.1").on("error", () => {});
  servers.onEnd(() => socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  return { seen, socket, bodies: () => text.match(/<[^>]*>/g) ?? [], text: () => text };
}

/** Answers with `<method path length-of-body>` when the whole body has come. */
const echo: Serve = (request, response) => {
  let length = 0;
  request.on("data", (chunk: Buffer) => {
    length += chunk.length;
  });
  request.on("end", () => response.end(`<${request.method} ${request.url} ${length}>`));
};

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
}

function post(path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function postChunks(path: string, chunks: readonly string[], trailers = ""): string {
  const framed = chunks.map((chunk) => `${chunk.length.toString(16)};note="a"\r\n${chunk}\r\n`).join("");
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${framed}0\r\n${trailers}\r\n`;
}

describe("requests that a client sends without waiting for answers", () => {
  it("are served one at a time, in their order", async () => {
    const { socket, seen, bodies } = await open(echo);
    const paths = Array.from({ length: 3000 }, (_, index) => `/${index}`);
    socket.write(paths.map(get).join(""));
    await expect.poll(() => bodies().length).toBe(paths.length);
    expect(bodies()).toEqual(paths.map((path) => `<GET ${path} 0>`));
    expect(seen.most).toBe(1);
  });

  it("wait until the answer before them is written", async () => {
    const answers: (() => void)[] = [];
    const { socket, seen, bodies } = await open((request, response) => {
      answers.push(() => response.end(`<${request.url}>`));
    });
    socket.write(get("/1") + get("/2") + get("/3"));
    for (const count of [1, 2, 3]) {
      await expect.poll(() => seen.requests).toBe(count);
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
      expect(seen.requests).toBe(count);
      answers.at(-1)?.();
      await expect.poll(() => bodies().length).toBe(count);
    }
  });

  it("wait behind a body that is still being sent, and behind the end of one whose answer came first", async () => {
    const { socket, seen, bodies } = await open((request, response) => {
      request.resume();
      response.end(`<${request.url}>`);
    });
    socket.write("POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n0123456789");
    await expect.poll(() => bodies()).toEqual(["</1>"]);
    socket.write(`0123456789${get("/2")}${get("/3")}`);
    await expect.poll(() => bodies()).toEqual(["</1>", "</2>", "</3>"]);
    expect(seen.most).toBe(1);
  });

  it("are served one at a time if Node answers some itself", async () => {
    const { socket, seen, text } = await open(echo);
    const refused = "GET / HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\n\r\n";
    socket.write(refused + get("/1") + refused + get("/2"));
    await expect
      .poll(() => text().match(/HTTP\/1\.1 \d+|<.*?>/g))
      .toEqual(["HTTP/1.1 417", "HTTP/1.1 200", "<GET /1 0>", "HTTP/1.1 417", "HTTP/1.1 200", "<GET /2 0>"]);
    expect(seen.most).toBe(1);
  });

  it("are understood wherever their bytes are split, whatever their bodies contain", async () => {
    const random = createRandom(20_261_123);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const parts = ["\r\n\r\n", "0\r\n\r\n", get("/smuggled"), "x".repeat(5000), "\n", "abc"];
    const text = () => Array.from({ length: Math.floor(random() * 4) }, () => pick(parts)).join("");
    for (let round = 0; round < 10; round += 1) {
      const expected: string[] = [];
      const requests = Array.from({ length: 20 }, (_, index) => {
        const path = `/${index}`;
        const kind = Math.floor(random() * 3);
        if (kind === 0) {
          expected.push(`<GET ${path} 0>`);
          return get(path);
        }
        const chunks = [text(), text()].filter((chunk) => chunk !== "");
        expected.push(`<POST ${path} ${chunks.join("").length}>`);
        if (kind === 1) return post(path, chunks.join(""));
        return postChunks(path, chunks, pick(["", "A: b\r\n", "A: b\r\nC: d\r\n"]));
      });
      const { socket, seen, bodies } = await open(echo);
      socket.setNoDelay();
      for (let rest = requests.join(""); rest !== ""; ) {
        const length = 1 + Math.floor(random() * pick([3, 50, 20_000]));
        socket.write(rest.slice(0, length));
        rest = rest.slice(length);
        await nextTurn();
      }
      await expect.poll(() => bodies().length).toBe(expected.length);
      expect(bodies()).toEqual(expected);
      expect(seen.most).toBe(1);
    }
  });

  it("do not begin after the connection is upgraded, since later bytes belong to the new protocol", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { socket, seen } = await open(echo, {
      takes: () => true,
      serve(_request, connection, head) {
        let text = head.toString();
        connection.on("data", (chunk: Buffer) => {
          text += chunk;
          if (text.endsWith("end")) resolve(text);
        });
      },
    });
    const upgrade = "GET /up HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n";
    socket.write(`${get("/1")}${upgrade}${get("/not-http")}end`);
    expect(await promise).toBe(`${get("/not-http")}end`);
    expect(seen.requests).toBe(1);
  });
});

it("notices that a client that waits for its answer has disconnected", async () => {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const { socket, seen } = await open((request) => request.once("close", resolve));
  socket.write(get("/1") + get("/2"));
  await expect.poll(() => seen.requests).toBe(1);
  socket.resetAndDestroy();
  await once(socket, "close");
  await gone;
  expect(seen.requests).toBe(1);
});

describe("requests of many connections", () => {
  it("begin in several turns of the event loop", async () => {
    let turn = 0;
    let begun: number[] = [];
    const { seen, socket } = await open((_request, response) => {
      begun.push(turn);
      for (const end = performance.now() + 3; performance.now() < end; );
      response.end("<done>");
    });
    if (socket.connecting) await once(socket, "connect");
    const { remotePort = 0 } = socket;
    const sockets = Array.from({ length: 40 }, () => net.connect(remotePort, "127.0.0.1"));
    servers.onEnd(() => sockets.forEach((each) => void each.destroy()));
    // The first requests arrive one after the other, with their connections.
    for (const each of sockets) each.write(get("/"));
    await Promise.all(sockets.map((each) => once(each, "data")));
    begun = [];
    for (const each of sockets) each.write(get("/"));
    while (seen.requests < 2 * sockets.length) {
      turn += 1;
      await nextTurn();
    }
    const most = Math.max(...begun.map((each) => begun.filter((other) => other === each).length));
    expect(most).toBeLessThanOrEqual(8);
  });

  it("are read in several turns of the event loop, however small the chunks of their bodies", async () => {
    let turn = 0;
    const read: number[] = [];
    const { seen, socket } = await open((request) => {
      request.on("data", () => {
        read.push(turn);
        for (const end = performance.now() + 3; performance.now() < end; );
      });
    });
    if (socket.connecting) await once(socket, "connect");
    const { remotePort = 0 } = socket;
    const sockets = Array.from({ length: 40 }, () => net.connect(remotePort, "127.0.0.1"));
    servers.onEnd(() => sockets.forEach((each) => void each.destroy()));
    for (const each of sockets)
      each.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    await expect.poll(() => seen.requests).toBe(sockets.length);
    for (const each of sockets) each.write("1;a=b\r\nx\r\n");
    while (read.length < sockets.length) {
      turn += 1;
      await nextTurn();
    }
    const most = Math.max(...read.map((each) => read.filter((other) => other === each).length));
    expect(most).toBeLessThanOrEqual(8);
  });
});
