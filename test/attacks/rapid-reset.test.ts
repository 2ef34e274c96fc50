import { describe, it } from "vitest";
import { FRAME, FrameConnection } from "../server/support/raw-frames.ts";
import { inferencePath } from "../server/support/raw-http2.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";

const attacks = useSidecars();

const RESETS = 160_000;
const BATCH = 1000;

/** RFC 9113 §7 */
const CANCEL = Buffer.from([0, 0, 0, 8]);

/** Opens streams and resets them at once, until the connection is closed. */
async function resetRapidly(url: string): Promise<void> {
  const peer = new FrameConnection(url);
  let isClosed = false;
  void peer.closed.then(() => (isClosed = true));
  for (let count = 0; count < RESETS && !isClosed; count += BATCH) {
    for (let index = count; index < count + BATCH; index++) {
      peer.call(2 * index + 1, inferencePath("Complete"));
      peer.send(FRAME.reset, 0, 2 * index + 1, CANCEL);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  peer.destroy();
}

describe("streams that are reset as soon as they are opened", () => {
  it("delay neither calls nor probes for long, on either port", async () => {
    const sidecar = await attacks.start({ heapMiB: 512 });
    const report = await sidecar.withstand(async () => {
      for (const url of [sidecar.url, sidecar.url, sidecar.adminUrl]) await resetRapidly(url);
    });
    expectWithstood(report);
    await sidecar.expectRecovered();
  });
});
