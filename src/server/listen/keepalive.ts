import type { ServerHttp2Session } from "node:http2";

/**
 * Detects peers that vanished: pings every session, and destroys one that has not answered when the next ping is due.
 * One timer for all sessions.
 * @returns A function that stops the checks.
 */
export function startKeepalive(sessions: ReadonlySet<ServerHttp2Session>, intervalMs: number): () => void {
  const waiting = new WeakSet<ServerHttp2Session>();
  const timer = setInterval(() => {
    for (const session of sessions) {
      if (waiting.has(session)) session.destroy();
      else ping(session, waiting);
    }
  }, intervalMs);
  return () => clearInterval(timer);
}

function ping(session: ServerHttp2Session, waiting: WeakSet<ServerHttp2Session>): void {
  if (session.destroyed) return;
  waiting.add(session);
  session.ping((error) => {
    if (error === null) waiting.delete(session);
  });
}
