import { create } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import {
  AbortError,
  InternalError,
  NetworkError,
  RequestTimeoutError,
  SDKError,
  ServerError,
  StreamError,
} from "../../../src/core/errors.ts";
import { LawChecker } from "../../../src/core/laws.ts";
import { withTerminalEvent } from "../../../src/core/streamed-call.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { FinishReason_Reason, FinishReasonSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { decodeStream, type StreamDecoder } from "../../../src/kit/stream/decode-stream.ts";
import type { SseEvent } from "../../../src/kit/stream/sse.ts";
import { StreamWriter, type TextBlock } from "../../../src/kit/stream/stream-writer.ts";
import { factsFor } from "../../support/decode.ts";

const usage = create(UsageSchema, { inputTokens: 3, outputTokens: 1, totalTokens: 4 });
const DONE = { done: true, value: undefined } as const;
const overloaded = new ServerError("overloaded", { provider: "sim", httpStatusCode: 529, retryAfter: 2 });

/** A protocol of five words: `start`, `text` with what follows it, `usage`, `stop`, `fail` and `bug`. */
class WordDecoder implements StreamDecoder {
  readonly #writer: StreamWriter;
  #text: TextBlock | undefined;
  stray: string | undefined;

  constructor(writer: StreamWriter) {
    this.#writer = writer;
  }

  push({ data }: SseEvent): void {
    const [word, ...rest] = data.split(" ");
    switch (word) {
      case "start":
        return this.#writer.start("m");
      case "text":
        this.#text ??= this.#writer.startText();
        return this.#text.append(rest.join(" "));
      case "usage":
        this.#writer.readUsage = () => usage;
        return;
      case "stop":
        return this.#stop();
      case "fail":
        throw overloaded;
      case "bug":
        throw new TypeError("secret prompt");
      default:
        throw new StreamError(`no such word: ${word}`);
    }
  }

  end(stray: string): void {
    this.stray = stray;
    if (stray.startsWith("[stop]")) this.#stop();
    if (stray.startsWith("{")) throw overloaded;
  }

  #stop(): void {
    const finishReason = create(FinishReasonSchema, { reason: FinishReason_Reason.STOP });
    this.#writer.finish({ id: "", model: "", finishReason, usage, rawJson: "" });
  }
}

/** The body of an answer, which notes whether it was read, closed and released. */
class Body {
  readonly #chunks: readonly (string | Uint8Array | Error)[];
  read = 0;
  closed = 0;

  constructor(...chunks: (string | Uint8Array | Error)[]) {
    this.#chunks = chunks;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (const chunk of this.#chunks) {
        this.read += 1;
        if (chunk instanceof Error) throw chunk;
        yield Buffer.from(chunk);
      }
    } finally {
      this.closed += 1;
    }
  }
}

function said(...words: string[]): string {
  return words.map((word) => `data: ${word}\n\n`).join("");
}

interface Outcome {
  readonly batches: (readonly StreamEvent[])[];
  readonly events: StreamEvent[];
  readonly error: unknown;
  readonly released: number;
  readonly stray: string | undefined;
}

/** Decodes a body to its end, or until the given number of batches, and checks the events against the laws. */
async function decode(body: Body, batchesWanted = Number.POSITIVE_INFINITY): Promise<Outcome> {
  const writer = new StreamWriter(factsFor("sim", { model: "m" }), () => 0);
  const decoder = new WordDecoder(writer);
  const laws = new LawChecker();
  const batches: (readonly StreamEvent[])[] = [];
  let error: unknown;
  let released = 0;
  try {
    const release = () => {
      released += 1;
    };
    const decoded = decodeStream(body, decoder, writer, { release });
    for await (const batch of withTerminalEvent(decoded, { now: () => 0 })) {
      batches.push(batch);
      for (const event of batch) laws.check(event);
      if (batches.length >= batchesWanted) break;
    }
  } catch (thrown) {
    error = thrown;
  }
  return { batches, events: batches.flat(), error, released, stray: decoder.stray };
}

function getCases(events: readonly StreamEvent[]): (string | undefined)[] {
  return events.map(({ event }) => event.case);
}

/** The error that an `error` event at the end carries; it is the one that was thrown. */
function lastError({ events, error }: Outcome): SDKError {
  const last = events.at(-1)?.event;
  if (last?.case !== "error" || !(error instanceof SDKError))
    throw new Error("expected an error event and a throw");
  expect(last.value).toEqual(error.toProto());
  return error;
}

