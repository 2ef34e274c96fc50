import type { Socket } from "node:net";

/**
 * Lets `onRead` decide when a socket is read: it gets each read that Node asks for, as a function that starts it.
 * Replaces `_read`, which Node's streams document for implementers only; Node offers no other way to hold a socket that
 * another library has attached to. Written for Node 24; test/kit/http/socket-reads.test.ts checks it.
 */
export function interceptReads(socket: Socket, onRead: (read: () => void) => void): void {
  const read = socket._read.bind(socket);
  socket._read = (size) => onRead(() => read(size));
}
