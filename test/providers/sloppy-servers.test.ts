/** Servers of every wire format have the same faults. Every adapter must read them alike, whole and as a stream. */
import { toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { SDKError, ServerError, StreamError } from "../../src/core/errors.ts";
import { toolCallsOf } from "../../src/core/message.ts";
import {
  FinishReason_Reason as Reason,
  type Response,
  ResponseSchema,
} from "../../src/gen/outrigger/v1/response_pb.ts";
import {
  eventText,
  type Outcome,
  readStream,
  readWhole,
  type Said,
  type Wire,
  type WireFormat,
  wireFormats,
} from "./support/wire-formats.ts";

const hello = { text: "Hello" };

/** The response to an answer, read whole and as a stream, which must be the same. */
async function readBoth(format: WireFormat, said: Said, request: object = {}): Promise<Response> {
  const whole = readWhole(format, format.whole(said), request);
  const streamed = await readStream(format, format.events(said), request);
  expect(toComparable(streamed)).toEqual(toComparable(whole));
  if (whole.response === undefined) throw whole.error;
  return whole.response;
}

function toComparable({ response, error }: Outcome): unknown {
  expect(error).toBeUndefined();
  return response && toJson(ResponseSchema, response);
}

describe.each(wireFormats)("a server of $name", (format) => {
  const { stop, limit } = format.words;

  it("gives the same answer whole and as a stream", async () => {
    const said = { part: hello, finish: stop, usage: format.usage(3, 4) };
    expect(await readBoth(format, said)).toMatchObject({
      id: "id_1",
      model: "model-1",
      message: { content: [{ part: { case: "text", value: "Hello" } }] },
      finishReason: { reason: Reason.STOP, raw: stop },
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
      warnings: [],
    });
  });

  describe("that cuts an answer at the token limit", () => {
    const lookedUp = async (call: string, finish: string) => {
      const response = await readBoth(format, { part: { call }, finish });
      return { call: toolCallsOf(response)[0], reason: response.finishReason?.reason };
    };

    it("marks a call without arguments as invalid", async () => {
      const { call, reason } = await lookedUp("", limit);
      expect(call).toMatchObject({ name: "look", argumentsInvalid: true, input: { value: "" } });
      expect(reason).toBe(Reason.LENGTH);
    });

    it("leaves a call whose arguments are whole as it is", async () => {
      const { call } = await lookedUp('{"at":"sea"}', limit);
      expect(call).toMatchObject({ argumentsInvalid: false, input: { value: '{"at":"sea"}' } });
    });

    it("takes a call without arguments for one that needs none if the answer was not cut", async () => {
      const { call, reason } = await lookedUp("{}", stop);
      expect(call).toMatchObject({ argumentsInvalid: false, input: { value: "{}" } });
      expect(reason).not.toBe(Reason.LENGTH);
    });
  });

  describe("that reports an ordinary end at the caller's limit", () => {
    const codes = async (outputTokens: number, maxTokens: number | undefined, finish = stop) => {
      const said = { part: hello, finish, usage: format.usage(3, outputTokens) };
      const { warnings } = await readBoth(format, said, maxTokens === undefined ? {} : { maxTokens });
      return warnings.map(({ code, field }) => `${code} ${field}`);
    };

    it("causes a warning, and only there", async () => {
      expect(await codes(5, 5)).toEqual(["limit_reached max_tokens"]);
      expect(await codes(4, 5)).toEqual([]);
      expect(await codes(5, undefined)).toEqual([]);
      expect(await codes(5, 5, limit)).toEqual([]);
    });
  });

  describe("that gives other numbers", () => {
    it("has the number of a finish reason as its word", async () => {
      const response = await readBoth(format, { part: hello, finish: 7 });
      expect(response.finishReason).toMatchObject({ reason: Reason.OTHER, raw: "7" });
    });

    it("has negative counts left out, with a warning", async () => {
      const usage = format.usage(-1, 4);
      const { usage: counts, warnings } = await readBoth(format, { part: hello, finish: stop, usage });
      expect(counts).toMatchObject({ inputTokens: 0, outputTokens: 4, totalTokens: 4 });
      expect(warnings).toMatchObject([{ field: "usage", code: "count_mismatch" }]);
      const none = await readBoth(format, { part: hello, finish: stop, usage: format.usage(-1, -1) });
      expect(none.usage?.totalTokens ?? 0).toBe(0);
    });
  });

  describe("that sends null", () => {
    const said = { part: hello, finish: stop, usage: format.usage(3, 4) };

    it("is read as if the field were left out, whole and as a stream", async () => {
      const body = format.whole(said);
      for (const key of Object.keys(body)) {
        const left = { ...body, [key]: undefined };
        expect(summary(readWhole(format, { ...body, [key]: null }))).toEqual(
          summary(readWhole(format, left)),
        );
      }
      const events = format.events(said);
      for (const [at, event] of events.entries())
        for (const [path, changed] of withNulls(event)) {
          const nulled = await readStream(format, events.with(at, changed(null)));
          const left = await readStream(format, events.with(at, changed(undefined)));
          expect(summary(nulled), `event ${at}, ${path}`).toEqual(summary(left));
        }
    });

    it("in place of the whole answer causes an error", async () => {
      expect(readWhole(format, null).error).toBeInstanceOf(ServerError);
      expect((await readStream(format, ["data: null\n\n"])).error).toBeInstanceOf(SDKError);
    });
  });

  it("causes no error by events without data", async () => {
    const said = { part: hello, finish: stop };
    const blanks = format.events(said).flatMap((event) => ["data:\n\n", "event: ping\ndata: \n\n", event]);
    const plain = await readStream(format, format.events(said));
    expect(toComparable(await readStream(format, blanks))).toEqual(toComparable(plain));
  });

  it("causes an error by an error event without data", async () => {
    const [first = {}, ...rest] = format.events({ part: hello, finish: stop });
    const { error, response } = await readStream(format, [first, "event: error\ndata:\n\n", ...rest]);
    expect(error).toBeInstanceOf(SDKError);
    expect(response).toBeUndefined();
  });
});

describe.each(wireFormats)("a server of $name that fails", (format) => {
  const [first = {}] = format.events({ part: hello, finish: format.words.stop });

  it.each([
    ["the error of another API", { error: { message: "boom", type: "api_error" } }],
    ["an error that is text", { error: "boom" }],
    ["a detail of FastAPI", { detail: "boom" }],
    ["an error at the top", { object: "error", message: "boom", type: "BadGatewayError", code: 502 }],
  ])("has its message read from %s, within a stream and in place of an answer", async (_, failure) => {
    const event = `data: ${JSON.stringify(failure)}\n\n`;
    for (const events of [[first, event], [event]]) {
      const { error, response } = await readStream(format, events);
      expect(response).toBeUndefined();
      expect(getMessage(error)).toContain("boom");
    }
    expect(getMessage(readWhole(format, failure).error)).toContain("boom");
  });

  it("has its message read from the text of an error event", async () => {
    const { error } = await readStream(format, [first, "event: error\ndata: upstream went away\n\n"]);
    expect(getMessage(error)).toContain("upstream went away");
  });
});

describe.each(wireFormats)("a server of $name that nests JSON in a call", (format) => {
  const said = { part: { call: '{"at":"DEEP"}' }, finish: format.words.stop };
  const nested = (value: unknown, levels: number) =>
    JSON.stringify(value).replace(/\\?"DEEP\\?"/g, `${"[".repeat(levels)}${"]".repeat(levels)}`);
  const read = (levels: number) =>
    readStream(
      format,
      format.events(said).map((event) => eventText(event, nested(event, levels))),
    );

  it("has 900 levels passed on", async () => {
    const { response } = await read(900);
    const [call] = response === undefined ? [] : toolCallsOf(response);
    expect(call).toMatchObject({ argumentsInvalid: false, input: { value: expect.stringContaining("[[[") } });
  });

  it.each([1100, 5000, 100_000])("has %i levels passed on in a text, or refused", async (levels) => {
    const { response, error } = await read(levels);
    if (response === undefined) expect(error).toBeInstanceOf(StreamError);
    else expect(toolCallsOf(response)).toMatchObject([{ input: { value: expect.stringContaining("[[[") } }]);
  });

  it("is not asked again if an answer or event has more than 1,000 levels", async () => {
    const tooDeep = {
      message: "the provider's answer has more than 1000 levels of JSON",
      retryable: false,
    };
    const whole = nested({ ...format.whole(said), extra: "DEEP" }, 5000);
    expect(readWhole(format, whole).error).toMatchObject(tooDeep);
    const events = format.events(said).map((event) => ({ ...event, extra: "DEEP" }));
    const streamed = await readStream(
      format,
      events.map((event) => eventText(event, nested(event, 5000))),
    );
    expect(streamed.error).toMatchObject(tooDeep);
  });
});

it.each(wireFormats)("the end marker of Chat Completions ends no other stream: $name", async (format) => {
  const events = format.events({ part: hello, finish: format.words.stop });
  const marker = "data: [DONE]\n\n";
  const plain = toComparable(await readStream(format, events));
  expect(toComparable(await readStream(format, [...events, marker]))).toEqual(plain);
  if (format.end === marker) return;
  expect(
    toComparable(await readStream(format, [...events.slice(0, -1), marker, ...events.slice(-1)])),
  ).toEqual(plain);
  expect((await readStream(format, [...events.slice(0, -1), marker])).error).toBeInstanceOf(SDKError);
});

/** The message of the error with which a stream ends, or that is thrown. */
function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : "";
}