describe("a stream that ends normally", () => {
  it("comes in one batch for each read that brought something", async () => {
    const body = new Body(
      said("start"),
      ": ping\n\n",
      `${said("text Hi")}data: te`,
      "xt  there\n\n",
      said("stop"),
    );
    const { batches, error } = await decode(body);
    expect(batches.map(getCases)).toEqual([
      ["streamStart"],
      ["textStart", "textDelta"],
      ["textDelta"],
      ["textEnd", "finish"],
    ]);
    expect(error).toBeUndefined();
  });

  it("comes in one batch if it all arrived at once", async () => {
    const { batches } = await decode(new Body(said("start", "text Hi", "stop")));
    expect(batches.map(getCases)).toEqual([["streamStart", "textStart", "textDelta", "textEnd", "finish"]]);
  });

  it("releases the body once, at the end marker, and reads nothing after it", async () => {
    const body = new Body(said("start"), said("stop", "fail"), said("fail"));
    const { events, error, released } = await decode(body);
    expect([getCases(events), error]).toEqual([["streamStart", "finish"], undefined]);
    expect([released, body.read, body.closed]).toEqual([1, 2, 1]);
  });

  it("releases the body before the reader has the last batch", async () => {
    const body = new Body(said("start", "stop"));
    expect((await decode(body, 1)).released).toBe(1);
    expect(body.closed).toBe(1);
  });

  it("may lack the last blank line", async () => {
    const { events, error } = await decode(new Body(said("start"), "data: stop"));
    expect([getCases(events), error]).toEqual([["streamStart", "finish"], undefined]);
  });

  it("may end without an end marker if the decoder knows better", async () => {
    const { events, error, stray } = await decode(new Body(said("start"), "[stop]"));
    expect([getCases(events), error, stray]).toEqual([["streamStart", "finish"], undefined, "[stop]"]);
  });
});

describe("a failure before the first event", () => {
  it.each([
    ["that the provider reports", said("fail"), overloaded],
    ["of the connection", new AbortError("left"), AbortError],
    ["of the protocol", said("hello"), StreamError],
    ["of a decoder with a bug", said("bug"), InternalError],
    ["that stands in the stream without being an event", '{"error":{}}', overloaded],
    ["by the end of the stream", "", StreamError],
  ])("%s is thrown and is all there is", async (_what, chunk, want) => {
    const body = new Body(chunk);
    const { batches, error, released } = await decode(body);
    expect(batches).toEqual([]);
    if (typeof want === "function") expect(error).toBeInstanceOf(want);
    else expect(error).toBe(want);
    expect([released, body.closed]).toEqual([0, 1]);
  });

  it("of the connection is a broken stream with its cause", async () => {
    const lost = new NetworkError("the connection was lost");
    const { batches, error } = await decode(new Body(lost));
    expect(batches).toEqual([]);
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({ cause: lost, outputStarted: false });
  });
});

