import { once } from "node:events";
import { createServer as createHttp1 } from "node:http";
import { connect, createServer as createHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HttpResponse } from "../../../src/server/base/http-types.ts";
import { PeerClosedError } from "../../../src/server/http/flushed-response.ts";
import { endPaced, endWithHeadersPaced, writePaced } from "../../../src/server/http/paced-writer.ts";

/** Returns a response whose peer has left, after its event "close". */
async function getClosedResponse(version: 1 | 2): Promise<HttpResponse> {
  const served = Promise.withResolvers<HttpResponse>();
  const server = version === 1 ? createHttp1() : createHttp2();
  server.on("request", (_request: unknown, response: HttpResponse) => served.resolve(response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  const leave = version === 1 ? callHttp1(address.port) : callHttp2(address.port);
  const response = await served.promise;
  const closed = new Promise((resolve) => response.once("close", resolve));
  leave();
  await closed;
  return response;
}

/** Sends a request. Returns a function that breaks the connection. */
function callHttp1(port: number): () => void {
  const socket = connectTcp(port, "127.0.0.1").on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
  return () => socket.destroy();
}

function callHttp2(port: number): () => void {
  const session = connect(`http://127.0.0.1:${port}`).on("error", () => {});
  session.request({ ":path": "/" }).on("error", () => {});
  return () => session.destroy();
}

describe.each([1, 2] as const)("a response over HTTP/%i whose peer has left before", (version) => {
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
