/** Events that are read without being parsed. */
import { describe, expect, it } from "vitest";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { DeltaTemplate } from "../../../src/kit/stream/delta-template.ts";
import type { SseEvent } from "../../../src/kit/stream/sse.ts";
import { readers } from "../../providers/support/recorded-answers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";

const toEvent = (data: string) => ({ type: "", data });
const event = (text: string) => `{"index":0,"delta":{"text":${JSON.stringify(text)}},"end":null}`;

/** An event of the provider is passed on as it is spelled. */
function withoutSpaces(found: StreamEvent): StreamEvent {
  if (found.event.case === "providerEvent")
    found.event.value.dataJson = found.event.value.dataJson.trim().replace(/^\{ */, "{");
  return found;
}

const toLines = ({ type, data }: SseEvent) => `${type === "" ? "" : `event: ${type}\n`}data: ${data}\n\n`;

/** Reads one event. Returns its text; undefined if it has to be parsed. */
function readOne(template: DeltaTemplate, event: SseEvent): string | undefined {
  return template.readRun(Buffer.from(toLines(event)), 0, 1000, false)?.texts[0];
}

describe("DeltaTemplate", () => {
  function learnt(): DeltaTemplate {
    const template = new DeltaTemplate();
    for (const text of ["a", "b"]) expect(template.learn(toEvent(event(text)), "text", text)).toBe(true);
    return template;
  }

  it("reads the text of events that are like two that were parsed", () => {
    const template = new DeltaTemplate();
    expect(readOne(template, toEvent(event("a")))).toBeUndefined();
    expect(template.learn(toEvent(event("Grüße")), "text", "Grüße")).toBe(true);
    expect(readOne(template, toEvent(event("a")))).toBeUndefined();
    expect(template.learn(toEvent(event("a")), "text", "a")).toBe(true);
    for (const text of ["a", " 👋", "}", "text"]) expect(readOne(template, toEvent(event(text)))).toBe(text);
  });

  it("reads the event after one that had to be parsed for its text", () => {
    const template = learnt();
    expect(template.learn(toEvent(event('"')), "text", '"')).toBe(false);
    expect(readOne(template, toEvent(event("c")))).toBeUndefined();
    expect(template.learn(toEvent(event("c")), "text", "c")).toBe(true);
    expect(readOne(template, toEvent(event("d")))).toBe("d");
  });

  it("reads no event if each is unlike the one before", () => {
    const template = learnt();
    for (const index of [1, 2, 3]) {
      const data = event("a").replace("0", String(index));
      expect(template.learn(toEvent(data), "text", "a")).toBe(true);
      expect(readOne(template, toEvent(data))).toBeUndefined();
    }
    expect(template.learn({ type: "other", data: event("a").replace("0", "3") }, "text", "a")).toBe(true);
    expect(readOne(template, { type: "other", data: event("a").replace("0", "3") })).toBeUndefined();
  });

  it.each([
    event(""),
    event('a "quoted" word'),
    event("a line\n"),
    event("a\\b"),
    '{"index":1,"delta":{"text":"a"},"end":null}',
    '{"index":0,"delta":{"text":"a"},"end":"stop"}',
    '{"index":0,"delta":{"text":"a","text":"b"},"end":null}',
    '{"index":0,"delta":{"text":"a\n"},"end":null}',
    '{"index":0,"delta":{"text":"},"end":null}',
  ])("leaves %s to a parser", (data) => {
    expect(readOne(learnt(), toEvent(data))).toBeUndefined();
  });

  it.each([
    ['{"text":"a","delta":{"text":"a"}}', "a"],
    ['{"text": null}', "a"],
    ['{"text":"\\u0061"}', "a"],
    ['{"content":"a"}', "a"],
  ])("does not learn from %s", (data, text) => {
    expect(new DeltaTemplate().learn(toEvent(data), "text", text)).toBe(false);
  });

  it("learns from servers that write spaces", () => {
    const template = new DeltaTemplate();
    for (const text of ["a", "b"])
      expect(template.learn(toEvent(`{"text": "${text}"}`), "text", text)).toBe(true);
    expect(readOne(template, toEvent('{"text": "c"}'))).toBe("c");
  });
});

describe("DeltaTemplate of events with members that nobody reads", () => {
  const delta = (text: string, number: unknown, padding = "x") =>
    `{"delta":${JSON.stringify(text)},"item":"a","padding":${JSON.stringify(padding)},"number":${number}}`;

  function learnt(): DeltaTemplate {
    const template = new DeltaTemplate();
    for (const number of [1, 2])
      expect(template.learn(toEvent(delta("a", number)), "delta", "a", ["number", "padding", "absent"])).toBe(
        true,
      );
    return template;
  }

  it("reads the text whatever these members are", () => {
    const template = learnt();
    expect(readOne(template, toEvent(delta("b", 20, "yz")))).toBe("b");
    expect(readOne(template, toEvent(delta("c", 3, "")))).toBe("c");
    expect(template.learn(toEvent(delta('"', 4)), "delta", '"')).toBe(false);
    expect(readOne(template, toEvent(delta("d", 4)))).toBeUndefined();
  });

  it("tells the text from another member of its form", () => {
    const template = learnt();
    const swapped = delta("b", 3).replace("delta", "padding").replace("padding", "delta");
    expect(template.learn(toEvent(swapped), "padding", "x", ["number", "delta"])).toBe(true);
    expect(readOne(template, toEvent(delta("b", 3)))).toBeUndefined();
  });

  it.each([
    delta("b", -1),
    delta("b", "null"),
    delta("b", '2,"more":1'),
    delta("b", ""),
    delta("b", 2, "\\"),
    delta("b", 2).replace('"a"', '"other"'),
    delta("", 2),
  ])("leaves %s to a parser", (data) => {
    expect(readOne(learnt(), toEvent(data))).toBeUndefined();
  });
});

describe("DeltaTemplate of events in a row", () => {
  const delta = (text: string, number: unknown = 1) =>
    toLines({ type: "delta", data: `{"delta":${JSON.stringify(text)},"number":${number}}` });
  const run = delta("a") + delta("Grüße 👋", 22) + delta("b");

  function learnt(): DeltaTemplate {
    const template = new DeltaTemplate();
    for (const number of [1, 2])
      template.learn({ type: "delta", data: `{"delta":"x","number":${number}}` }, "delta", "x", ["number"]);
    return template;
  }

  it("reads their texts", () => {
    const bytes = Buffer.from(`: comment\n\n${run}data: {}\n\n${run}`);
    const end = 11 + Buffer.byteLength(run);
    expect(learnt().readRun(bytes, 11, 100, false)).toEqual({
      texts: ["a", "Grüße 👋", "b"],
      events: 3,
      jsonValues: 6,
      end,
    });
    expect(learnt().readRun(bytes, 0, 100, false)).toBeUndefined();
    expect(learnt().readRun(bytes, bytes.length, 100, false)).toBeUndefined();
    expect(new DeltaTemplate().readRun(bytes, 11, 100, false)).toBeUndefined();
  });

  it("reads their texts as one", () => {
    const bytes = Buffer.from(run);
    const found = { texts: ["aGrüße 👋b"], events: 3, jsonValues: 6, end: bytes.length };
    expect(learnt().readRun(bytes, 0, 100, true)).toEqual(found);
  });

  it("reads texts of ASCII, each by itself", () => {
    const bytes = Buffer.from(delta("a") + delta(" longer text") + delta("b"));
    expect(learnt().readRun(bytes, 0, 100, false)?.texts).toEqual(["a", " longer text", "b"]);
  });

  it.each([true, false])("reads more texts than fit at once in several runs, joined: %s", (joins) => {
    const bytes = Buffer.from(delta("x".repeat(1000)).repeat(100));
    let [events, at, chars] = [0, 0, 0];
    while (at < bytes.length) {
      const found = learnt().readRun(bytes, at, 2000, joins);
      events += found?.events ?? 0;
      chars += found?.texts.join("").length ?? 0;
      at = found?.end ?? bytes.length;
    }
    expect([events, chars]).toEqual([100, 100_000]);
  });

  it("leaves events above the given size, and texts above 64 KiB, to a parser", () => {
    const event = delta("a");
    const bytes = Buffer.from(event.repeat(2));
    expect(learnt().readRun(bytes, 0, event.length, false)?.texts).toEqual(["a", "a"]);
    expect(learnt().readRun(bytes, 0, event.length - 1, false)).toBeUndefined();
    const readText = (length: number) =>
      learnt().readRun(Buffer.from(delta("x".repeat(length))), 0, 100_000, false)?.texts[0]?.length;
    expect(readText(64 * 1024)).toBe(64 * 1024);
    expect(readText(64 * 1024 + 1)).toBeUndefined();
  });

  it.each([
    delta(""),
    delta('a "quoted" word'),
    delta("a\n"),
    delta("b", -1),
    delta("b", '"2"'),
    delta("b", ""),
    delta("b", "2.5"),
    delta("b", '2,"more":1'),
    delta("b".repeat(100)),
    delta("b").replaceAll("\n", "\r\n"),
    delta("b").replace("event: delta", "event: error"),
    delta("b").replace("event: delta\n", ""),
    delta("b").replace("data: ", "data:"),
    delta("b").replace("\n\n", "\ndata: 1\n\n"),
    delta("b").slice(0, -1),
    delta("b").slice(0, -8),
    'event: delta\ndata: {"delta":"b',
  ])("leaves %j to a parser", (event) => {
    const end = Buffer.byteLength(run);
    expect(learnt().readRun(Buffer.from(event), 0, 100, false)).toBeUndefined();
    expect(learnt().readRun(Buffer.from(run + event), 0, 100, false)).toMatchObject({ events: 3, end });
  });

  it("leaves texts that are not UTF-8 to a parser, even if two of them are together", () => {
    const [first, second] = [...Buffer.from("é")].map((byte) => {
      const event = Buffer.from(delta("x"));
      event[event.indexOf("x")] = byte;
      return event;
    });
    const bytes = Buffer.concat([first, second].map((each) => each ?? Buffer.of()));
    expect(learnt().readRun(bytes, 0, 100, false)).toBeUndefined();
  });
});

describe.each(["anthropic", "compatible", "openai"] as const)("A recorded stream of %s", (name) => {
  const { folder, decoder } = readers[name];

  it.each(getRecordings(folder, ".sse"))(
    "gives the same events if no two of its events are alike: $file",
    async (recording) => {
      const bytes = toBytes(recording);
      let count = 0;
      // JSON allows any number of spaces there.
      const unlike = bytes.toString().replace(/^data: ?\{/gm, () => {
        count += 1;
        return `data: {${" ".repeat(count % 500)}`;
      });
      const [read, parsed] = await Promise.all(
        [bytes, Buffer.from(unlike)].map((each) => decode([each], factsFor(name, { model: "m" }), decoder)),
      );
      expect(read?.events.map(withoutSpaces)).toEqual(parsed?.events.map(withoutSpaces));
      expect(String(read?.error)).toBe(String(parsed?.error));
    },
  );
});
