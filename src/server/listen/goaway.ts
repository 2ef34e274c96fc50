import type { ServerHttp2Session } from "node:http2";

/**
 * How long a peer may take to hear that it should go elsewhere, before new streams are refused.
 * Peers are near. Some (Node's own client among them) stop answering once they have heard it.
 */
const GRACE_MS = 200;

// No stream can exceed it: all streams so far, and those under way, are still served.
const MAX_STREAM_ID = 2 ** 31 - 1;

/**
 * Sends a peer away: streams in flight finish, then the connection closes. In the two steps of a
 * graceful shutdown (RFC 9113 §6.8): first word that the end is near, and only after a round
 * trip the number of the last stream, so that no stream under way is lost.
 */
export function sendAway(session: ServerHttp2Session): void {
  if (session.destroyed || session.closed) return;
  session.goaway(0, MAX_STREAM_ID);
  const finish = () => {
    clearTimeout(timer);
    if (!session.destroyed) session.close();
  };
  const timer = setTimeout(finish, GRACE_MS);
  // Called too, with an error, when the session is destroyed before the answer comes.
  session.ping(finish);
}
