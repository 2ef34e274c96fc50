/** WebSockets of the API as a server gives them, in states that a real one is seldom in. */
import { describe, expect, it } from "vitest";
import { anyCaller } from "../../../src/core/caller.ts";
import { RateLimitError } from "../../../src/core/errors.ts";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { ResponseCache } from "../../../src/endpoints/answers/response-cache.ts";
import type { ResponsesParts } from "../../../src/endpoints/responses/parts.ts";
import { serveSocket } from "../../../src/endpoints/responses/websocket.ts";
import type { EndpointRequest, EndpointSocket, SocketMessage } from "../../../src/http/endpoint.ts";

/** Serves a socket with one message: one that is not JSON, if it is not given. */
function serve(
  { isEnding = false, send = async () => {} }: Partial<EndpointSocket>,
  given: Partial<SocketMessage> = {},
) {
  const seen: string[] = [];
  const message = {
    content: Buffer.from("{"),
    admit: () => undefined,
    ...given,
    release: () => void seen.push("release"),
  } as Partial<SocketMessage> as SocketMessage;
  async function* messages() {
    yield message;
  }
  const socket: EndpointSocket = {
    messages: messages(),
    isEnding,
    async send(text) {
      await send(text);
      seen.push(`send ${JSON.parse(text).type}`);
    },
    close: (code) => void seen.push(`close ${code}`),
  };
  const request = {
    caller: anyCaller,
    signal: new AbortController().signal,
    noteFailure: ({ kindName }) => void seen.push(kindName),
  } as Partial<EndpointRequest> as EndpointRequest;
  const responseCache = new ResponseCache(new MemoryAccount().kept);
  const served = serveSocket(socket, request, { responseCache } as Partial<ResponsesParts> as ResponsesParts);
  return { seen, served };
}

describe("A WebSocket", () => {
  it("is closed after all messages are answered, and failures are counted", async () => {
    const { seen, served } = serve({ send: () => new Promise((resolve) => setImmediate(resolve)) });
    await served;
    expect(seen).toEqual(["INVALID_REQUEST", "send error", "release", "close 1000"]);
  });

  it("that is about to be closed gets no answers, and its messages are released", async () => {
    const { seen, served } = serve({ isEnding: true });
    await served;
    expect(seen).toEqual(["release", "close 1000"]);
  });

  it("answers a message once it is counted, and not at all if its caller has sent too many", async () => {
    const content = Buffer.from('{"type":"response.steer","input":"Stop."}');
    const counted = Promise.withResolvers<void>();
    const { seen, served } = serve({}, { content, admit: () => counted.promise });
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([]);
    counted.resolve();
    await served;
    expect(seen).toEqual(["send response.steer.failed", "release", "close 1000"]);
    const refused = serve({}, { content, admit: () => Promise.reject(new RateLimitError("too many")) });
    await refused.served;
    expect(refused.seen).toEqual(["RATE_LIMIT", "send error", "release", "close 1000"]);
  });

  it("that cannot be written is closed as failed, with the reason for the server", async () => {
    const { seen, served } = serve({ send: () => Promise.reject(new Error("the socket is broken")) });
    await expect(served).rejects.toThrow("the socket is broken");
    expect(seen).toEqual(["INVALID_REQUEST", "release", "close 1011"]);
  });
});
