import type { ServerHttp2Session } from "node:http2";

/**
 * Time for a peer to act on the first GOAWAY, before new streams are refused. Peers are on the same machine or near it.
 * Some (such as Node's client) no longer answer pings after a GOAWAY.
 */
const GRACE_MS = 200;

// No stream id is larger: all streams so far, and those still on their way, are served.
const MAX_STREAM_ID = 2 ** 31 - 1;

/**
 * Closes a connection once its streams have finished, in the two steps of a graceful shutdown (RFC 9113 §6.8): a first
 * GOAWAY announces the end, and after a round trip a second one names the last stream, so that no stream on its way is
 * lost.
 */
export function closeGracefully(session: ServerHttp2Session): void {
  if (session.destroyed || session.closed) return;
  session.goaway(0, MAX_STREAM_ID);
  const finish = () => {
    clearTimeout(timer);
    if (!session.destroyed) session.close();
  };
  const timer = setTimeout(finish, GRACE_MS);
  // Also called, with an error, when the session is destroyed first.
  session.ping(finish);
}
