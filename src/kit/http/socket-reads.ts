import type { Socket } from "node:net";

/**
 * Lets `onRead` decide when a socket is read: it is called for each read that Node asks for.
 * @returns Starts a read.
 *
 * Replaces `_read`, which Node's streams document for implementers only; Node offers no other way to hold a socket that
 * another library has attached to. Written for Node 24; test/kit/http/socket-reads.test.ts checks it.
 */
export function interceptReads(socket: Socket, onRead: () => void): () => void {
  // Node asks for this size every time.
  const read = socket._read.bind(socket, socket.readableHighWaterMark);
  socket._read = onRead;
  return read;
}
