/** The response side of an HTTP API: each element of a body is one write. */
import type { EndpointResponse } from "../../http/endpoint.ts";
import type { HttpResponse } from "../base/http-types.ts";
import { FlushedResponse, SLICE_BYTES } from "../http/flushed-response.ts";
import { endPaced } from "../http/paced-writer.ts";
import { PeerClosedError } from "../http/peer-closed-error.ts";
import type { UnsentResponses } from "../http/unsent-responses.ts";

/** Writes one response. */
export class BodyResponse extends FlushedResponse {
  readonly #response: HttpResponse;
  #ended = false;

  constructor(response: HttpResponse, unsent: UnsentResponses) {
    super(unsent);
    this.#response = response;
  }

  /** Whether the response is complete, so that nothing more will be sent. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Sends a whole response. Resolves when it is flushed or the peer has disconnected.
   * @param ids Headers by which the caller can name this call. May grow until the body begins.
   * @throws PeerClosedError, after it stops reading the body. Also throws any error of the body.
   */
  async send(
    { status, headers, body }: EndpointResponse,
    ids: Readonly<Record<string, string>>,
  ): Promise<void> {
    if (body instanceof Uint8Array) {
      this.#response.writeHead(status, { ...headers, ...ids, "content-length": body.byteLength });
      return this.#end(await this.#writeAllButLast(body));
    }
    for await (const chunk of body) {
      if (this.unflushed) await this.flushed();
      if (this.disconnected) throw new PeerClosedError();
      if (!this.#response.headersSent) this.#response.writeHead(status, { ...headers, ...ids });
      const last = chunk.byteLength > SLICE_BYTES ? await this.#writeAllButLast(chunk) : chunk;
      this.beginWrite(last.byteLength);
      this.#response.write(last, this.onFlush);
    }
    if (!this.#response.headersSent) this.#response.writeHead(status, { ...headers, ...ids });
    return this.#end();
  }

  /** Closes the stream, or the connection of HTTP/1.1, because a truncated response must not look complete. */
  cutOff(): void {
    this.disconnected = true;
    this.#response.destroy();
  }

  #writeAllButLast(bytes: Uint8Array): Promise<Uint8Array> {
    return this.writeSlices(bytes, (slice, onFlush) => this.#response.write(slice, onFlush));
  }

  async #end(last?: Uint8Array): Promise<void> {
    this.#ended = true;
    this.beginWrite(last?.byteLength ?? 0);
    await endPaced(this.#response, last);
    this.onFlush();
  }
}
