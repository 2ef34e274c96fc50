/** A stream that is closed while it waits for its provider closes the provider's socket at once. */
import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { createGzip } from "node:zlib";
import {
  AbortError,
  Client,
  createCache,
  createLogging,
  createRetry,
  FinalResponse,
  functionTool,
  type Middleware,
  OpenAIAdapter,
  stream,
  streamObject,
  textOf,
  userMessage,
} from "outrigger";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { openTransport, serveHttp } from "../kit/http/servers.ts";

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

beforeEach(() => simulator.clearRequests());

afterAll(() => simulator.close());

/** Sends nothing after the beginning of its answer, and keeps the socket open. */
const SILENT = "sim-long:tokens=500,stall_after=6";

/** Sends no headers. */
const UNANSWERED = "sim-text:delay_ms=60000";

const { signal } = new AbortController();

function clientWith(middleware: readonly Middleware[] = []): Client {
  const openai = new OpenAIAdapter({ apiKey: "any", baseUrl: simulator.openaiBaseUrl });
  return new Client({ providers: { openai }, middleware });
}

function eventsFrom(model: string, middleware?: readonly Middleware[]) {
  const messages = [userMessage("hi")];
  const finalResponse = FinalResponse.WITHOUT_CONTENT;
  return clientWith(middleware).stream({ model, messages, finalResponse }, { signal });
}

const generation = (model: string) => stream({ client: clientWith(), model, prompt: "hi", signal });

const passOn: Middleware = (request, next) => next(request);

const MIDDLEWARE: readonly Middleware[] = [
  passOn,
  createRetry(),
  createCache(),
  createLogging({ log: () => {} }),
  { stream: (request, next) => rewritten(next(request)) },
];

/** A middleware as programs write it. */
async function* rewritten<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  for await (const item of items) yield item;
}

interface Stream {
  readonly items: AsyncIterable<unknown>;
  readonly cancel: () => void;
}

/** Streams of every class, by name. */
const STREAMS: readonly (readonly [name: string, open: (model: string) => Stream])[] = [
  ["the events of a client", (model) => whole(eventsFrom(model))],
  ["the events of a client with middleware", (model) => whole(eventsFrom(model, MIDDLEWARE))],
  [
    "the text of a client",
    (model) => {
      const events = eventsFrom(model);
      return { items: events.text(), cancel: () => events.cancel() };
    },
  ],
  [
    "the batches of a client",
    (model) => {
      const events = eventsFrom(model);
      return { items: events.batches(), cancel: () => events.cancel() };
    },
  ],
  ["the events of a generation", (model) => whole(generation(model))],
  [
    "the text of a generation",
    (model) => {
      const result = generation(model);
      return { items: result.textStream, cancel: () => result.cancel() };
    },
  ],
  [
    "an object",
    (model) =>
      whole(streamObject({ client: clientWith(), model, prompt: "hi", schema: { type: "object" }, signal })),
  ],
];

function whole(items: AsyncIterable<unknown> & { cancel(): void }): Stream {
  return { items, cancel: () => items.cancel() };
}

/** Ways to close a stream that waits. */
const WAYS: readonly (readonly [
  name: string,
  close: (stream: Stream, reached?: Promise<unknown>) => Promise<void>,
])[] = [
  [
    "return()",
    async ({ items }) => {
      const iterator = items[Symbol.asyncIterator]();
      await waitForSilence(iterator);
      await iterator.return?.();
    },
  ],
  [
    "ReadableStream.from().cancel()",
    async ({ items }) => {
      const reader = ReadableStream.from(items).getReader();
      await waitForSilence({ next: () => reader.read() as never });
      await reader.cancel();
    },
  ],
  [
    "Readable.from().destroy()",
    async ({ items }, reached) => {
      const readable = Readable.from(items);
      readable.on("data", () => {});
      await (reached ?? simulator.waitForRequest());
      const closed = new Promise((resolve) => readable.once("close", resolve));
      readable.destroy();
      await closed;
    },
  ],
  [
    "cancel()",
    async ({ items, cancel }) => {
      const iterator = items[Symbol.asyncIterator]();
      const read = await waitForSilence(iterator);
      cancel();
      await expect(read.pending.then((result) => getEnd(result, iterator))).rejects.toBeInstanceOf(
        AbortError,
      );
    },
  ],
];

async function readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A read that waits, in an object: an async function would wait for it. */
async function waitForSilence(
  iterator: Pick<AsyncIterator<unknown>, "next">,
): Promise<{ pending: Promise<IteratorResult<unknown>> }> {
  for (;;) {
    const pending = iterator.next();
    pending.catch(() => {});
    const silence = new Promise<"silent">((resolve) => setTimeout(resolve, 150, "silent"));
    if ((await Promise.race([pending, silence])) === "silent") return { pending };
  }
}

