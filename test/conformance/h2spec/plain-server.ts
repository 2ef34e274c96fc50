import { once } from "node:events";
import { createServer } from "node:http2";
import { DEFAULT_LIMITS } from "../../../src/server/base/limits.ts";
import { type ForeignServer, HOST } from "../server.ts";

/** Node's HTTP/2 server with our limits, and nothing else. */
export async function startPlainServer(): Promise<ForeignServer> {
  const limits = DEFAULT_LIMITS;
  const server = createServer(
    {
      settings: {
        maxConcurrentStreams: limits.maxConcurrentStreams,
        maxHeaderListSize: limits.maxHeaderListBytes,
      },
      streamResetBurst: limits.streamResetBurst,
      streamResetRate: limits.streamResetRate,
    },
    (_request, response) => response.end("an answer with a body, for flow control"),
  );
  server.listen(0, HOST);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  return {
    port: address.port,
    async close() {
      server.close();
      await once(server, "close");
    },
  };
}
