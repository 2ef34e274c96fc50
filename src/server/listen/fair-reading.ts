import type { ServerHttp2Session } from "node:http2";
import { readOnInNextTurn } from "../internals/node-http.ts";

/** Streams that a connection may open in one turn of the event loop before the others have their turn. */
const MAX_STREAMS_PER_TURN = 100;

/**
 * Keeps a connection that opens streams as fast as it can from holding up all others: what it sends is then read in
 * portions, one for each turn of the event loop.
 */
export function readFairly(session: ServerHttp2Session): void {
  let streams = 0;
  const beginTurn = () => {
    streams = 0;
  };
  session.on("stream", () => {
    streams += 1;
    if (streams === 1) setImmediate(beginTurn);
    if (streams === MAX_STREAMS_PER_TURN) readOnInNextTurn(session);
  });
}