describe("a failure after the first event", () => {
  it("is an error event, and the same error is thrown after it", async () => {
    const outcome = await decode(
      new Body(said("start", "usage"), said("text Hi"), said("fail"), said("stop")),
    );
    expect(outcome.batches.map(getCases)).toEqual([["streamStart"], ["textStart", "textDelta"], ["error"]]);
    const error = lastError(outcome);
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({
      message: "overloaded",
      provider: "sim",
      httpStatusCode: 529,
      retryAfter: 2,
      retryable: true,
      outputStarted: true,
      usage,
    });
  });

  it("says that the model had not begun to write", async () => {
    expect(lastError(await decode(new Body(said("start"), said("fail"))))).toMatchObject({
      outputStarted: false,
      usage: undefined,
    });
  });

  it("comes after the events before in the same read", async () => {
    const { batches } = await decode(new Body(said("start", "text Hi", "fail", "text more")));
    expect(batches.map(getCases)).toEqual([["streamStart", "textStart", "textDelta"], ["error"]]);
  });

  it("closes the body and does not release it", async () => {
    const body = new Body(said("start"), said("fail"), said("stop"));
    expect((await decode(body)).released).toBe(0);
    expect([body.read, body.closed]).toEqual([2, 1]);
  });

  it("of the connection is a broken stream with its cause", async () => {
    const lost = new NetworkError("the connection was lost");
    const error = lastError(await decode(new Body(said("start", "text Hi"), lost)));
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({ cause: lost, outputStarted: true, retryable: true });
    expect(error.message).toBe("the provider's stream broke: the connection was lost");
  });

  it.each([
    ["ABORT where the caller leaves", new AbortError("the call was cancelled")],
    ["REQUEST_TIMEOUT where a limit runs out", new RequestTimeoutError("sent nothing for 1 second")],
  ])("stays %s", async (_what, thrown) => {
    const error = lastError(await decode(new Body(said("start", "text Hi"), thrown)));
    expect(error.constructor).toBe(thrown.constructor);
    expect(error).toMatchObject({ message: thrown.message, outputStarted: true });
  });

  it("of the body with a bug keeps its words inside", async () => {
    const error = lastError(await decode(new Body(said("start"), new TypeError("secret prompt"))));
    expect(error).toMatchObject({ kind: ErrorKind.INTERNAL, message: "internal error" });
  });

  it("of a decoder with a bug keeps its words inside", async () => {
    const error = lastError(await decode(new Body(said("start"), said("bug"))));
    expect(error).toMatchObject({ kind: ErrorKind.INTERNAL, message: "internal error" });
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  it("is of kind STREAM if the end marker never comes", async () => {
    const outcome = await decode(new Body(said("start", "text Hi")));
    expect(lastError(outcome)).toBeInstanceOf(StreamError);
    expect(lastError(outcome).message).toBe("the provider's stream ended before its end marker");
    expect(outcome.stray).toBe("");
  });

  it("may be in the stream as plain JSON instead of an event", async () => {
    const outcome = await decode(new Body(said("start", "text Hi"), '{"error":', '{"code":529}}'));
    expect(lastError(outcome)).toBeInstanceOf(ServerError);
    expect(outcome.stray).toBe('{"error":{"code":529}}');
  });
});

describe("a reader who leaves", () => {
  it("closes the body, and gets no further events", async () => {
    const body = new Body(said("start"), said("text Hi"), said("stop"));
    const { batches, error, released } = await decode(body, 1);
    expect([batches.map(getCases), error, released]).toEqual([[["streamStart"]], undefined, 0]);
    expect([body.read, body.closed]).toEqual([1, 1]);
  });

  it("before the first event opens nothing", async () => {
    const body = new Body(said("start"));
    const writer = new StreamWriter(factsFor("sim", {}), () => 0);
    await decodeStream(body, new WordDecoder(writer), writer)[Symbol.asyncIterator]().return?.();
    expect([body.read, body.closed]).toEqual([0, 0]);
  });

  it("while a batch is awaited closes the body, and ends the wait", async () => {
    const read = Promise.withResolvers<IteratorResult<Uint8Array>>();
    const close = vi.fn(async () => {
      read.reject(new AbortError("the answer was left"));
      return DONE;
    });
    const body = { [Symbol.asyncIterator]: () => ({ next: () => read.promise, return: close }) };
    const writer = new StreamWriter(factsFor("sim", {}), () => 0);
    const batches = decodeStream(body, new WordDecoder(writer), writer)[Symbol.asyncIterator]();
    const awaited = batches.next();
    expect([await batches.return?.(), await awaited, await batches.next()]).toEqual([DONE, DONE, DONE]);
    expect(close).toHaveBeenCalledOnce();
  });
});

describe("the bytes of a stream", () => {
  const bytes = Buffer.from(said("start", "text Hé", "text 😀", "stop"));

  it("give the same events wherever they are cut in two", async () => {
    const { events: want } = await decode(new Body(bytes));
    for (let at = 1; at < bytes.length; at += 1) {
      const { events, error } = await decode(new Body(bytes.subarray(0, at), bytes.subarray(at)));
      expect([events, error]).toEqual([want, undefined]);
    }
  });

  it("never look finished before their end marker is whole", async () => {
    const marker = bytes.indexOf("data: stop") + "data: stop".length;
    for (let length = 0; length < marker; length += 1) {
      const { events, error } = await decode(new Body(bytes.subarray(0, length)));
      expect(getCases(events)).not.toContain("finish");
      expect(error).toBeInstanceOf(StreamError);
      expect(getCases(events).at(-1)).toBe(events.length === 0 ? undefined : "error");
    }
  });
});
