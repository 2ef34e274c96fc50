/** Events that are read without being parsed. */
import { describe, expect, it } from "vitest";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { DeltaTemplate } from "../../../src/kit/stream/delta-template.ts";
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

describe("DeltaTemplate", () => {
  it("reads the text of events that are alike", () => {
    const template = new DeltaTemplate();
    expect(template.read(toEvent(event("a")))).toBeUndefined();
    expect(template.learn(toEvent(event("Grüße")), "text", "Grüße")).toBe(true);
    for (const text of ["a", " 👋", "}", "text"]) expect(template.read(toEvent(event(text)))).toBe(text);
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
    const template = new DeltaTemplate();
    template.learn(toEvent(event("a")), "text", "a");
    expect(template.read(toEvent(data))).toBeUndefined();
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
    expect(template.learn(toEvent('{"text": "a"}'), "text", "a")).toBe(true);
    expect(template.read(toEvent('{"text": "b"}'))).toBe("b");
  });
});

describe("DeltaTemplate of events with members that nobody reads", () => {
  const delta = (text: string, number: unknown, padding = "x") =>
    `{"delta":${JSON.stringify(text)},"item":"a","padding":${JSON.stringify(padding)},"number":${number}}`;

  function learnt(): DeltaTemplate {
    const template = new DeltaTemplate();
    expect(template.learn(toEvent(delta("a", 1)), "delta", "a", ["number", "padding", "absent"])).toBe(true);
    return template;
  }

  it("reads the text whatever these members are", () => {
    const template = learnt();
    expect(template.read(toEvent(delta("b", 20, "yz")))).toBe("b");
    expect(template.read(toEvent(delta("c", 3, "")))).toBe("c");
    expect(template.learn(toEvent(delta('"', 4)), "delta", '"')).toBe(false);
    expect(template.read(toEvent(delta("d", 4)))).toBeUndefined();
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
    expect(learnt().read(toEvent(data))).toBeUndefined();
  });
});

describe("DeltaTemplate of bytes", () => {
  const delta = (text: string, number: unknown = 1) => `{"delta":${JSON.stringify(text)},"number":${number}}`;
  const toLines = (data: string) => `event: delta\ndata: ${data}\n\n`;
  const run = toLines(delta("a")) + toLines(delta("Grüße 👋", 22));

  function learnt(): DeltaTemplate {
    const template = new DeltaTemplate();
    template.learn({ type: "delta", data: delta("x") }, "delta", "x", ["number"]);
    return template;
  }

  it("reads the texts of events in a row", () => {
    const bytes = Buffer.from(`: comment\n\n${run}data: {}\n\n${run}`);
    const end = 11 + Buffer.byteLength(run);
    expect(learnt().readRun(bytes, 11, 100)).toEqual({ text: "aGrüße 👋", events: 2, end });
    expect(learnt().readRun(bytes, 0, 100)).toBeUndefined();
    expect(learnt().readRun(bytes, bytes.length, 100)).toBeUndefined();
    expect(new DeltaTemplate().readRun(bytes, 11, 100)).toBeUndefined();
  });

  it("reads more texts than fit at once in several runs", () => {
    const bytes = Buffer.from(toLines(delta("x".repeat(1000))).repeat(100));
    let [events, at] = [0, 0];
    while (at < bytes.length) {
      const { end, ...found } = learnt().readRun(bytes, at, 2000) ?? { end: bytes.length, events: 0 };
      events += found.events;
      at = end;
    }
    expect(events).toBe(100);
  });

  it.each([
    toLines(delta("")),
    toLines(delta('a "quoted" word')),
    toLines(delta("a\n")),
    toLines(delta("b", -1)),
    toLines(delta("b", '"2"')),
    toLines(delta("b", "")),
    toLines(delta("b", "2.5")),
    toLines(delta("b", '2,"more":1')),
    toLines(delta("b".repeat(100))),
    toLines(delta("b")).replaceAll("\n", "\r\n"),
    toLines(delta("b")).replace("event: delta", "event: error"),
    toLines(delta("b")).replace("event: delta\n", ""),
    toLines(delta("b")).replace("data: ", "data:"),
    toLines(delta("b")).replace("\n\n", "\ndata: 1\n\n"),
    toLines(delta("b")).slice(0, -1),
    toLines(delta("b")).slice(0, -8),
    'event: delta\ndata: {"delta":"b',
  ])("leaves %j to a parser", (event) => {
    const end = Buffer.byteLength(run);
    expect(learnt().readRun(Buffer.from(event), 0, 100)).toBeUndefined();
    expect(learnt().readRun(Buffer.from(run + event), 0, 100)).toMatchObject({ events: 2, end });
  });

  it("leaves texts that are not UTF-8 to a parser, even if two of them are together", () => {
    const [first, second] = [...Buffer.from("é")].map((byte) => {
      const event = Buffer.from(toLines(delta("x")));
      event[event.indexOf("x")] = byte;
      return event;
    });
    const bytes = Buffer.concat([first, second].map((each) => each ?? Buffer.of()));
    expect(learnt().readRun(bytes, 0, 100)).toBeUndefined();
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
