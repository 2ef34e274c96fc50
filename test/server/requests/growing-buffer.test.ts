import { describe, expect, it } from "vitest";
import { GrowingBuffer } from "../../../src/server/requests/growing-buffer.ts";

const KIB = 1024;

/** Appends pieces of 64 KiB. Returns the bytes that were collected, and the size of the buffer that holds them. */
function collect(bytes: number, announced?: number) {
  const buffer = new GrowingBuffer();
  const whole = Buffer.from(Array.from({ length: bytes }, (_, index) => index % 251));
  for (let at = 0; at < bytes; at += 64 * KIB) buffer.append(whole.subarray(at, at + 64 * KIB), announced);
  const taken = buffer.take();
  expect(taken.equals(whole)).toBe(true);
  return taken.buffer.byteLength;
}

describe("a growing buffer", () => {
  it("has at most twice the bytes that have arrived if their number is unknown", () => {
    expect(collect(10)).toBe(16 * KIB);
    expect(collect(600 * KIB)).toBeLessThanOrEqual(1200 * KIB);
  });

  it("reserves at most eight times the bytes that have arrived of an announced size, and never more than that", () => {
    expect(collect(64 * KIB, 4096 * KIB)).toBe(512 * KIB);
    expect(collect(600 * KIB, 4096 * KIB)).toBe(4096 * KIB);
    expect(collect(700 * KIB, 700 * KIB)).toBe(700 * KIB);
  });

  it("collects bytes beyond the announced size", () => {
    expect(collect(200 * KIB, 100 * KIB)).toBe(200 * KIB);
  });
});
