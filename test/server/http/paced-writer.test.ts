import { once } from "node:events";
import { createServer as createHttp1, get, type IncomingMessage } from "node:http";
import { connect, createServer as createHttp2 } from "node:http2";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HttpResponse } from "../../../src/server/base/http-types.ts";
import { PeerClosedError } from "../../../src/server/http/flushed-response.ts";
import {
  endPaced,
  endWithHeaders,
  endWithHeadersPaced,
  writePaced,
} from "../../../src/server/http/paced-writer.ts";

/** The peer of a response. */
interface Peer {
  /** Reads the answer to its end. */
  read(): Promise<{ readonly headers: object; readonly body: string }>;
  /** Breaks the connection. */
  leave(): void;
}

/** Returns a response, and its peer, which has read nothing. */
async function openResponse(version: 1 | 2): Promise<{ response: HttpResponse; peer: Peer }> {
  const served = Promise.withResolvers<HttpResponse>();
  const server = version === 1 ? createHttp1() : createHttp2();
  server.on("request", (_request: unknown, response: HttpResponse) => served.resolve(response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  const peer = version === 1 ? callHttp1(address.port) : callHttp2(address.port);
  onTestFinished(() => peer.leave());
  return { response: await served.promise, peer };
}

/** Returns a response whose peer has left, after its event "close". */
async function getClosedResponse(version: 1 | 2): Promise<HttpResponse> {
  const { response, peer } = await openResponse(version);
  const closed = new Promise((resolve) => response.once("close", resolve));
  peer.leave();
  await closed;
  return response;
}

function callHttp1(port: number): Peer {
  const call = get({ port, host: "127.0.0.1" }).on("error", () => {});
  const answered = once(call, "response");
  answered.catch(() => {});
  return {
    async read() {
      const [answer] = (await answered) as [IncomingMessage];
      return { headers: answer.headers, body: await text(answer) };
    },
    leave: () => void call.destroy(),
  };
}

function callHttp2(port: number): Peer {
  const session = connect(`http://127.0.0.1:${port}`).on("error", () => {});
  const stream = session.request({ ":path": "/" }).on("error", () => {});
  const answered = once(stream, "response");
  answered.catch(() => {});
  return {
    async read() {
      const [headers] = (await answered) as [object];
      return { headers, body: await text(stream) };
    },
    leave: () => session.destroy(),
  };
}

/** More than the buffers between a server and its peer hold. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, "x");

/** Whether a promise has settled when all that can happen without the peer has happened. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), sleep(200).then(() => false)]);
}

describe.each([1, 2] as const)("a response over HTTP/%i", (version) => {
  it("is written and ended, each as soon as the bytes are on their way", async () => {
    const { response, peer } = await openResponse(version);
    await writePaced(response, Buffer.from("first "));
    await writePaced(response, Buffer.from("second "));
    await endPaced(response, "last");
    expect((await peer.read()).body).toBe("first second last");
  });

  it("waits with each write, and with its end, for a peer that does not read", async () => {
    const { response, peer } = await openResponse(version);
    const written = writePaced(response, LARGE);
    expect(await isSettled(written)).toBe(false);
    const whole = peer.read();
    await written;
    await endPaced(response);
    expect((await whole).body).toHaveLength(LARGE.length);
    const other = await openResponse(version);
    const ended = endPaced(other.response, LARGE);
    expect(await isSettled(ended)).toBe(false);
    const rest = other.peer.read();
    await ended;
    expect((await rest).body).toHaveLength(LARGE.length);
  });

  it("ends with headers only", async () => {
    const { response, peer } = await openResponse(version);
    await endWithHeadersPaced(response, { "grpc-status": "5" });
    expect(await peer.read()).toMatchObject({ headers: { "grpc-status": "5" }, body: "" });
    const other = await openResponse(version);
    endWithHeaders(other.response, { "x-given": "1", "x-absent": undefined });
    const { headers, body } = await other.peer.read();
    expect([Object.keys(headers).filter((name) => name.startsWith("x-")), body]).toEqual([["x-given"], ""]);
  });

  it("rejects a write, and resolves its end, if the peer leaves without reading", async () => {
    const { response, peer } = await openResponse(version);
    const written = writePaced(response, LARGE);
    expect(await isSettled(written)).toBe(false);
    peer.leave();
    await expect(written).rejects.toBeInstanceOf(PeerClosedError);
    const other = await openResponse(version);
    const ended = endPaced(other.response, LARGE);
    expect(await isSettled(ended)).toBe(false);
    other.peer.leave();
    await ended;
  });
});

describe.each([1, 2] as const)("a response over HTTP/%i whose peer has already disconnected", (version) => {
  it("ends at once", async () => {
    await endPaced(await getClosedResponse(version), "text");
  });

  it("ends at once with headers alone", async () => {
    await endWithHeadersPaced(await getClosedResponse(version), { "grpc-status": "0" });
  });

  it("refuses a write", async () => {
    const response = await getClosedResponse(version);
    await expect(writePaced(response, Buffer.from("text"))).rejects.toBeInstanceOf(PeerClosedError);
  });
});
