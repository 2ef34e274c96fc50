import { expect, it } from "vitest";
import { DEFAULT_LIMITS, toAdminLimits } from "../../../src/server/base/limits.ts";

const MIB = 1024 * 1024;

it("The admin listener has limits for small requests, regardless of the configuration", () => {
  const generous = Object.fromEntries(
    Object.entries(DEFAULT_LIMITS).map(([name, value]) => [name, value * 1000]),
  ) as unknown as typeof DEFAULT_LIMITS;
  for (const limits of [DEFAULT_LIMITS, generous])
    expect(toAdminLimits(limits)).toMatchObject({
      maxConnections: limits.maxAdminConnections,
      maxCalls: limits.maxAdminConnections * 32,
      maxRequestMemoryBytes: MIB,
      maxUnsentBytes: 16 * MIB,
      maxMessageBytes: 4096,
      maxMessageElements: 100,
      maxConcurrentStreams: 32,
      maxHeaderListBytes: 16 * 1024,
      streamResetBurst: Math.min(limits.streamResetBurst, 1000),
      streamResetRate: Math.min(limits.streamResetRate, 33),
      requestTimeoutMs: 10_000,
      stallTimeoutMs: 10_000,
      idleTimeoutMs: limits.idleTimeoutMs,
    });
});

it("The admin listener keeps limits of the configuration that are lower", () => {
  const strict = { requestTimeoutMs: 1000, maxMessageBytes: 100, streamResetBurst: 10, streamResetRate: 1 };
  expect(toAdminLimits({ ...DEFAULT_LIMITS, ...strict })).toMatchObject(strict);
});
