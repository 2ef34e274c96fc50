import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { exchange, frame, inferencePath, type RawAnswer } from "../server/support/raw-http2.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const MIB = 1024 * 1024;

/** An empty entry of `messages`, again and again. */
const EMPTY_MESSAGES = Buffer.alloc(31 * MIB, Buffer.from([0x12, 0]));
const EMPTY_MESSAGES_JSON = Buffer.from(`{"messages":[{}${",{}".repeat(10 * MIB)}]}`);
const COMMAS = Buffer.from(`{"messages":[${",".repeat(31 * MIB)}]}`);

/** Requests of few bytes, or of many, whose objects would not fit into the heap. */
const BOMBS = {
  "gRPC, gzip": [{ "grpc-encoding": "gzip" }, frame(gzipSync(EMPTY_MESSAGES), 1)],
  gRPC: [{}, frame(EMPTY_MESSAGES)],
  "Connect, gzip": [
    { "content-type": "application/proto", "content-encoding": "gzip" },
    gzipSync(EMPTY_MESSAGES),
  ],
  Connect: [{ "content-type": "application/proto" }, EMPTY_MESSAGES],
  JSON: [{ "content-type": "application/json" }, EMPTY_MESSAGES_JSON],
  "JSON, commas": [{ "content-type": "application/json" }, COMMAS],
  "gRPC-Web, gzip": [
    { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" },
    frame(gzipSync(EMPTY_MESSAGES), 1),
  ],
} as const;

/** Returns the status of an answer in any of the protocols, as far as it is expected. */
function getStatus({ headers, trailers, body }: RawAnswer): string {
  const isGrpcStatus = trailers["grpc-status"] === "8" || body.includes("grpc-status: 8");
  if (isGrpcStatus || Number(headers[":status"]) === 429) return "RESOURCE_EXHAUSTED";
  return JSON.stringify({ headers, trailers });
}

describe.each(SIZES)("messages of very many elements, with $name", ({ heapMiB, maxPeakMiB }) => {
  it("are refused in every protocol", async () => {
    const sidecar = await attacks.start({ heapMiB });
    const statuses: Record<string, unknown> = {};
    const report = await sidecar.withstand(async () => {
      for (const [name, [headers, body]] of Object.entries(BOMBS)) {
        statuses[name] = getStatus(await exchange(sidecar.url, inferencePath("Complete"), headers, body));
      }
    });
    expectWithstood(report, maxPeakMiB);
    const refused = Object.keys(BOMBS).map((name) => [name, "RESOURCE_EXHAUSTED"]);
    expect(statuses).toEqual(Object.fromEntries(refused));
    await sidecar.expectRecovered();
  });
});
