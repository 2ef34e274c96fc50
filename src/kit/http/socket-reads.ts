import type { Socket } from "node:net";

/**
 * Lets `change` change the bytes that are read from a socket; if none are left, the next ones are read. Replaces
 * `read`, since a library that has attached to the socket calls it by itself. Written for undici 8, which reads on
 * `readable`; test/kit/http/socket-reads.test.ts checks that.
 */
export function changeReads(socket: Socket, change: (bytes: Buffer) => Buffer): void {
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    for (;;) {
      const bytes: unknown = read(size);
      if (!Buffer.isBuffer(bytes)) return bytes;
      const changed = change(bytes);
      if (changed.byteLength > 0) return changed;
    }
  };
}

/**
 * Lets `onRead` decide when a socket is read: it is called for each read that Node asks for.
 * @returns Starts a read.
 *
 * Replaces `_read`, which Node's streams document for implementers only; Node offers no other way to hold a socket that
 * another library has attached to. Written for Node 24; test/kit/http/socket-reads.test.ts checks that.
 */
export function interceptReads(socket: Socket, onRead: () => void): () => void {
  // Node asks for this size every time.
  const read = socket._read.bind(socket, socket.readableHighWaterMark);
  socket._read = onRead;
  return read;
}
