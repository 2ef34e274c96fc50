import { execFile } from "node:child_process";
import http2 from "node:http2";
import net from "node:net";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { runAfterOthers } from "../../../src/core/loop-turns.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../src/server/base/limits.ts";
import { openListener } from "../../../src/server/listen/listener.ts";
import { createIntake } from "../../../src/server/requests/intake.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** A listener that answers every request with its HTTP version. */
async function open(addresses: readonly string[] = ["127.0.0.1:0"], limits: Partial<Limits> = {}) {
  const listener = await openListener({
    field: "listen",
    addresses,
    intake: createIntake({ ...DEFAULT_LIMITS, ...limits }),
    handler: (request, response) => {
      request.resume();
      response.end(`HTTP/${request.httpVersion} ${request.url}`);
    },
  });
  servers.onEnd(() => listener.close());
  return listener;
}

function connect(address: string): net.Socket {
  const port = Number(address.slice(address.lastIndexOf(":") + 1));
  const socket = net.connect(port, "127.0.0.1").on("error", () => {});
  servers.onEnd(() => socket.destroy());
  return socket;
}

function closed(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

function read(socket: net.Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  return new Promise((resolve) => socket.once("close", () => resolve(text)));
}

function getOverHttp2(address: string): Promise<string> {
  const session = http2.connect(`http://${address}`);
  let text = "";
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/two" }).on("error", reject);
    stream.on("data", (chunk) => {
      text += chunk;
    });
    stream.on("end", () => {
      session.close(() => resolve(text));
    });
  });
}

function listeningSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length;
}

async function toFailure(opening: Promise<unknown>): Promise<ConfigurationError> {
  const thrown = await opening.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ConfigurationError)) throw new Error("expected a ConfigurationError");
  return thrown;
}

