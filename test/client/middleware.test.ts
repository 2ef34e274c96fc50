import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AbortError,
  accumulate,
  Client,
  ConfigurationError,
  EventStream,
  InvalidRequestError,
  type Middleware,
  NetworkError,
  type Request,
  type Response,
  StreamError,
  type StreamEvent,
  textOf,
  textPart,
  userMessage,
} from "outrigger";
import { LawChecker } from "outrigger/kit";
import {
  create,
  FinishReason_Reason,
  FinishReasonSchema,
  RateLimitInfoSchema,
  RequestSchema,
  StreamEventSchema,
  UsageSchema,
} from "outrigger/proto";
import { describe, expect, it, vi } from "vitest";
import { lazyBatches } from "../../src/core/batches.ts";
import { type Script, ScriptedAdapter } from "./support/scripted-adapter.ts";

const request = { model: "m1", messages: [userMessage("hi")] };

function clientWith(middleware: Middleware[], script: Script = {}): { client: Client; one: ScriptedAdapter } {
  const one = new ScriptedAdapter("one", script);
  const providers = { one, two: new ScriptedAdapter("two") };
  const client = new Client({ providers, defaultProvider: "one", middleware });
  return { client, one };
}

/** The cases of a stream's events, and what ended it. The laws hold on the way. */
async function read(stream: EventStream): Promise<{ events: StreamEvent[]; error: unknown }> {
  const laws = new LawChecker();
  const events: StreamEvent[] = [];
  try {
    for await (const event of stream) {
      laws.check(event);
      events.push(event);
    }
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

const START = create(StreamEventSchema, { event: { case: "streamStart", value: {} } });

async function* failAfter(batch: readonly StreamEvent[], error: Error) {
  yield batch;
  throw error;
}

function getCases(events: readonly StreamEvent[]): (string | undefined)[] {
  return events.map(({ event }) => event.case);
}

describe("middleware with methods", () => {
  it("can change its request without changing the caller's", async () => {
    const changing: Middleware = (passed, next) => {
      passed.model = "m2";
      passed.messages.push(userMessage("more"));
      passed.messages[0]?.content.push(textPart("and more"));
      passed.metadata.team = "blue";
      return next(passed);
    };
    const { client, one } = clientWith([changing]);
    const original = create(RequestSchema, { model: "m1", messages: [userMessage("hi")] });
    await client.complete(original);
    expect(one.requests[0]).toMatchObject({ model: "m2", metadata: { team: "blue" } });
    expect(original).toEqual(create(RequestSchema, { model: "m1", messages: [userMessage("hi")] }));
  });

  it("runs in order on the way in and in reverse on the way out, for both kinds of call", async () => {
    const order: string[] = [];
    const named = (name: string): Middleware => ({
      async complete(passed, next) {
        order.push(`${name} in`);
        const response = await next(passed);
        order.push(`${name} out`);
        return response;
      },
      async *stream(passed, next) {
        order.push(`${name} in`);
        yield* next(passed);
        order.push(`${name} out`);
      },
    });
    const { client } = clientWith([named("a"), named("b"), named("c")]);
    const onion = ["a in", "b in", "c in", "c out", "b out", "a out"];
    await client.complete(request);
    expect(order.splice(0)).toEqual(onion);
    await read(client.stream(request));
    expect(order).toEqual(onion);
  });

  it("sees the provider's name, even if the default one answers", async () => {
    const seen: string[] = [];
    const log: Middleware = {
      complete: (passed, next) => {
        seen.push(`${passed.provider}/${passed.model}`);
        return next(passed);
      },
    };
    const { client } = clientWith([log]);
    await client.complete(request);
    await client.complete({ ...request, provider: "two" });
    expect(seen).toEqual(["one/m1", "two/m1"]);
  });

  it("reroutes a call by changing the request, which is validated again", async () => {
    const change = (fields: Partial<Request>): Middleware => ({
      complete: (passed, next) => next({ ...passed, ...fields }),
      stream: (passed, next) => next({ ...passed, ...fields }),
    });
    const { client } = clientWith([change({ provider: "two", model: "m2" })]);
    expect(textOf(await client.complete(request))).toBe("two m2");
    expect(textOf(await accumulate(client.stream(request)))).toBe("two m2");
    const { client: broken, one } = clientWith([change({ maxTokens: 0 })]);
    await expect(broken.complete(request)).rejects.toThrow(InvalidRequestError);
    expect((await read(broken.stream(request))).error).toBeInstanceOf(InvalidRequestError);
    expect(one.requests).toEqual([]);
  });

  it("passes the options of the call on, or others", async () => {
    const custom: Middleware = {
      complete: (passed, next, options) => next(passed, { ...options, inferenceId: "run_own" }),
    };
    const { client, one } = clientWith([{ complete: (passed, next) => next(passed) }, custom]);
    const { signal } = new AbortController();
    await client.complete(request, { signal, inferenceId: "run_first" });
    expect(one.options[0]).toMatchObject({ signal, inferenceId: "run_own" });
  });

  it("may change, add and withhold events", async () => {
    const shout: Middleware = {
      async *stream(passed, next) {
        for await (const event of next(passed)) {
          if (event.event.case === "textDelta")
            event.event.value.delta = event.event.value.delta.toUpperCase();
          yield event;
        }
      },
    };
    const { client } = clientWith([shout]);
    const deltas: string[] = [];
    for await (const { event } of client.stream(request))
      if (event.case === "textDelta") deltas.push(event.value.delta);
    expect(deltas).toEqual(["ONE", " ", "M1"]);
  });

  it("keeps batches if it returns the stream of next", async () => {
    const sizes = async (stream: EventStream) => {
      const found: number[] = [];
      for await (const batch of stream.batches()) found.push(batch.length);
      return found;
    };
    const { client } = clientWith([{ stream: (passed, next) => next(passed) }]);
    const direct = await sizes(new ScriptedAdapter("one").stream(create(RequestSchema, request)));
    expect(await sizes(client.stream(request))).toEqual(direct);
  });

  it("is not called before the first event is requested", async () => {
    const stream = vi.fn((passed: Request, next: (passed: Request) => EventStream) => next(passed));
    const { client } = clientWith([{ stream }]);
    const events = client.stream(request);
    expect(stream).not.toHaveBeenCalled();
    await read(events);
    expect(stream).toHaveBeenCalledOnce();
  });

  it("passes on kinds of calls that it has no method for", async () => {
    const { client } = clientWith([{}]);
    expect(textOf(await client.complete(request))).toBe("one m1");
    expect(textOf(await accumulate(client.stream(request)))).toBe("one m1");
  });

  it("ends the provider's stream when the caller leaves", async () => {
    const pass: Middleware = {
      async *stream(passed, next) {
        yield* next(passed);
      },
    };
    const { client, one } = clientWith([
      pass,
      (passed, next) => next(passed),
      { stream: (passed, next) => next(passed) },
    ]);
    for await (const _event of client.stream(request)) break;
    expect(one).toMatchObject({ started: 1, ended: 1 });
  });
});

describe("middleware as a function", () => {
  it("wraps whole answers and streams alike", async () => {
    const lines: string[] = [];
    const log: Middleware = async (passed, next) => {
      lines.push(`to ${passed.provider}/${passed.model}`);
      const response = await next(passed);
      lines.push(`${response.usage?.totalTokens} tokens`);
      return response;
    };
    const { client } = clientWith([log]);
    await client.complete(request);
    const plain = await read(
      new ScriptedAdapter("one").stream(create(RequestSchema, { ...request, provider: "one" }), {
        inferenceId: "r",
      }),
    );
    const { events } = await read(client.stream(request, { inferenceId: "r" }));
    const timeless = ({ event }: StreamEvent) =>
      event.case === "streamStart" ? { ...event.value, startedAt: 0 } : event;
    expect(events.map(timeless)).toEqual(plain.events.map(timeless));
    expect(lines).toEqual(["to one/m1", "5 tokens", "to one/m1", "5 tokens"]);
  });

  it("holds finish back until it has returned, and passes on its changes except to the message", async () => {
    const priced: Middleware = async (passed, next) => {
      const response = await next(passed);
      const usage = create(UsageSchema, { totalTokens: 5, costNanoUsd: 7n });
      const finishReason = create(FinishReasonSchema, { reason: FinishReason_Reason.LENGTH, raw: "cut" });
      return { ...response, usage, finishReason, message: userMessage("something else") as never };
    };
    const { client } = clientWith([priced]);
    const { events } = await read(client.stream(request));
    const finish = events.at(-1)?.event;
    expect(finish).toMatchObject({
      case: "finish",
      value: { usage: { costNanoUsd: 7n }, finishReason: { raw: "cut" } },
    });
    expect(events.map(({ sequence }) => sequence)).toEqual([...events.keys()]);
    expect(textOf(finish?.case === "finish" ? finish.value.response : undefined)).toBe("one m1");
  });

  it("turns a response from elsewhere into a stream", async () => {
    const { client } = clientWith([]);
    const known = await client.complete(request);
    const cache: Middleware = async () => known;
    const { client: cached, one } = clientWith([cache]);
    const { events } = await read(cached.stream(request));
    expect(getCases(events)).toEqual(["streamStart", "textStart", "textDelta", "textEnd", "finish"]);
    expect(textOf(await accumulate(cached.stream(request)))).toBe("one m1");
    expect(await cached.complete(request)).toBe(known);
    const response = { ...known, createdAt: timestampFromMs(86_400_000) };
    const [start] = (await read(clientWith([async () => response]).client.stream(request))).events;
    expect(start?.event.value).toMatchObject({ startedAt: { seconds: 86_400n } });
    const rateLimit = create(RateLimitInfoSchema, { requestsRemaining: 3 });
    const facts = { rateLimit, providerRequestId: "req_1" };
    const limited = clientWith([async () => ({ ...known, ...facts })]).client;
    expect(await accumulate(limited.stream(request))).toMatchObject(facts);
    expect(one.requests).toEqual([]);
  });

  it("throws its error before the first event if it did not call next", async () => {
    const budget: Middleware = async () => {
      throw new ConfigurationError("the budget is spent");
    };
    const { client, one } = clientWith([budget]);
    await expect(client.complete(request)).rejects.toThrow("the budget is spent");
    expect(await read(client.stream(request))).toEqual({
      events: [],
      error: new ConfigurationError("the budget is spent"),
    });
    expect(one.requests).toEqual([]);
  });

  it("ends a stream with an error event if it throws after the answer", async () => {
    const strict: Middleware = async (passed, next) => {
      await next(passed);
      throw new StreamError("the answer is not wanted");
    };
    const { client } = clientWith([strict]);
    const { events, error } = await read(client.stream(request));
    expect(getCases(events).slice(-2)).toEqual(["textEnd", "error"]);
    expect(error).toEqual(new StreamError("the answer is not wanted"));
  });

  it("may try again if nothing has been sent", async () => {
    const again: Middleware = async (passed, next) => next(passed).catch(() => next(passed));
    const failures = () => ({ failures: [new NetworkError("refused")] });
    expect(textOf(await clientWith([again], failures()).client.complete(request))).toBe("one m1");
    const { client, one } = clientWith([again], failures());
    const { events, error } = await read(client.stream(request));
    expect(error).toBeUndefined();
    expect(getCases(events)[0]).toBe("streamStart");
    expect(one.requests).toHaveLength(2);
  });

  it("may fall back to another provider", async () => {
    const fallback: Middleware = async (passed, next) =>
      next(passed).catch(() => next({ ...passed, provider: "two" }));
    const { client } = clientWith([fallback], { failures: [new NetworkError("refused")] });
    expect(textOf(await accumulate(client.stream(request)))).toBe("two m1");
  });

  it("sees a failure after output began, and cannot undo it", async () => {
    const heard: unknown[] = [];
    const listen: Middleware = async (passed, next) => {
      try {
        return await next(passed);
      } catch (error) {
        heard.push(error);
        return next(passed).finally(() => heard.push("ended"));
      }
    };
    const broken = new StreamError("cut");
    const { client, one } = clientWith([listen], { breaksWith: broken });
    const { events, error } = await read(client.stream(request));
    expect(getCases(events)).toEqual(["streamStart", "textStart", "textDelta", "error"]);
    expect(error).toBe(broken);
    await vi.waitFor(() => expect(heard).toEqual([broken, "ended"]), { timeout: 10_000 });
    expect(one).toMatchObject({ started: 1, ended: 1 });
  });

  it("sees that the caller disconnected", async () => {
    const heard = Promise.withResolvers<unknown>();
    const listen: Middleware = async (passed, next) => {
      try {
        return await next(passed);
      } catch (error) {
        heard.resolve(error);
        throw error;
      }
    };
    const { client, one } = clientWith([listen]);
    for await (const { event } of client.stream(request)) if (event.case === "textDelta") break;
    expect(await heard.promise).toBeInstanceOf(AbortError);
    expect(one).toMatchObject({ started: 1, ended: 1 });
  });

  it("gets an error if it calls next twice at once around a stream", async () => {
    const twice: Middleware = async (passed, next) =>
      (await Promise.all([next(passed), next(passed)]))[0] as Response;
    const { client } = clientWith([twice]);
    const { error } = await read(client.stream(request));
    expect(error).toEqual(
      new ConfigurationError("a middleware called next while its previous call was running"),
    );
  });

  it.each([
    ["may try again after a batch without events", [], undefined],
    ["cannot try again after a single event", [START], new NetworkError("cut")],
  ])("%s", async (_what, batch, error) => {
    let isBroken = true;
    const broken: Middleware = {
      stream: (passed, next) => {
        if (!isBroken) return next(passed);
        isBroken = false;
        return new EventStream(failAfter(batch, new NetworkError("cut")));
      },
    };
    const again: Middleware = async (passed, next) => next(passed).catch(() => next(passed));
    const { client } = clientWith([again, broken]);
    expect((await read(client.stream(request))).error).toEqual(error);
  });

  it("cancels a silent provider call when the caller disconnects", async () => {
    const cancelled = Promise.withResolvers<string>();
    const silent: Middleware = {
      stream: () =>
        new EventStream(
          lazyBatches(() => new Promise<never>(() => {})),
          () => cancelled.resolve("cancelled"),
        ),
    };
    const stream = clientWith([(passed, next) => next(passed), silent]).client.stream(request);
    const reading = read(stream);
    await new Promise(setImmediate);
    stream.cancel();
    expect(await cancelled.promise).toBe("cancelled");
    expect((await reading).error).toBeInstanceOf(AbortError);
  });

  it("gets an error if the finish event has no response", async () => {
    const empty: Middleware = {
      async *stream() {
        yield START;
        yield create(StreamEventSchema, { sequence: 1, event: { case: "finish", value: {} } });
      },
    };
    const { error } = await read(clientWith([(passed, next) => next(passed), empty]).client.stream(request));
    expect(error).toEqual(new StreamError("the finish event has no response"));
  });

  it("may return before an answer that fails", async () => {
    const impatient: Middleware = async (passed, next) => {
      void next(passed);
      throw new StreamError("no answer is wanted");
    };
    const failures = [new NetworkError("refused")];
    const { error } = await read(clientWith([impatient], { failures }).client.stream(request));
    expect(error).toEqual(new StreamError("no answer is wanted"));
    await new Promise(setImmediate);
  });

  it("gets an error if the stream beneath it ends without finish", async () => {
    const headless: Middleware = {
      async *stream() {
        yield create(StreamEventSchema, { event: { case: "streamStart", value: {} } });
      },
    };
    const { client } = clientWith([(passed, next) => next(passed), headless]);
    expect((await read(client.stream(request))).error).toEqual(
      new StreamError("the stream ended without finish or error"),
    );
  });
});

describe("A plain error of a middleware", () => {
  const request = { model: "m-1", messages: [userMessage("hi")] };
  const thrown = new Error("the audit log is full");
  const fail = () => {
    throw thrown;
  };
  const before: Middleware = async () => fail();
  const after: Middleware = async (asked, next) => {
    await next(asked);
    return fail();
  };
  const inside: Middleware = {
    complete: async () => fail(),
    stream: async function* (asked, next) {
      yield* next(asked);
      fail();
    },
  };

  it.each([
    ["before the call", before],
    ["after it", after],
    ["in a method", inside],
  ])("%s is thrown as it is by complete and stream", async (_when, middleware) => {
    const client = new Client({ providers: { one: new ScriptedAdapter("one") }, middleware: [middleware] });
    await expect(client.complete(request)).rejects.toBe(thrown);
    const kinds: (string | undefined)[] = [];
    const read = async () => {
      for await (const { event } of client.stream(request)) {
        kinds.push(event.case);
        if (event.case === "error") expect(event.value.message).toBe("internal error");
      }
    };
    await expect(read()).rejects.toBe(thrown);
    expect(kinds.filter((kind) => kind === "error").length).toBeLessThanOrEqual(1);
  });
});
