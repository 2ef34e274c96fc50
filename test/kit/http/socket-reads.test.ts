/** Checks the behaviour of Node on which src/kit/http/connector.ts relies. Written for Node 24. */
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { interceptReads } from "../../../src/kit/http/connector.ts";

it("is written for the major version of Node that runs these tests", () => {
  expect(process.versions.node).toMatch(/^24\./);
});

it("a socket is not read until its read is started", async () => {
  const server = createServer((socket) => void socket.end("some bytes"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let wasAsked = false;
  const read = interceptReads(socket, () => {
    wasAsked = true;
  });
  let received = 0;
  socket.on("data", (chunk: Buffer) => {
    received += chunk.byteLength;
  });
  try {
    await expect.poll(() => wasAsked).toBe(true);
    await setTimeout(50);
    expect(received).toBe(0);
    read();
    await expect.poll(() => received).toBeGreaterThan(0);
  } finally {
    socket.destroy();
    server.close();
  }
});
