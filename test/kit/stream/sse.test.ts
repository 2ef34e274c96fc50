import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StreamError } from "../../../src/core/errors.ts";
import { SseDecoder, type SseEvent } from "../../../src/kit/stream/sse.ts";

/** The events in some chunks of bytes, and those that came only with the end. */
function read(
  chunks: Iterable<Uint8Array>,
  maxEventChars?: number,
): { events: SseEvent[]; late: SseEvent[] } {
  const events: SseEvent[] = [];
  const decoder = new SseDecoder((event) => events.push(event), maxEventChars);
  for (const chunk of chunks) decoder.push(chunk);
  const late = events.length;
  decoder.end();
  return { events, late: events.slice(late) };
}

function eventsIn(text: string): SseEvent[] {
  return read([Buffer.from(text)]).events;
}

function message(data: string, type = ""): SseEvent {
  return { type, data };
}

/** Bytes cut at the given shares of their length. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = places.map((place) => Math.floor(place * bytes.length)).sort((left, right) => left - right);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

describe("SseDecoder", () => {
  it.each([
    ["an event", "data: a\n\n", [message("a")]],
    ["its name", "event: ping\ndata: a\n\n", [message("a", "ping")]],
    [
      "a name that does not outlive its event",
      "event: x\ndata: a\n\ndata: b\n\n",
      [message("a", "x"), message("b")],
    ],
    ["data without the space", "data:a\n\n", [message("a")]],
    ["one space only taken off", "data:  a \n\n", [message(" a ")]],
    ["several data lines", "data: a\ndata:\ndata: b\n\n", [message("a\n\nb")]],
    ["a data field without a colon", "data\n\n", [message("")]],
    ["no event without data", "event: ping\n\n\n: hello\n\n", []],
    [
      "comments, ids, retry times and unknown fields",
      ":ok\nid: 7\nretry: x\nfoo: bar\ndata: a\n: b\n\n",
      [message("a")],
    ],
    [
      "the JSON of a field for failures as an event",
      'data: a\n\nerror: {"code":500}\n\ndata: b\n\n',
      [message("a"), message('{"code":500}', "error"), message("b")],
    ],
    ["no other text of such a field", "error: no\n\n", []],
    ["a byte order mark", "\ufeffdata: a\n\n", [message("a")]],
    ["lines that end in CR", "data: a\rdata: b\r\rdata: c\r\r", [message("a\nb"), message("c")]],
    ["lines that end in CRLF", "data: a\r\ndata: b\r\n\r\n", [message("a\nb")]],
    ["lines that end in any of them", "data: a\rdata: b\n\r\ndata: c\r\n\n", [message("a\nb"), message("c")]],
  ])("reads %s", (_what, text, want) => {
    expect(eventsIn(text)).toEqual(want);
  });

  it.each(["data: last", "data: last\n", "data: last\r", "data: last\r\n"])(
    "delivers a last event that lacks its blank line (%j)",
    (text) => {
      const { events, late } = read([Buffer.from(`data: first\n\n${text}`)]);
      expect(events).toEqual([message("first"), message("last")]);
      expect(late).toEqual([message("last")]);
    },
  );

  it.each(["data: a\n\n", "data: a\r\n\r\n", ": only a comment\n"])("delivers nothing twice (%j)", (text) => {
    expect(read([Buffer.from(text)]).late).toEqual([]);
  });

  it("delivers an event as soon as its blank line is there", () => {
    const events: SseEvent[] = [];
    const decoder = new SseDecoder((event) => events.push(event));
    decoder.push(Buffer.from("data: a\n"));
    expect(events).toEqual([]);
    decoder.push(Buffer.from("\ndata: b"));
    expect(events).toEqual([message("a")]);
  });

  it("decodes bytes that are not UTF-8 as U+FFFD, also an incomplete character at the end", () => {
    expect(read([Uint8Array.from([...Buffer.from("data: a"), 0xff, 0x62])]).events).toEqual([
      message("a\ufffdb"),
    ]);
    expect(read([Buffer.from("data: 😀").subarray(0, -1)]).events).toEqual([message("\ufffd")]);
  });

  it("gives the same events however lines end and bytes are cut", () => {
    const line = fc.string({ unit: fc.constantFrom("a", ":", " ", "é", "😀", "{", "\ufeff"), maxLength: 6 });
    const event = fc.record({
      type: line,
      data: fc.array(line, { minLength: 1, maxLength: 3 }),
      comment: fc.boolean(),
    });
    const lineEnd = fc.constantFrom("\n", "\r", "\r\n");
    const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 });
    fc.assert(
      fc.property(
        fc.array(event),
        fc.array(lineEnd, { minLength: 1 }),
        fc.boolean(),
        places,
        (list, ends, mark, places) => {
          const lines = list.flatMap(({ type, data, comment }) => [
            ...(comment ? [": hi"] : []),
            ...(type === "" ? [] : [`event: ${type}`]),
            ...data.map((part) => `data: ${part}`),
            "",
          ]);
          // A bare CR before an empty line that ends in LF would be read as one line end.
          const text = lines.map(
            (line, at) =>
              line + (line === "" && at > 0 ? ends[(at - 1) % ends.length] : ends[at % ends.length]),
          );
          const bytes = Buffer.from((mark ? "\ufeff" : "") + text.join(""));
          const want = list.map(({ type, data }) => message(data.join("\n"), type));
          expect(read([bytes]).events).toEqual(want);
          expect(read(cut(bytes, places)).events).toEqual(want);
          expect(read(Array.from(bytes, (byte) => Uint8Array.of(byte))).events).toEqual(want);
        },
      ),
      { seed: 11, numRuns: 200 },
    );
  });

  it("throws the error of its listener", () => {
    const decoder = new SseDecoder(() => {
      throw new StreamError("no JSON");
    });
    expect(() => decoder.push(Buffer.from("data: a\n\n"))).toThrow("no JSON");
  });
});

describe("the limit of an event", () => {
  const LIMIT = 100;
  /** Chunks of ten bytes. */
  const inTens = (text: string) =>
    cut(
      Buffer.from(text),
      Array.from({ length: text.length / 10 }, (_, at) => (at * 10) / text.length),
    );

  it.each([
    ["one long line", `data: ${"x".repeat(200)}\n\n`],
    ["many lines", `${`data: ${"x".repeat(14)}\n`.repeat(10)}\n`],
    ["a line that never ends", `data: ${"x".repeat(200)}`],
    ["a name that never ends", `event: ${"x".repeat(200)}`],
  ])("ends %s in a StreamError that a retry cannot help", (_what, text) => {
    const error = (() => {
      try {
        return read(inTens(text), LIMIT).events;
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({
      message:
        "the provider's answer has more than 100 characters in one event, the limit max_answer_event_bytes",
      retryable: false,
    });
  });

  it("counts each event for itself, and comments not at all", () => {
    const text = `${`data: ${"x".repeat(80)}\n\n`.repeat(5)}: ${"y".repeat(500)}\n\n`;
    expect(read(inTens(text), LIMIT).events).toHaveLength(5);
  });

  it("is in characters: one that takes three bytes counts once", () => {
    expect(read([Buffer.from(`data: ${"€".repeat(90)}`), Buffer.from("\n\n")], LIMIT).events).toHaveLength(1);
  });
});

describe("unknown fields", () => {
  it("cost no stack of an error, which the listener's errors have", () => {
    const before = Error.stackTraceLimit;
    const limits: number[] = [];
    const decoder = new SseDecoder(() => {
      limits.push(Error.stackTraceLimit);
      throw new Error("of the listener");
    });
    expect(() => decoder.push(Buffer.from("a\nb: 1\ndata: x\n\n"))).toThrow("of the listener");
    expect(limits).toEqual([before]);
    expect(Error.stackTraceLimit).toBe(before);
  });

  it("are limited, even with events between them", () => {
    let events = 0;
    const decoder = new SseDecoder(() => {
      events += 1;
    });
    const chunk = Buffer.from(`${"a\n".repeat(10_000)}data: x\n\n`);
    expect(() => {
      for (let count = 0; count < 60; count += 1) decoder.push(chunk);
    }).toThrow("the provider's stream has more than 500000 unknown fields");
    expect(events).toBe(50);
  });

  it("are read quickly", () => {
    const time = (text: string) => {
      const decoder = new SseDecoder(() => {});
      const chunk = Buffer.from(text.repeat(60_000));
      const { user } = process.threadCpuUsage();
      decoder.push(chunk);
      return process.threadCpuUsage().user - user;
    };
    time("id\n");
    // With stacks they take more than fifty times as long as known fields.
    expect(time("a\n")).toBeLessThan(30 * time("id\n"));
  });
});

describe("SseDecoder with events that are taken as bytes", () => {
  const TAKEN = "data: taken\n\n";

  it("offers the bytes of each event that follows another one, however they are cut", () => {
    const parts = [
      TAKEN,
      "event: é\ndata: 1\n\n",
      TAKEN,
      TAKEN,
      ": ping\n\n",
      TAKEN,
      "data: 2\r\n\r\n",
      TAKEN,
    ];
    const bytes = Buffer.from(parts.join(""));
    for (let first = 0; first < bytes.length; first += 1) {
      const found: string[] = [];
      const decoder = new SseDecoder(
        ({ data }) => found.push(data),
        1000,
        (chunk, start) => {
          const isTaken = chunk.subarray(start).indexOf(TAKEN) === 0;
          if (isTaken) found.push("taken");
          return isTaken ? start + TAKEN.length : start;
        },
      );
      for (const piece of [bytes.subarray(0, first), bytes.subarray(first)]) decoder.push(piece);
      decoder.end();
      expect(found).toEqual(["taken", "1", "taken", "taken", "taken", "2", "taken"]);
    }
  });

  it("reads text in few pieces if no event is taken", () => {
    const offers: number[] = [];
    const takeNone = (_: Buffer, start: number) => {
      offers.push(start);
      return start;
    };
    const decoder = new SseDecoder(() => {}, 1000, takeNone);
    decoder.push(Buffer.from("data: 1\n\n".repeat(1000)));
    expect(offers.length).toBeGreaterThan(1);
    expect(offers.length).toBeLessThan(20);
  });
});
