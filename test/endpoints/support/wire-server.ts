/** A provider that answers every request with given bytes, and keeps what it got. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { useTestServers } from "../../server/support/test-server.ts";

/** An answer of the provider. */
export interface WireAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, in the pieces in which it is sent. */
  readonly body: readonly (Uint8Array | string)[];
  /** Closes the connection after the body, without its end. */
  readonly isCut?: boolean;
  /** Never ends the answer after its body. */
  readonly isHeld?: boolean;
}

/** A request that the provider got. */
export interface WireRequest {
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The provider. */
export interface WireServer {
  readonly url: string;
  readonly requests: WireRequest[];
  /** The answers to come. The last one is repeated. */
  answers: WireAnswer[];
}

/** Starts it; the hooks of the test servers close it. */
export async function startWireServer(servers: ReturnType<typeof useTestServers>): Promise<WireServer> {
  const provider: { requests: WireRequest[]; answers: WireAnswer[] } = { requests: [], answers: [] };
  const { requests } = provider;
  const listener = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    requests.push({
      path: request.url ?? "",
      headers: request.headers,
      text: Buffer.concat(chunks).toString(),
    });
    const answer = provider.answers.length > 1 ? provider.answers.shift() : provider.answers[0];
    if (answer !== undefined) await send(answer, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  servers.onEnd(async () => {
    listener.closeAllConnections();
    await new Promise((resolve) => listener.close(resolve));
  });
  const { port } = listener.address() as AddressInfo;
  return Object.assign(provider, { url: `http://127.0.0.1:${port}` });
}

async function send(answer: WireAnswer, response: ServerResponse): Promise<void> {
  const { status = 200, headers = {}, body, isCut = false, isHeld = false } = answer;
  response.writeHead(status, headers);
  for (const [index, piece] of body.entries()) {
    // Each piece is a separate read.
    if (index > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    response.write(piece);
  }
  if (isHeld) return;
  if (!isCut) response.end();
  else setTimeout(() => response.destroy(), 20);
}
