/** Events that are read without being parsed. */
import { describe, expect, it } from "vitest";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { DeltaTemplate } from "../../../src/kit/stream/delta-template.ts";
import { readers } from "../../providers/support/recorded-answers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";

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
    expect(template.read(event("a"))).toBeUndefined();
    expect(template.learn(event("Grüße"), "text", "Grüße")).toBe(true);
    for (const text of ["a", " 👋", "}", "text"]) expect(template.read(event(text))).toBe(text);
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
    template.learn(event("a"), "text", "a");
    expect(template.read(data)).toBeUndefined();
  });

  it.each([
    ['{"text":"a","delta":{"text":"a"}}', "a"],
    ['{"text": null}', "a"],
    ['{"text":"\\u0061"}', "a"],
    ['{"content":"a"}', "a"],
  ])("does not learn from %s", (data, text) => {
    expect(new DeltaTemplate().learn(data, "text", text)).toBe(false);
  });

  it("learns from servers that write spaces", () => {
    const template = new DeltaTemplate();
    expect(template.learn('{"text": "a"}', "text", "a")).toBe(true);
    expect(template.read('{"text": "b"}')).toBe("b");
  });
});

describe("DeltaTemplate of events with members that nobody reads", () => {
  const delta = (text: string, number: unknown, padding = "x") =>
    `{"delta":${JSON.stringify(text)},"item":"a","padding":${JSON.stringify(padding)},"number":${number}}`;

  function learnt(): DeltaTemplate {
    const template = new DeltaTemplate();
    expect(template.learn(delta("a", 1), "delta", "a", ["number", "padding", "absent"])).toBe(true);
    return template;
  }

  it("reads the text whatever these members are", () => {
    const template = learnt();
    expect(template.read(delta("b", 20, "yz"))).toBe("b");
    expect(template.read(delta("c", 3, ""))).toBe("c");
    template.forget();
    expect(template.read(delta("d", 4))).toBeUndefined();
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
    expect(learnt().read(data)).toBeUndefined();
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
