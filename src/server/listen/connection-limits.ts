import type { ServerHttp2Session } from "node:http2";
import type { Limits } from "../options.ts";
import { sendAway } from "./goaway.ts";

/** How long a connection of HTTP/2 may live; see Limits. */
export type ConnectionLimits = Pick<
  Limits,
  "maxConnectionIdleMs" | "maxConnectionAgeMs" | "maxConnectionAgeGraceMs"
>;

/**
 * Sends a peer away when its connection has had no stream for too long or is too old, the two
 * rules of gRPC's proposal A9. Peers that take part in HTTP/2 connect anew without losing a call.
 */
export function limitConnection(session: ServerHttp2Session, limits: ConnectionLimits): void {
  const timers = [startIdleTimer(session, limits.maxConnectionIdleMs), startAgeTimer(session, limits)];
  session.once("close", () => {
    for (const stop of timers) stop();
  });
}

type Stop = () => void;

// 2^31 - 1: what a timer reaches. A connection that may live longer may live for ever.
const MAX_TIMER_MS = 2 ** 31 - 1;

function startIdleTimer(session: ServerHttp2Session, idleMs: number): Stop {
  if (idleMs > MAX_TIMER_MS) return () => {};
  let open = 0;
  const timer = setTimeout(() => {
    if (open === 0) sendAway(session);
  }, idleMs);
  session.on("stream", (stream) => {
    open += 1;
    stream.once("close", () => {
      open -= 1;
      // Starts it anew even where it fired meanwhile, unless the session is gone.
      if (open === 0 && !session.destroyed) timer.refresh();
    });
  });
  return () => clearTimeout(timer);
}

function startAgeTimer(session: ServerHttp2Session, limits: ConnectionLimits): Stop {
  const { maxConnectionAgeMs: ageMs, maxConnectionAgeGraceMs: graceMs } = limits;
  if (ageMs > MAX_TIMER_MS) return () => {};
  let timer = setTimeout(() => {
    sendAway(session);
    if (graceMs <= MAX_TIMER_MS) timer = setTimeout(() => session.destroy(), graceMs);
  }, spread(ageMs));
  return () => clearTimeout(timer);
}

/** Up to a tenth more or less, so that connections that were opened together are not all sent away together. */
function spread(ms: number): number {
  return ms * (0.9 + 0.2 * Math.random());
}
