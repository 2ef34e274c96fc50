/** The peer closed the stream before the response was complete. */
export class PeerClosedError extends Error {
  constructor(options?: ErrorOptions) {
    super("the peer closed the stream", options);
  }
}
