import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StreamError } from "../../src/core/errors.ts";
import { LawChecker } from "../../src/core/laws.ts";
import { type StreamEvent, StreamEventSchema } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import {
  ERROR,
  finish,
  getEvents,
  image,
  partAdded,
  reasoningBlock,
  START,
  type Step,
  text,
  textBlock,
  thinking,
  toolCall,
  toolCallBlock,
} from "./steps.ts";

function check(events: readonly StreamEvent[]): void {
  const laws = new LawChecker();
  for (const event of events) laws.check(event);
  laws.end();
}

/** The law that a stream breaks by its last event, or by its end. */
function lawBrokenBy(events: readonly StreamEvent[]): string {
  const laws = new LawChecker();
  for (const event of events.slice(0, -1)) laws.check(event);
  try {
    for (const event of events.slice(-1)) laws.check(event);
    laws.end();
  } catch (error) {
    expect(error).toBeInstanceOf(StreamError);
    return /^law (\d+) of a stream is broken: ./.exec(String((error as Error).message))?.[1] ?? "none named";
  }
  return "none";
}

const textStart: Step = { case: "textStart", value: { partIndex: 0 } };
const textDelta = (delta: string): Step => ({ case: "textDelta", value: { partIndex: 0, delta } });
const textEnd = (whole: string): Step => ({ case: "textEnd", value: { partIndex: 0, text: whole } });
const callStart = (partIndex: number, id: string): Step => ({
  case: "toolCallStart",
  value: { partIndex, id, name: "look" },
});
const callEnd = (value: object): Step => ({
  case: "toolCallEnd",
  value: { partIndex: 0, toolCall: { id: "call_1", input: { case: "argumentsJson", value: "{" }, ...value } },
});
const brokenCall: Step[] = [
  START,
  callStart(0, "call_1"),
  { case: "toolCallDelta", value: { partIndex: 0, delta: "{" } },
];
const hello = [START, ...textBlock(0, "Hel", "lo")];

const VALID: [string, Step[]][] = [
  ["nothing but start and finish", [START, finish()]],
  ["nothing but start and error", [START, ERROR]],
  ["a text", [...hello, finish(text("Hello"))]],
  ["empty blocks", [START, ...textBlock(0), ...reasoningBlock(1), finish(text(""), thinking(""))]],
  ["an error while a block is open", [START, textStart, textDelta("Hel"), ERROR]],
  [
    "parts of every kind",
    [
      START,
      ...reasoningBlock(0, "hm"),
      ...textBlock(1, "Hi", " 😀"),
      ...toolCallBlock(2, "call_1", "{", "}"),
      ...toolCallBlock(3, "call_2", "[1]"),
      partAdded(4, image(1, 2)),
      { case: "providerEvent", value: { type: "ping", dataJson: "{}" } },
      finish(thinking("hm"), text("Hi 😀"), toolCall("call_1", "{}"), toolCall("call_2", "[1]"), image(1, 2)),
    ],
  ],
  [
    "parts that begin in another order than they stand",
    [START, ...textBlock(1, "two"), ...textBlock(0, "one"), finish(text("one"), text("two"))],
  ],
  ["arguments that do not parse, marked", [...brokenCall, callEnd({ argumentsInvalid: true }), ERROR]],
  [
    "free text for a custom tool, unmarked",
    [...brokenCall, callEnd({ input: { case: "text", value: "{" } }), ERROR],
  ],
  ["an event of a kind that is not known yet", [START, { case: undefined }, finish()]],
];

