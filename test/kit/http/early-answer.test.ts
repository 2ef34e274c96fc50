/** Servers that answer before they have read the request, or send more than one answer. */
import { describe, expect, it } from "vitest";
import { openTransport, pause, serveTcp, type TestServer } from "./servers.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** A server that refuses the first request of each kind without reading its body, and answers later ones. */
function refusingFirst(): Promise<TestServer> {
  let connections = 0;
  return serveTcp((socket) => {
    connections += 1;
    if (connections > 1)
      return void socket.on("data", (bytes) => void (bytes.toString().endsWith("y") && socket.write(OK)));
    socket.once("data", () => {
      socket.pause();
      socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n");
    });
  });
}

describe("an answer before the request was read", () => {
  it.each([
    ["in the buffers of both sides", 100_000],
    ["not sent as a whole", 16_000_000],
  ])("is the last one of its connection, if the rest is %s", async (_where, length) => {
    const server = await refusingFirst();
    const transport = openTransport({ port: server.port });
    const refused = await transport.post("/", { headers: {}, body: "x".repeat(length) });
    expect([refused.status, await refused.text(10)]).toEqual([413, ""]);
    await pause(20);
    const next = await transport.post("/", { headers: {}, body: "y" });
    expect([next.status, await next.text(10)]).toEqual([200, "ok"]);
    expect(server.sockets).toHaveLength(2);
  });
});

it("ends a call whose server sends interim answers without end", async () => {
  const server = await serveTcp((socket) => {
    socket
      .on("error", () => {})
      .on("data", () => {
        const heads = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(1000);
        socket.write(heads);
        setTimeout(() => socket.destroyed || socket.write(heads + OK), 20);
      });
  });
  const transport = openTransport({ port: server.port });
  const failed = transport.post("/", { headers: {}, body: "{}" });
  await expect(failed).rejects.toThrow("sent more than 1000 interim answers (1xx)");
});

describe("a head before the answer", () => {
  it.each([
    ["100 Continue", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["100 Continue, twice", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nx: y\r\n\r\n"],
    ["103 Early Hints", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"],
  ])("changes nothing: %s", async (_name, head) => {
    for (const isApart of [false, true]) {
      const server = await serveTcp((socket) => {
        socket.on("data", async (bytes) => {
          // Head and body of the request may come apart.
          if (!bytes.toString().endsWith("{}")) return;
          socket.write(isApart ? head : head + OK);
          if (isApart) await pause(20);
          if (isApart) socket.write(OK);
        });
      });
      const transport = openTransport({ port: server.port });
      for (let each = 0; each < 2; each += 1) {
        const answer = await transport.post("/", { headers: {}, body: "{}" });
        expect([answer.status, await answer.text(10)]).toEqual([200, "ok"]);
        // A connection is free again after a turn of the event loop.
        await pause(20);
      }
      expect(server.sockets).toHaveLength(1);
    }
  });

  it("is left alone if a body begins in the same words", async () => {
    const body = "HTTP/1.1 100 Continue\r\n\r\n!";
    const server = await serveTcp((socket) => {
      socket.on("data", async (bytes) => {
        if (!bytes.toString().endsWith("{}")) return;
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
        await pause(20);
        socket.write(body);
      });
    });
    const answer = await openTransport({ port: server.port }).post("/", { headers: {}, body: "{}" });
    expect(await answer.text(100)).toBe(body);
  });
});