/** Reads on after a pending read gave the `error` event of a stream of batches: the error follows. */
function getEnd(_result: IteratorResult<unknown>, iterator: AsyncIterator<unknown>): Promise<unknown> {
  return iterator.next();
}

describe.each([
  ["that has fallen silent", SILENT],
  ["that has not answered", UNANSWERED],
])("A provider %s", (_title, model) => {
  describe.each(STREAMS)("closes its socket with %s", (_name, open) => {
    it.each(WAYS)("if they end by %s", async (_way, close) => {
      const opened = open(model);
      await close(opened);
      expect(await simulator.waitForClose({ timeoutMs: 5000 })).toMatchObject({ aborted: true });
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });
  });
});

describe("A generation that is closed while a tool runs", () => {
  it.each(WAYS)("aborts the tool's signal by %s", async (_way, close) => {
    const told = Promise.withResolvers<void>();
    const running = Promise.withResolvers<void>();
    const tool = functionTool({
      name: "get_weather",
      execute: (_args, context) => {
        running.resolve();
        context.signal.addEventListener("abort", () => told.resolve());
        return new Promise(() => {});
      },
    });
    const result = stream({ client: clientWith(), model: "sim-tools", prompt: "hi", tools: [tool], signal });
    await close(whole(result), running.promise);
    await told.promise;
    await expect(result.result()).rejects.toBeInstanceOf(AbortError);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("A stream that is closed", () => {
  it("ends pending reads, and yields nothing more", async () => {
    const iterator = eventsFrom(SILENT)[Symbol.asyncIterator]();
    const { pending } = await waitForSilence(iterator);
    const second = iterator.next();
    await iterator.return();
    expect([await pending, await second, await iterator.next()].map(({ done }) => done)).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("throws once after cancel(), and has no response", async () => {
    const events = eventsFrom(SILENT);
    const iterator = events[Symbol.asyncIterator]();
    await iterator.next();
    events.cancel();
    await expect(iterator.next()).rejects.toBeInstanceOf(AbortError);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    await expect(events.final()).rejects.toBeInstanceOf(AbortError);
  });

  it("is never sent if it is cancelled before it is read", async () => {
    const events = eventsFrom(SILENT);
    events.cancel();
    await expect(events.final()).rejects.toBeInstanceOf(AbortError);
    const result = generation(SILENT);
    result.cancel();
    await expect(result.result()).rejects.toBeInstanceOf(AbortError);
    expect(simulator.requests).toEqual([]);
  });

  it("keeps its response if it is cancelled after its end", async () => {
    const events = eventsFrom("sim-text");
    const response = await events.final();
    events.cancel();
    expect(await events.final()).toBe(response);
    const result = generation("sim-text");
    const whole = await result.result();
    result.cancel();
    expect(await result.result()).toBe(whole);
  });

  it("ends a read of a compressed answer, which is decoded meanwhile", async () => {
    const closed = Promise.withResolvers<void>();
    const server = await serveHttp((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
      response.once("close", () => closed.resolve());
      const gzip = createGzip();
      gzip.pipe(response);
      gzip.write("first");
      gzip.flush();
    });
    const transport = openTransport({ baseUrl: `http://127.0.0.1:${server.port}` });
    const { body } = await transport.get("/", { headers: {} });
    const iterator = body[Symbol.asyncIterator]();
    await iterator.next();
    const pending = expect(iterator.next()).rejects.toBeInstanceOf(AbortError);
    await iterator.return?.();
    await closed.promise;
    await pending;
  });
});

describe("A result that is awaited before the loop begins", () => {
  it("keeps all events for a loop that starts later", async () => {
    for (const wait of [0, 20]) {
      const result = generation("sim-text");
      const response = result.response();
      await new Promise((resolve) => setTimeout(resolve, wait));
      let text = "";
      for await (const piece of result.textStream) text += piece;
      expect(text).toBe(textOf(await response));
      expect(text).not.toBe("");
      await expect(readAll(result)).rejects.toThrow("can be read only once");
    }
  });

  it("leaves all events of a call to a loop, and all parts of an object", async () => {
    const events = eventsFrom("sim-text");
    const final = events.final();
    const kinds = (await readAll(events)).map(({ event }) => event.case);
    expect([kinds[0], kinds.at(-1)]).toEqual(["streamStart", "finish"]);
    expect(textOf(await final)).not.toBe("");
    const model = "sim-text";
    const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    const object = streamObject({ client: clientWith(), model, prompt: "hi", schema });
    const whole = object.object();
    expect((await readAll(object)).at(-1)).toEqual(await whole);
  });

  it("throws the failure in the loop and in the result", async () => {
    const result = generation("sim-text:status=401");
    const response = result.response();
    await expect(readAll(result)).rejects.toMatchObject({ kindName: "AUTHENTICATION" });
    await expect(response).rejects.toMatchObject({ kindName: "AUTHENTICATION" });
  });
});
