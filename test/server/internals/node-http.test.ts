/** Checks the behaviour of Node on which src/server/internals/node-http.ts relies. Written for Node 24. */
import { createServer as createHttp1, get, type IncomingMessage } from "node:http";
import { connect, createServer as createHttp2, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import {
  getParserState,
  hasSentLastFrame,
  injectConnection,
  injectStream,
  interceptReading,
  setReading,
  startConnectionChecks,
} from "../../../src/server/internals/node-http.ts";

/** Listens on a free port while `use` runs. */
async function withServer<T>(server: Server, use: (port: number) => Promise<T>): Promise<T> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use((server.address() as AddressInfo).port);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

it("is written for the major version of Node that runs these tests", () => {
  expect(process.versions.node).toMatch(/^24\./);
});

describe("injectConnection()", () => {
  it("makes an HTTP/1.1 server serve a connection that another server accepted", async () => {
    const http1 = createHttp1((_request, response) => response.end("served"));
    const answer = await withServer(
      createServer((socket) => injectConnection(http1, socket)),
      (port) =>
        new Promise<string>((resolve) => {
          const headers = { connection: "close" };
          get({ port, host: "127.0.0.1", headers }, (response: IncomingMessage) => {
            response.setEncoding("utf8").on("data", resolve);
          });
        }),
    );
    expect(answer).toBe("served");
  });
});

describe("startConnectionChecks()", () => {
  it("makes a server that does not listen close connections whose headers are late", async () => {
    const http1 = createHttp1({ headersTimeout: 50, connectionsCheckingInterval: 20 });
    startConnectionChecks(http1);
    const answer = await withServer(
      createServer((socket) => injectConnection(http1, socket)),
      (port) =>
        new Promise<string>((resolve) => {
          const socket = connectTcp(port, "127.0.0.1").setEncoding("utf8");
          socket.write("GET / HTTP/1.1\r\n");
          let text = "";
          socket.on("data", (chunk) => {
            text += chunk;
          });
          socket.on("close", () => resolve(text));
        }),
    );
    http1.close(() => {});
    expect(answer).toContain("408 Request Timeout");
  });
});

describe("injectStream() and hasSentLastFrame()", () => {
  it("serve a stream by a request listener, and see when its last frame has left", async () => {
    const requests = createHttp2((_request, response) => response.end("served"));
    const http2 = createHttp2();
    const states: boolean[] = [];
    let seen: ServerHttp2Stream | undefined;
    http2.on("stream", (stream, headers, ...rest) => {
      seen = stream;
      states.push(hasSentLastFrame(stream));
      injectStream(requests, stream, headers, ...rest);
    });
    const answer = await withServer(
      createServer((socket) => injectConnection(http2, socket)),
      (port) =>
        new Promise<string>((resolve) => {
          const session = connect(`http://127.0.0.1:${port}`);
          // The request stays open, so that the stream is not closed and its state can be read.
          const stream = session.request({ ":method": "POST" }).setEncoding("utf8");
          let text = "";
          stream.on("data", (chunk) => {
            text += chunk;
          });
          stream.on("end", () => {
            if (seen !== undefined) states.push(hasSentLastFrame(seen));
            session.destroy();
            resolve(text);
          });
        }),
    );
    expect(answer).toBe("served");
    expect(states).toEqual([false, true]);
  });
});

describe("setReading()", () => {
  it("ends the reading of a connection in a turn, and begins it again", async () => {
    const server = createHttp2();
    let [turn, streams, mostInTurn, inTurn] = [0, 0, 0, 0];
    server.on("session", (session) => {
      session.on("stream", (stream) => {
        stream.respond({}, { endStream: true });
        streams += 1;
        inTurn += 1;
        mostInTurn = Math.max(mostInTurn, inTurn);
        if (inTurn > 1) return;
        setReading(session, false);
        setImmediate(() => {
          inTurn = 0;
          turn += 1;
          setReading(session, true);
        });
      });
    });
    await withServer(server, async (port) => {
      const session = connect(`http://127.0.0.1:${port}`);
      // About a hundred bytes each in the first read, and far more than 64 KiB in all.
      const padding = { "x-padding": "x".repeat(10_000) };
      const answers = Array.from({ length: 90 }, () => {
        const stream = session.request(padding);
        stream.resume();
        return new Promise((resolve) => stream.once("close", resolve));
      });
      await Promise.all(answers);
      session.close();
    });
    expect(streams).toBe(90);
    expect(turn).toBeGreaterThan(3);
    // One read can bring this many calls at most.
    expect(mostInTurn).toBeLessThan(30);
  });
});

describe("interceptReading() and getParserState()", () => {
  it("decide what the parser of a connection gets, and see the response that is being written", async () => {
    const states: (string | undefined)[] = [];
    let finish = (): void => {};
    const http1 = createHttp1((request, response) => {
      finish = () => response.end(`served ${request.url}`);
    });
    const accept = (socket: Socket): void => {
      injectConnection(http1, socket);
      const note = () => {
        const { isParsing, isPaused, response } = getParserState(socket);
        states.push(isParsing && !isPaused ? response?.req.url : "not parsing");
      };
      const { parse } = interceptReading(socket, (bytes) => {
        note();
        parse(Buffer.from(bytes.toString().replace("/sent", "/given")));
        note();
        finish();
      });
      socket.once("close", note);
    };
    const answer = await withServer(createServer(accept), (port) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      const headers = { connection: "close" };
      get({ port, host: "127.0.0.1", path: "/sent", headers }, (response) => {
        response.setEncoding("utf8").on("data", resolve);
      });
      return promise;
    });
    expect(answer).toBe("served /given");
    expect(states).toEqual([undefined, "/given", "not parsing"]);
  });
});
