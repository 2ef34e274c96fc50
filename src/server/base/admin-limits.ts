import type { Limits } from "../base/limits.ts";

/**
 * Upper bounds for the admin listener, whatever is configured: everyone who reaches the pod reaches it, and health
 * checks and scrapes are small and few.
 */
const HIGHEST = {
  maxRequestMemoryBytes: 1024 * 1024,
  maxUnsentBytes: 16 * 1024 * 1024,
  maxMessageBytes: 4096,
  maxMessageElements: 100,
  maxConcurrentStreams: 32,
  maxHeaderListBytes: 16 * 1024,
  // Node's default.
  streamResetBurst: 1000,
  streamResetRate: 33,
  requestTimeoutMs: 10_000,
  stallTimeoutMs: 10_000,
} as const satisfies Partial<Limits>;

/** Returns the limits of the admin listener for a server with these limits. */
export function toAdminLimits(limits: Limits): Limits {
  const { maxAdminConnections: maxConnections } = limits;
  const stricter = { ...limits, maxConnections, maxCalls: maxConnections * HIGHEST.maxConcurrentStreams };
  const capped = Object.entries(HIGHEST).map(([name, highest]) => [
    name,
    Math.min(highest, Reflect.get(limits, name)),
  ]);
  return Object.assign(stricter, Object.fromEntries(capped));
}
