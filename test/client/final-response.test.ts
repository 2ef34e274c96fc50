import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/client.ts";
import { withoutContent } from "../../src/client/final-response.ts";
import { StreamAccumulator } from "../../src/core/accumulator.ts";
import { LawChecker } from "../../src/core/laws.ts";
import { textOf, userMessage } from "../../src/core/message.ts";
import { FinalResponse } from "../../src/gen/outrigger/v1/request_pb.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { StreamEventSchema } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import {
  finish,
  getEvents,
  image,
  reasoningBlock,
  START,
  textBlock,
  toolCall,
  toolCallBlock,
} from "../core/steps.ts";
import { ScriptedAdapter } from "./support/scripted-adapter.ts";

const picture = image(1, 2, 3);

/** A stream with a part of every kind. */
const WHOLE = getEvents([
  START,
  ...reasoningBlock(0, "h", "m"),
  ...textBlock(1, "Hel", "lo"),
  ...toolCallBlock(2, "call_1", '{"a"', ":1}"),
  { case: "partAdded", value: { partIndex: 3, part: picture } },
  finish(
    { part: { case: "reasoning", value: { text: "hm" } } },
    { part: { case: "text", value: "Hello" } },
    toolCall("call_1", '{"a":1}'),
    picture,
  ),
]);

const REDUCED = WHOLE.map(withoutContent);

function accumulated(events: readonly StreamEvent[]) {
  const accumulator = new StreamAccumulator();
  for (const event of events) accumulator.process(event);
  return accumulator.response();
}

describe("withoutContent()", () => {
  it("sends texts as deltas only, and the final message without content", () => {
    const values = REDUCED.map(({ event }) => [event.case, event.value] as const);
    const ends = values.filter(([kind]) => kind === "textEnd" || kind === "reasoningEnd");
    expect(ends.map(([, value]) => (value as { text: string }).text)).toEqual(["", ""]);
    expect(values.at(-1)?.[1]).toMatchObject({ response: { message: { role: 3, content: [] } } });
  });

  it("keeps tool calls whole in their tool_call_end", () => {
    const end = REDUCED.find(({ event }) => event.case === "toolCallEnd");
    expect(end?.event.value).toMatchObject({ toolCall: { input: { value: '{"a":1}' } } });
  });

  it("obeys the laws of a stream, and accumulates to the whole response", () => {
    const laws = new LawChecker();
    checkAll(laws, REDUCED);
    laws.end();
    expect(accumulated(REDUCED)).toEqual(accumulated(WHOLE));
  });

  it.each([
    ["no response", {}],
    ["a response without a message", { response: { model: "m" } }],
  ])("passes on an end with %s", (_what, value) => {
    const end = create(StreamEventSchema, { event: { case: "finish", value } });
    expect(withoutContent(end)).toEqual(end);
  });

  it("leaves the events that it is given unchanged", () => {
    const start = create(StreamEventSchema, { event: { case: "streamStart", value: {} } });
    withoutContent(start);
    expect(start.event.value).toMatchObject({ finalResponse: FinalResponse.UNSPECIFIED });
  });
});

describe("the laws of a stream with FINAL_RESPONSE_WITHOUT_CONTENT", () => {
  it("forbid text in the end of a block", () => {
    const laws = new LawChecker();
    const [start, ...rest] = REDUCED;
    if (start === undefined) throw new Error("the stream is empty");
    laws.check(start);
    const broken = [...rest.slice(0, 3), ...WHOLE.slice(4, 5)];
    expect(() => checkAll(laws, broken)).toThrow("law 4");
  });

  it("forbid content in the final message", () => {
    const laws = new LawChecker();
    const events = [...REDUCED.slice(0, -1), ...WHOLE.slice(-1)];
    expect(() => checkAll(laws, events)).toThrow("law 4");
  });
});

describe("Client.stream()", () => {
  it("sends the content once if the request asks for it, and in full by default", async () => {
    const client = new Client({ providers: { one: new ScriptedAdapter("one") } });
    const request = { model: "m", messages: [userMessage("hi")] };
    const read = async (finalResponse: FinalResponse) => {
      const events: StreamEvent[] = [];
      for await (const event of client.stream({ ...request, finalResponse })) events.push(event);
      return events;
    };
    const [full, once] = [await read(FinalResponse.FULL), await read(FinalResponse.WITHOUT_CONTENT)];
    expect(textOf(accumulated(once))).toBe(textOf(accumulated(full)));
    expect(JSON.stringify(once.at(-1)?.event.value, omitBigints)).not.toContain(textOf(accumulated(full)));
    expect(once[0]?.event.value).toMatchObject({ finalResponse: FinalResponse.WITHOUT_CONTENT });
    expect(full[0]?.event.value).toMatchObject({ finalResponse: FinalResponse.FULL });
  });
});

function checkAll(laws: LawChecker, events: readonly StreamEvent[]): void {
  for (const event of events) laws.check(event);
}

function omitBigints(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? undefined : value;
}
