import type { ServerHttp2Session } from "node:http2";
import type { Limits } from "../base/limits.ts";
import { closeGracefully } from "./goaway.ts";

/** Limits of the lifetime of an HTTP/2 connection; see Limits. */
export type ConnectionLimits = Pick<
  Limits,
  "maxConnectionIdleMs" | "maxConnectionAgeMs" | "maxConnectionAgeGraceMs"
>;

/**
 * Closes a connection gracefully when it has had no stream for too long or is too old, the two rules of gRPC's proposal
 * A9. Peers reconnect without losing a call.
 */
export function limitConnection(session: ServerHttp2Session, limits: ConnectionLimits): void {
  const timers = [startIdleTimer(session, limits.maxConnectionIdleMs), startAgeTimer(session, limits)];
  session.once("close", () => {
    for (const stop of timers) stop();
  });
}

type Stop = () => void;

// The longest timer, 24.8 days. Longer limits count as none.
const MAX_TIMER_MS = 2 ** 31 - 1;

function startIdleTimer(session: ServerHttp2Session, idleMs: number): Stop {
  if (idleMs > MAX_TIMER_MS) return () => {};
  let open = 0;
  const timer = setTimeout(() => {
    if (open === 0) closeGracefully(session);
  }, idleMs);
  session.on("stream", (stream) => {
    open += 1;
    stream.once("close", () => {
      open -= 1;
      // Restarts the timer even if it has fired meanwhile.
      if (open === 0 && !session.destroyed) timer.refresh();
    });
  });
  return () => clearTimeout(timer);
}

function startAgeTimer(session: ServerHttp2Session, limits: ConnectionLimits): Stop {
  const { maxConnectionAgeMs: ageMs, maxConnectionAgeGraceMs: graceMs } = limits;
  if (ageMs > MAX_TIMER_MS) return () => {};
  let timer = setTimeout(() => {
    closeGracefully(session);
    if (graceMs <= MAX_TIMER_MS) timer = setTimeout(() => session.destroy(), graceMs);
  }, spread(ageMs));
  return () => clearTimeout(timer);
}

/** Varies a time by up to a tenth, so that connections that were opened together are not all closed together. */
function spread(ms: number): number {
  return ms * (0.9 + 0.2 * Math.random());
}
