import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, it } from "vitest";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";

const attacks = useSidecars();

const CONNECTIONS = 1000;

/** Opens connections that send nothing, or only the beginning of a request. */
function openConnections(url: string, count: number, beginning = ""): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const opening = Array.from({ length: count }, async () => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    await once(socket, "connect");
    socket.write(beginning);
    return socket;
  });
  return Promise.all(opening);
}

describe("idle connections", () => {
  it("delay no call and no probe, and leave no memory behind", async () => {
    const sidecar = await attacks.start({ heapMiB: 512 });
    const report = await sidecar.withstand(async () => {
      const silent = await openConnections(sidecar.url, CONNECTIONS);
      const begun = await openConnections(sidecar.url, CONNECTIONS, "POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
      for (const socket of [...silent, ...begun]) socket.destroy();
    });
    expectWithstood(report);
    await sidecar.expectRecovered();
  });
});
