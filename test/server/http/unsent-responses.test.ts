import { beforeEach, describe, expect, it } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import {
  FlushedResponse,
  PeerClosedError,
  UnsentResponses,
} from "../../../src/server/http/flushed-response.ts";

const LIMIT = 1_000_000;

let nowMs: number;
let account: MemoryAccount;
let unsent: UnsentResponses;
let destroy: string[];

beforeEach(() => {
  nowMs = 0;
  account = new MemoryAccount({ limits: { maxUnsentBytes: LIMIT } });
  unsent = new UnsentResponses(account, () => nowMs);
  destroy = [];
});

function openResponse(name: string) {
  return { destroy: () => void destroy.push(name) };
}

describe("unsent responses", () => {
  it("cuts off those whose peers have taken nothing for seconds if too many bytes wait", () => {
    const [stalled, reading] = [openResponse("stalled"), openResponse("reading")];
    unsent.add(stalled, 600_000);
    unsent.add(reading, 300_000);
    nowMs = 3000;
    unsent.add(reading, 200_000);
    unsent.add(openResponse("new"), 300_000);
    expect(destroy).toEqual(["stalled"]);
    expect(unsent.bytes).toBe(500_000);
  });

  it("cuts off no response while all peers read", () => {
    const responses = ["one", "two", "three"].map(openResponse);
    for (const response of responses) unsent.add(response, 500_000);
    expect(destroy).toEqual([]);
    for (const response of responses) unsent.remove(response);
    expect(unsent.bytes).toBe(0);
  });

  it("destroys the response that has waited longest if twice the limit is waiting", () => {
    for (const name of ["one", "two", "three"]) unsent.add(openResponse(name), 800_000);
    expect(destroy).toEqual(["one"]);
  });

  it("cuts off stalled peers while others wait for the memory of answers", async () => {
    const holder = account.answers.open("");
    unsent.add({ destroy: () => holder.end() }, 100_000);
    void holder.reserve(account.answers.maxBytes / 2);
    nowMs = 3000;
    await account.answers.open("").reserve(1_000_000);
    expect(holder.bytes).toBe(0);
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A response whose peer takes a write when the test says so. */
class SlowResponse extends FlushedResponse {
  readonly written: number[] = [];
  #take: (() => void) | undefined;

  destroy(): void {
    this.disconnect();
  }

  /** Writes a body. Returns the size of its last slice, which is not written. */
  async write(bytes: number): Promise<number> {
    const last = await this.writeSlices(new Uint8Array(bytes), (slice, onFlush) => {
      this.written.push(slice.byteLength);
      this.#take = onFlush;
    });
    return last.byteLength;
  }

  /** Writes the last bytes of a body and ends it in the same turn, as a stream does whose events arrived together. */
  writeAndEnd(bytes: number): void {
    this.beginWrite(bytes);
    this.#take = this.onFlush;
    this.beginWrite(0);
  }

  async take(): Promise<void> {
    await turn();
    this.#take?.();
    await turn();
  }
}

describe("a large response", () => {
  const KIB = 1024;

  it("is written in slices of 64 KiB, each when the peer has taken the one before", async () => {
    const response = new SlowResponse(unsent);
    const last = response.write(150 * KIB);
    await response.take();
    expect(response.written).toEqual([64 * KIB, 64 * KIB]);
    expect(unsent.bytes).toBe((150 - 64) * KIB);
    await response.take();
    expect([await last, unsent.bytes]).toEqual([22 * KIB, 0]);
  });

  it("ends when its connection is destroyed, and releases everything", async () => {
    const response = new SlowResponse(unsent);
    const failure = response.write(150 * KIB).catch((thrown: unknown) => thrown);
    await response.take();
    response.destroy();
    expect(await failure).toBeInstanceOf(PeerClosedError);
    expect([response.written.length, unsent.bytes]).toEqual([2, 0]);
    await expect(response.write(1)).rejects.toBeInstanceOf(PeerClosedError);
  });

  it("counts a write that its end follows at once until the peer has taken it, and no longer", async () => {
    const response = new SlowResponse(unsent);
    response.writeAndEnd(20 * KIB);
    expect(unsent.bytes).toBe(20 * KIB);
    await response.take();
    expect(unsent.bytes).toBe(0);
    response.writeAndEnd(20 * KIB);
    response.disconnect();
    expect(unsent.bytes).toBe(0);
  });
});