describe("a server of Responses", () => {
  const format = wireFormats.find(({ name }) => name === "Responses") as WireFormat;
  const answer = (item: object, finish = "completed"): [Wire, Wire[]] => {
    const body = { ...format.whole({ part: hello, finish }), output: [item] };
    const [created = {}] = format.events({ part: hello, finish });
    const done = { type: "response.output_item.done", output_index: 0, item };
    return [body, [created, done, { type: "response.completed", response: body }]];
  };
  const read = async ([body, events]: [Wire, Wire[]]) => {
    const whole = readWhole(format, body);
    expect(toComparable(await readStream(format, events))).toEqual(toComparable(whole));
    return whole.response;
  };

  it("may send the arguments of a call as an object", async () => {
    const item = { type: "function_call", id: "f", call_id: "c", name: "look", arguments: { at: ["sea"] } };
    const response = await read(answer(item));
    expect(response && toolCallsOf(response)).toMatchObject([{ input: { value: '{"at":["sea"]}' } }]);
  });

  it("may send the text of a message without a part", async () => {
    const response = await read(answer({ type: "message", id: "m", role: "assistant", content: "Hello" }));
    expect(response?.message?.content).toMatchObject([{ part: { case: "text", value: "Hello" } }]);
  });
});

describe("an answer that holds nothing", () => {
  const [responses, messages, gemini, chat] = wireFormats as [WireFormat, WireFormat, WireFormat, WireFormat];
  const usage = { usage: { input_tokens: 1, output_tokens: 1 } };

  it.each<[string, WireFormat, unknown, Wire[]]>([
    [
      "output is null",
      responses,
      { id: "r", status: "completed", output: null, ...usage },
      [{ type: "response.completed", response: { id: "r", status: "completed", output: null, ...usage } }],
    ],
    [
      "content is null",
      messages,
      { type: "message", content: null, stop_reason: "end_turn", ...usage },
      [
        { type: "message_start", message: null },
        { type: "message_delta", delta: { stop_reason: "end_turn" } },
        { type: "message_stop" },
      ],
    ],
    ["candidates is null", gemini, { candidates: null }, [{ candidates: null }]],
    ["a candidate is null", gemini, { candidates: [null] }, [{ candidates: [null] }]],
    ["choices is null", chat, { choices: null }, [{ choices: null }]],
    [
      "message is null",
      chat,
      { choices: [{ message: null, finish_reason: "stop" }] },
      [{ choices: [{ delta: null, finish_reason: "stop" }] }],
    ],
  ])("is an error if %s, whole and as a stream", async (_, format, body, events) => {
    const whole = readWhole(format, body);
    expect(whole.error).toBeInstanceOf(ServerError);
    const streamed = await readStream(format, events);
    expect(streamed.response).toBeUndefined();
    expect(streamed.error).toBeInstanceOf(SDKError);
  });
});

/** An outcome in a form that can be compared: without what is kept as the server sent it, nulls included. */
function summary({ response, error }: Outcome): unknown {
  if (response === undefined) return String(error);
  const json = JSON.stringify(toJson(ResponseSchema, response));
  return JSON.parse(json, (key, value) => (key === "dataJson" ? undefined : value));
}

/** For each field of an event, at any depth in objects, the event with another value there. */
function withNulls(event: Wire, path = ""): [string, (value: null | undefined) => Wire][] {
  return Object.entries(event).flatMap(([key, field]): [string, (value: null | undefined) => Wire][] => [
    [`${path}${key}`, (value) => ({ ...event, [key]: value })],
    ...(isObject(field)
      ? withNulls(field, `${path}${key}.`).map(
          ([inner, changed]): [string, (value: null | undefined) => Wire] => [
            inner,
            (value) => ({ ...event, [key]: changed(value) }),
          ],
        )
      : []),
  ]);
}

function isObject(value: unknown): value is Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
