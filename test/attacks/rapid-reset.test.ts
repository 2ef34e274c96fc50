import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { END_STREAM, FRAME, FrameConnection } from "../server/support/raw-frames.ts";
import { frame, inferencePath } from "../server/support/raw-http2.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";

const attacks = useSidecars();

/** The number of resets in a second, and the duration. */
const RATE = 2600;
const SECONDS = 8;

/** RFC 9113 §7 */
const CANCEL = Buffer.from([0, 0, 0, 8]);

/** A request whose answer takes long. */
const CALL = frame(
  toBinary(
    RequestSchema,
    create(RequestSchema, {
      model: "sim-long",
      messages: [{ role: Role.USER, content: [{ part: { case: "text", value: "Go on." } }] }],
    }),
  ),
);

/** How streams are reset. */
interface Attack {
  /** Whether the whole request is sent before the reset. */
  readonly isWhole: boolean;
  /** Milliseconds from the request to the reset. 0: both are sent together. */
  readonly delayMs: number;
}

/** Opens streams and resets them, until the connection is closed. Returns whether it was. */
async function resetRapidly(url: string, { isWhole, delayMs }: Attack): Promise<boolean> {
  const peer = new FrameConnection(url);
  let isClosed = false;
  void peer.closed.then(() => (isClosed = true));
  const startedAt = performance.now();
  const reset = (stream: number) => peer.send(FRAME.reset, 0, stream, CANCEL);
  for (let sent = 0; !isClosed; await sleep(5)) {
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs > SECONDS * 1000) break;
    for (; sent < (elapsedMs / 1000) * RATE; sent += 1) {
      const stream = 2 * sent + 1;
      peer.call(stream, inferencePath("Complete"));
      if (isWhole) peer.send(FRAME.data, END_STREAM, stream, CALL);
      if (delayMs === 0) reset(stream);
      else setTimeout(reset, delayMs, stream);
    }
  }
  await sleep(delayMs);
  peer.destroy();
  return isClosed;
}

describe("streams that are reset as soon as they are opened", () => {
  it.each<[string, Attack]>([
    ["without a request", { isWhole: false, delayMs: 0 }],
    ["with a whole request", { isWhole: true, delayMs: 0 }],
    ["after a whole request has been read", { isWhole: true, delayMs: 20 }],
  ])("%s, delay neither calls nor probes for long, on either port", async (_name, attack) => {
    const sidecar = await attacks.start({ heapMiB: 128 });
    const closed: boolean[] = [];
    const report = await sidecar.withstand(async () => {
      for (const url of [sidecar.url, sidecar.adminUrl]) closed.push(await resetRapidly(url, attack));
    });
    expectWithstood(report, 256);
    expect(closed).toEqual([true, true]);
    await sidecar.expectRecovered();
  });
});
