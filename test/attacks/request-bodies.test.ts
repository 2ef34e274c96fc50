import http2 from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { exchange, frame, inferencePath, openStream } from "../server/support/raw-http2.ts";
import { startProvider, WHOLE_ANSWER } from "./support/provider.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const MIB = 1024 * 1024;
const COMPLETE = inferencePath("Complete");

/** A request with an image of that size, for the provider `sink`. */
function imageRequest(bytes: number): Buffer {
  const image = {
    mediaType: "image/png",
    source: { case: "data", value: Buffer.alloc(bytes, 7) },
  } as const;
  const messages = [{ role: Role.USER, content: [{ part: { case: "image", value: image } as const }] }];
  return frame(toBinary(RequestSchema, create(RequestSchema, { model: "m", provider: "sink", messages })));
}

describe.each(SIZES)("with $name", ({ heapMiB, maxPeakMiB }) => {
  it("unfinished bodies release their memory for other requests", async () => {
    const sidecar = await attacks.start({ heapMiB });
    const report = await sidecar.withstand(async () => {
      const session = http2.connect(sidecar.url).on("error", () => {});
      for (let stream = 0; stream < 500; stream++) {
        openStream(session, COMPLETE)
          .on("error", () => {})
          .write(frame(Buffer.alloc(2 * MIB), 0, 4 * MIB));
        openStream(session, COMPLETE, { "content-type": "application/json" })
          .on("error", () => {})
          .write(Buffer.alloc(2 * MIB, " "));
      }
      await new Promise((resolve) => setTimeout(resolve, 5000));
      session.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });

  it("eight requests of 20 MiB at once are served or refused", async () => {
    const sink = await startProvider((response) => response.end(WHOLE_ANSWER));
    const sidecar = await attacks.start({ heapMiB, providers: { sink } });
    const request = imageRequest(20 * MIB);
    const statuses: unknown[] = [];
    const report = await sidecar.withstand(async () => {
      const calls = Array.from({ length: 8 }, () => exchange(sidecar.url, COMPLETE, {}, request));
      for (const { trailers } of await Promise.all(calls)) statuses.push(trailers["grpc-status"]);
    });
    expectWithstood(report, maxPeakMiB);
    expect(statuses.filter((status) => status !== "0" && status !== "8")).toEqual([]);
    expect(statuses).toContain("8");
    await sidecar.expectRecovered();
  });
});
