import type { ServerResponse } from "node:http";
import http2, { constants } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { frame, inferencePath, openStream, readAnswer } from "../server/support/raw-http2.ts";
import { startProvider } from "./support/provider.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const MIB = 1024 * 1024;
const STREAM = inferencePath("Stream");

const request = frame(
  toBinary(
    RequestSchema,
    create(RequestSchema, {
      model: "m",
      provider: "talkative",
      messages: [{ role: Role.USER, content: [{ part: { case: "text", value: "Go on." } }] }],
    }),
  ),
);

/** Streams deltas of that size, as fast as they are read. */
function streamDeltas(response: ServerResponse, bytes: number): void {
  const delta = { choices: [{ index: 0, delta: { content: "x".repeat(bytes) } }] };
  const event = Buffer.from(`data: ${JSON.stringify({ id: "1", model: "m", ...delta })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const write = () => {
    while (!response.closed && response.write(event));
  };
  response.on("drain", write);
  write();
}

/** Opens streams whose answers are not read beyond HTTP/2's first window. */
function openUnread(session: http2.ClientHttp2Session, count: number): http2.ClientHttp2Stream[] {
  return Array.from({ length: count }, () => {
    const stream = openStream(session, STREAM).on("error", () => {});
    stream.end(request);
    return stream;
  });
}

describe.each(SIZES)("answers that their callers do not read, with $name", ({ heapMiB, maxPeakMiB }) => {
  it("do not break their connection when they are cancelled", async () => {
    const talkative = await startProvider((response) => streamDeltas(response, 4 * MIB));
    const sidecar = await attacks.start({ heapMiB, providers: { talkative } });
    let status: unknown;
    const report = await sidecar.withstand(async () => {
      const session = http2.connect(sidecar.url).on("error", () => {});
      for (let round = 0; round < 20; round++) {
        const streams = openUnread(session, 2);
        await new Promise((resolve) => setTimeout(resolve, 300));
        for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      }
      const call = openStream(session, "/grpc.health.v1.Health/Check");
      call.end(frame(new Uint8Array()));
      status = (await readAnswer(call)).trailers["grpc-status"];
      session.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    expect(status).toBe("0");
    await sidecar.expectRecovered();
  });

  it("are cut off when they are too many", async () => {
    const talkative = await startProvider((response) => streamDeltas(response, MIB));
    const sidecar = await attacks.start({ heapMiB, providers: { talkative } });
    let cutOff = 0;
    const report = await sidecar.withstand(async () => {
      const session = http2.connect(sidecar.url).on("error", () => {});
      const streams = openUnread(session, 100);
      await new Promise((resolve) => setTimeout(resolve, 8000));
      cutOff = streams.filter(({ rstCode }) => rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM).length;
      session.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    expect(cutOff).toBeGreaterThan(0);
    await sidecar.expectRecovered();
  });
});