const BROKEN: [number, string, Step[]][] = [
  [1, "has no event", []],
  [1, "does not begin with stream_start", [textStart]],
  [1, "begins with finish", [finish()]],
  [1, "begins with error", [ERROR]],
  [1, "starts twice", [START, START]],
  [1, "has no terminal event", hello],
  [1, "finishes twice", [START, finish(), finish()]],
  [1, "fails after finish", [START, finish(), ERROR]],
  [1, "goes on after error (law 9)", [START, ERROR, textStart]],
  [1, "finishes after error (law 9)", [START, ERROR, finish()]],
  [3, "has a delta without a block", [START, textDelta("a")]],
  [3, "has an end without a block", [START, textEnd("")]],
  [3, "has a delta after the end", [...hello, textDelta("a")]],
  [3, "ends a block twice", [...hello, textEnd("Hello")]],
  [3, "starts a part twice", [START, textStart, textStart]],
  [3, "starts a part anew", [...hello, textStart]],
  [3, "starts a part anew as another kind", [...hello, callStart(0, "call_1")]],
  [3, "adds a part where one is", [...hello, partAdded(0, image(1))]],
  [3, "adds an empty part", [START, partAdded(0, {})]],
  [3, "has a delta for a part that came whole", [START, partAdded(0, text("Hello")), textDelta("a")]],
  [
    3,
    "has a text delta in a reasoning block",
    [START, { case: "reasoningStart", value: { partIndex: 0 } }, textDelta("a")],
  ],
  [3, "has a tool call's end for a text block", [START, textStart, callEnd({})]],
  [3, "has an empty delta", [START, textStart, textDelta("")]],
  [3, "has an open block at finish", [START, textStart, textDelta("a"), finish(text("a"))]],
  [3, "finishes with a part too few", [...hello, finish()]],
  [3, "finishes with a part too many", [...hello, finish(text("Hello"), text("more"))]],
  [
    3,
    "leaves a place out",
    [START, ...textBlock(0, "a"), ...textBlock(2, "c"), finish(text("a"), text("c"))],
  ],
  [4, "ends a text with another text", [START, textStart, textDelta("Hel"), textEnd("Hello")]],
  [
    4,
    "ends reasoning with another text",
    [
      START,
      ...reasoningBlock(0, "a").slice(0, 2),
      { case: "reasoningEnd", value: { partIndex: 0, text: "b" } },
    ],
  ],
  [
    4,
    "ends a call with other arguments",
    [...brokenCall, callEnd({ input: { case: "argumentsJson", value: "{}" } })],
  ],
  [4, "finishes without a response", [START, { case: "finish", value: {} }]],
  [4, "finishes with another text", [...hello, finish(text("Hallo"))]],
  [
    4,
    "finishes with other arguments",
    [START, ...toolCallBlock(0, "call_1", "{}"), finish(toolCall("call_1", "[]"))],
  ],
  [4, "finishes with another kind of part", [...hello, finish(thinking("Hello"))]],
  [
    4,
    "finishes with parts in another order",
    [START, ...textBlock(0, "a"), ...textBlock(1, "b"), finish(text("b"), text("a"))],
  ],
  [4, "finishes with another whole part", [START, partAdded(0, image(1)), finish(image(2))]],
  [5, "has a tool call without an id", [START, callStart(0, "")]],
  [5, "repeats the id of a tool call", [START, ...toolCallBlock(0, "call_1", "{}"), callStart(1, "call_1")]],
  [
    5,
    "changes the id of a tool call at its end",
    [START, ...brokenCall.slice(1), callEnd({ id: "call_2", argumentsInvalid: true })],
  ],
  [
    5,
    "loses a tool call at its end",
    [START, callStart(0, "call_1"), { case: "toolCallEnd", value: { partIndex: 0 } }],
  ],
  [
    5,
    "finishes with another id of a tool call",
    [START, ...toolCallBlock(0, "call_1", "{}"), finish(toolCall("call_2", "{}"))],
  ],
  [5, "does not mark arguments that do not parse", [...brokenCall, callEnd({})]],
  [
    5,
    "marks arguments that parse",
    [
      START,
      ...toolCallBlock(0, "call_1", "{}").slice(0, 2),
      callEnd({ input: { case: "argumentsJson", value: "{}" }, argumentsInvalid: true }),
    ],
  ],
  [10, "has a delta with a high surrogate alone", [START, textStart, textDelta("a\ud83d")]],
  [10, "has a delta with a low surrogate alone", [START, textStart, textDelta("\ude00")]],
  [
    10,
    "has half of a pair in reasoning",
    [
      START,
      ...reasoningBlock(0).slice(0, 1),
      { case: "reasoningDelta", value: { partIndex: 0, delta: "\ud83d" } },
    ],
  ],
  [
    10,
    "has half of a pair in arguments",
    [START, callStart(0, "call_1"), { case: "toolCallDelta", value: { partIndex: 0, delta: '"\ud83d' } }],
  ],
];

describe("LawChecker", () => {
  it.each(VALID)("accepts %s", (_what, steps) => {
    expect(() => check(getEvents(steps))).not.toThrow();
  });

  it.each(BROKEN)("reports law %i if a stream %s", (law, _what, steps) => {
    expect(lawBrokenBy(getEvents(steps))).toBe(String(law));
  });

  it.each([
    ["starts at 1", [1]],
    ["leaves a number out", [0, 2]],
    ["repeats a number", [0, 0]],
    ["counts backwards", [0, 1, 0]],
  ])("reports law 2 if the sequence %s", (_what, sequences) => {
    const steps = [START, textStart, textDelta("a")];
    const events = sequences.map((sequence, at) =>
      create(StreamEventSchema, { sequence, event: steps[at] ?? ERROR }),
    );
    expect(lawBrokenBy(events)).toBe("2");
  });

  it("accepts blocks however they interleave", () => {
    const blocks = [
      reasoningBlock(0, "a", "b"),
      textBlock(1, "c", "d"),
      toolCallBlock(2, "call_1", "{", "}"),
      textBlock(3),
    ];
    const end = finish(thinking("ab"), text("cd"), toolCall("call_1", "{}"), text(""));
    const turns = fc.shuffledSubarray(
      blocks.flatMap((block, index) => block.map(() => index)),
      {
        minLength: blocks.flat().length,
      },
    );
    fc.assert(
      fc.property(turns, (order) => {
        const left = blocks.map((block) => [...block]);
        const steps = order.flatMap((index) => left[index]?.splice(0, 1) ?? []);
        expect(steps).toHaveLength(blocks.flat().length);
        expect(() => check(getEvents([START, ...steps, end]))).not.toThrow();
      }),
      { seed: 5 },
    );
  });

  it("misses no event that is left out, sent twice or swapped with the next of its block", () => {
    const steps = [
      START,
      ...reasoningBlock(0, "a", "b"),
      ...toolCallBlock(1, "call_1", "{", '"x":1}'),
      partAdded(2, image(1)),
      finish(thinking("ab"), toolCall("call_1", '{"x":1}'), image(1)),
    ];
    for (const at of steps.keys()) {
      expect(() => check(getEvents(steps.toSpliced(at, 1))), `without ${at}`).toThrow(StreamError);
      expect(() => check(getEvents(steps.toSpliced(at, 0, steps[at] ?? ERROR))), `twice ${at}`).toThrow(
        StreamError,
      );
    }
    for (const at of [1, 2, 3, 5, 6, 7]) {
      const [left = ERROR, right = ERROR] = steps.slice(at, at + 2);
      expect(() => check(getEvents(steps.toSpliced(at, 2, right, left))), `swapped ${at}`).toThrow(
        StreamError,
      );
    }
  });
});