describe("one port", () => {
  it("speaks HTTP/1.1 and HTTP/2", async () => {
    const [address = ""] = (await open()).addresses;
    expect(await (await fetch(`http://${address}/one`)).text()).toBe("HTTP/1.1 /one");
    expect(await getOverHttp2(address)).toBe("HTTP/2.0 /two");
  });

  it("waits for a preface that comes byte by byte", async () => {
    const [address = ""] = (await open()).addresses;
    const socket = connect(address).setNoDelay();
    const answer = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    for (const byte of PREFACE) {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    // A SETTINGS frame on stream 0.
    expect([...(await answer).subarray(3, 9)]).toEqual([4, 0, 0, 0, 0, 0]);
  });

  it("serves an HTTP/2 connection that has sent little before postponed work", async () => {
    const [address = ""] = (await open()).addresses;
    let left = 60;
    for (let count = left; count > 0; count -= 1)
      runAfterOthers(() => {
        for (const end = performance.now() + 12; performance.now() < end; );
        left -= 1;
      });
    await getOverHttp2(address);
    expect(left).toBeGreaterThan(20);
  });

  it("serves a request that shares its first letters with the preface", async () => {
    const [address = ""] = (await open()).addresses;
    const socket = connect(address);
    socket.write("PR");
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.write("OPFIND /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(await read(socket)).toContain("HTTP/1.1 /x");
  });

  it("answers a client that closes its side after its request", async () => {
    const [address = ""] = (await open()).addresses;
    const socket = connect(address);
    socket.end("GET /half HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(await read(socket)).toContain("HTTP/1.1 /half");
  });

  it("answers an upgrade to h2c over HTTP/1.1", async () => {
    const [address = ""] = (await open()).addresses;
    const { stdout } = await promisify(execFile)("curl", ["-s", "--http2", `http://${address}/up`]);
    expect(stdout).toBe("HTTP/1.1 /up");
  });

  it("rejects bytes that are not HTTP", async () => {
    const [address = ""] = (await open()).addresses;
    const socket = connect(address);
    socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]));
    expect(await read(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("rejects headers that are too large, over HTTP/1.1 and HTTP/2", async () => {
    const [address = ""] = (await open(undefined, { maxHeaderListBytes: 8192 })).addresses;
    const headers = { "x-large": "y".repeat(9000) };
    expect((await fetch(`http://${address}/`, { headers })).status).toBe(431);
    const session = http2.connect(`http://${address}`).on("error", () => {});
    servers.onEnd(() => session.destroy());
    // The limit holds as soon as the client knows the limit.
    await new Promise((resolve) => session.once("remoteSettings", () => session.ping(resolve)));
    const stream = session.request(headers);
    await expect(new Promise((_, reject) => stream.once("error", reject))).rejects.toThrow();
  });
});

describe("several addresses", () => {
  it("are all served", async () => {
    const { addresses } = await open(["127.0.0.1:0", "[::1]:0", ":0"]);
    expect(addresses).toEqual([
      expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      expect.stringMatching(/^\[::1\]:\d+$/),
      expect.stringMatching(/^\[::\]:\d+$/),
    ]);
    for (const address of addresses) {
      expect(await (await fetch(`http://${address}/`)).text()).toBe("HTTP/1.1 /");
    }
  });

  it("are opened all or none", async () => {
    const [busy = ""] = (await open()).addresses;
    const before = listeningSockets();
    await toFailure(open(["127.0.0.1:0", busy]));
    await expect.poll(listeningSockets).toBe(before);
  });

  it.each([
    [
      "a port in use",
      /^listen: 127\.0\.0\.1:\d+ cannot be bound \(EADDRINUSE\): another process is listening there; stop it/,
    ],
    [
      "192.0.2.1:0",
      /^listen: 192\.0\.2\.1:0 cannot be bound \(EADDRNOTAVAIL\): this machine does not have the address/,
    ],
    [
      "no-such-host.invalid:0",
      /^listen: no-such-host\.invalid:0 cannot be bound \((ENOTFOUND|EAI_AGAIN)\): the host name/,
    ],
    [
      "unix:///nowhere/at/all.sock",
      /^listen: unix:\/\/\/nowhere\/at\/all\.sock cannot be bound \(\w+\): its directory must exist/,
    ],
  ])("%s is an error that names a remedy", async (address, message) => {
    const [busy = ""] = (await open()).addresses;
    const error = await toFailure(open([address === "a port in use" ? busy : address]));
    expect(error.message).toMatch(message);
    expect(error.violations[0]?.field).toBe("listen");
  });
});

describe("a connection whose peer is gone", () => {
  it("is closed if it sends nothing", async () => {
    const [address = ""] = (await open(undefined, { protocolTimeoutMs: 50 })).addresses;
    await closed(connect(address));
  });

  it("in the middle of the preface is closed", async () => {
    const [address = ""] = (await open(undefined, { protocolTimeoutMs: 50 })).addresses;
    const socket = connect(address);
    socket.write(PREFACE.slice(0, 10));
    await closed(socket);
  });

  it("gets an error if it stops in the middle of its headers", async () => {
    const [address = ""] = (await open(undefined, { headersTimeoutMs: 100 })).addresses;
    const socket = connect(address);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n");
    expect(await read(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("after its request is closed when it was idle too long", async () => {
    const [address = ""] = (await open(undefined, { idleTimeoutMs: 50 })).addresses;
    const socket = connect(address);
    socket.write("GET /idle HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await read(socket)).toContain("HTTP/1.1 /idle");
  });

  it("without closing its HTTP/2 connection is found by a ping", async () => {
    const [address = ""] = (await open(undefined, { keepaliveIntervalMs: 50 })).addresses;
    const socket = connect(address);
    // A preface and empty settings, and then silence: pings stay unanswered.
    socket.write(Buffer.concat([Buffer.from(PREFACE), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]));
    socket.resume();
    await closed(socket);
  });

  it("having closed its side of an HTTP/2 connection is closed", async () => {
    const [address = ""] = (await open()).addresses;
    const socket = connect(address).resume();
    socket.write(Buffer.concat([Buffer.from(PREFACE), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]));
    await new Promise((resolve) => socket.once("data", resolve));
    socket.end();
    await closed(socket);
  });

  it("is not one that answers pings", async () => {
    const [address = ""] = (await open(undefined, { keepaliveIntervalMs: 300 })).addresses;
    const session = http2.connect(`http://${address}`);
    servers.onEnd(() => session.destroy());
    let pings = 0;
    await new Promise<void>((resolve) => {
      session.on("ping", () => {
        pings += 1;
        if (pings === 3) resolve();
      });
    });
    expect(session.destroyed).toBe(false);
  });
});
