import { once } from "node:events";
import http2 from "node:http2";
import { connect } from "node:net";
import { brotliCompressSync } from "node:zlib";
import { describe, it } from "vitest";
import { exchange, frame, openStream } from "../server/support/raw-http2.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const CHECK = "/grpc.health.v1.Health/Check";
const MIB = 1024 * 1024;

/** A few bytes that are 31 MiB of fields that no health check has. */
const UNKNOWN_FIELDS = brotliCompressSync(Buffer.alloc(31 * MIB, Buffer.from([0x78, 1])));

describe.each(SIZES)("the admin port with $name", ({ heapMiB, maxPeakMiB }) => {
  it("withstands a small compressed message of many unknown fields", async () => {
    const sidecar = await attacks.start({ heapMiB });
    const bodies = [
      { type: "application/proto", encoding: "content-encoding", body: UNKNOWN_FIELDS },
      { type: "application/grpc-web+proto", encoding: "grpc-encoding", body: frame(UNKNOWN_FIELDS, 1) },
    ];
    const report = await sidecar.withstand(async () => {
      for (const { type, encoding, body } of bodies) {
        await exchange(sidecar.adminUrl, CHECK, { "content-type": type, [encoding]: "br" }, body);
      }
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });

  it("withstands a thousand bodies that are not finished", async () => {
    const sidecar = await attacks.start({ heapMiB });
    const report = await sidecar.withstand(async () => {
      const session = http2.connect(sidecar.adminUrl).on("error", () => {});
      for (let stream = 0; stream < 1000; stream++) {
        openStream(session, CHECK, { "content-type": "application/proto" })
          .on("error", () => {})
          .write(Buffer.alloc(2 * MIB));
      }
      await new Promise((resolve) => setTimeout(resolve, 3000));
      session.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });
});

describe("connections to the admin port", () => {
  it("do not use up the descriptors of the data port", async () => {
    const sidecar = await attacks.start({ heapMiB: 512, maxDescriptors: 512 });
    const { hostname, port } = new URL(sidecar.adminUrl);
    const report = await sidecar.withstand(async () => {
      const sockets = Array.from({ length: 1000 }, () => connect(Number(port), hostname));
      await Promise.all(
        sockets.map((socket) => Promise.race([once(socket, "connect"), once(socket, "close")])),
      );
      await new Promise((resolve) => setTimeout(resolve, 2000));
      for (const socket of sockets) socket.destroy();
    });
    // Probes are refused meanwhile, as all connections to that port are; calls are not.
    expectWithstood({
      ...report,
      probes: 1,
      failures: report.failures.filter((text) => !/^probe/.test(text)),
    });
  });
});
