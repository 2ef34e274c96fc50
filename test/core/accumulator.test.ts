import { create, equals, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { accumulate, StreamAccumulator } from "../../src/core/accumulator.ts";
import { ServerError, StreamError } from "../../src/core/errors.ts";
import { textOf } from "../../src/core/message.ts";
import type { InferenceErrorSchema } from "../../src/gen/outrigger/v1/error_pb.ts";
import { type ContentPart, Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import { type Response, ResponseSchema } from "../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { ToolCallStart_InputKind } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
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

const STEPS = [
  START,
  ...reasoningBlock(0, "let me ", "see"),
  ...textBlock(1, "Hi", " 😀"),
  ...toolCallBlock(2, "call_1", '{"x"', ":1}"),
  partAdded(3, image(1, 2)),
  { case: "providerEvent", value: { type: "ping", dataJson: "{}" } },
  finish(thinking("let me see"), text("Hi 😀"), toolCall("call_1", '{"x":1}'), image(1, 2)),
] satisfies Step[];

function fed(events: readonly StreamEvent[]): StreamAccumulator {
  const accumulator = new StreamAccumulator();
  for (const event of events) accumulator.process(event);
  return accumulator;
}

async function* toStream(events: readonly StreamEvent[], onClose = () => {}): AsyncGenerator<StreamEvent> {
  try {
    yield* events;
  } finally {
    onClose();
  }
}

function getFinal(events: readonly StreamEvent[]): Response {
  const last = events.at(-1)?.event;
  if (last?.case !== "finish" || last.value.response === undefined)
    throw new Error("the stream has no finish");
  return last.value.response;
}

function getParts(response: Response): ContentPart["part"][] {
  return (response.message?.content ?? []).map(({ part }) => part);
}

describe("response()", () => {
  it("is the response of the finish event", () => {
    const events = getEvents(STEPS);
    expect(equals(ResponseSchema, fed(events).response(), getFinal(events))).toBe(true);
  });

  it("has the parts in their places however they arrived", () => {
    const steps = [START, ...textBlock(2, "three"), ...textBlock(0, "one"), partAdded(1, image(2))];
    const events = getEvents([...steps, finish(text("one"), image(2), text("three"))]);
    expect(fed(events).response()).toEqual(getFinal(events));
  });

  it("has what the ends of blocks add to the text", () => {
    const providerState = { provider: "sim", model: "sim-text", dataJson: '{"id":"rs_1"}' };
    const citations = [{ type: "url_citation", url: "https://example.com" }];
    const call = {
      id: "call_1",
      name: "look",
      input: { case: "argumentsJson", value: "{" } as const,
      argumentsInvalid: true,
    };
    const steps: Step[] = [
      START,
      { case: "reasoningStart", value: { partIndex: 0 } },
      { case: "reasoningEnd", value: { partIndex: 0, redacted: true, providerState } },
      { case: "textStart", value: { partIndex: 1 } },
      { case: "textEnd", value: { partIndex: 1, citations, providerState } },
      {
        case: "toolCallStart",
        value: {
          partIndex: 2,
          id: "call_1",
          name: "look",
          inputKind: ToolCallStart_InputKind.ARGUMENTS_JSON,
        },
      },
      { case: "toolCallDelta", value: { partIndex: 2, delta: "{" } },
      { case: "toolCallEnd", value: { partIndex: 2, toolCall: call, providerState } },
      finish(
        { part: { case: "reasoning", value: { redacted: true } }, providerState },
        { part: { case: "text", value: "" }, citations, providerState },
        { part: { case: "toolCall", value: call }, providerState },
      ),
    ];
    const events = getEvents(steps);
    expect(fed(events).response()).toEqual(getFinal(events));
  });

  it.each([0, 1, 3, STEPS.length - 1])("refuses a stream that has ended after %i events", (count) => {
    const accumulator = fed(getEvents(STEPS).slice(0, count));
    expect(() => accumulator.response()).toThrow(new StreamError("the stream has not finished"));
  });

  it("throws the error of a stream that failed", () => {
    const provider = { provider: "sim", httpStatusCode: 503, errorCode: "overloaded" };
    const failure: MessageInitShape<typeof InferenceErrorSchema> = {
      kind: 106,
      message: "broke",
      outputStarted: true,
      usage: { inputTokens: 3, totalTokens: 3 },
      providerFailure: provider,
    };
    const steps = [...STEPS.slice(0, 3), { case: "error", value: failure } satisfies Step];
    const accumulator = fed(getEvents(steps));
    expect(() => accumulator.response()).toThrow(ServerError);
    expect(() => accumulator.response()).toThrow(
      expect.objectContaining({
        ...provider,
        outputStarted: true,
        usage: expect.objectContaining({ inputTokens: 3 }),
      }),
    );
  });
});

describe("process()", () => {
  it("throws if an event breaks a law, and a broken stream never looks finished", () => {
    const accumulator = fed(getEvents([START, ...textBlock(0, "Hello")]));
    const [, , , , last] = getEvents([START, ...textBlock(0, "Hello"), finish(text("Hallo"))]);
    expect(() => last && accumulator.process(last)).toThrow("law 4 of a stream is broken");
    expect(() => accumulator.response()).toThrow(StreamError);
  });

  it("takes nothing after the end", () => {
    const accumulator = fed(getEvents([START, ERROR]));
    const [, , late] = getEvents([START, ERROR, ...textBlock(0)]);
    expect(() => late && accumulator.process(late)).toThrow("law 1 of a stream is broken");
  });
});

describe("partialResponse()", () => {
  it("knows the facts of the call from the first event on", () => {
    expect(new StreamAccumulator().partialResponse()).toEqual(
      create(ResponseSchema, { message: { role: Role.ASSISTANT } }),
    );
    expect(fed(getEvents([START])).partialResponse()).toMatchObject({
      inferenceId: "inf_1",
      provider: "sim",
      model: "sim-text",
      warnings: [{ code: "adjusted_setting" }],
      message: { role: Role.ASSISTANT, content: [] },
    });
  });

  it("has at every event the content that had arrived by then", () => {
    const accumulator = new StreamAccumulator();
    const seen = getEvents(STEPS).map((event) => {
      accumulator.process(event);
      return getParts(accumulator.partialResponse()).map(({ case: kind, value }) => {
        if (kind === "text") return value;
        if (kind === "reasoning") return `(${value.text})`;
        return kind === "toolCall" ? `${value.id}${value.input.value}` : kind;
      });
    });
    const call = 'call_1{"x":1}';
    expect(seen).toEqual([
      [],
      ["()"],
      ["(let me )"],
      ["(let me see)"],
      ["(let me see)"],
      ["(let me see)", ""],
      ["(let me see)", "Hi"],
      ["(let me see)", "Hi 😀"],
      ["(let me see)", "Hi 😀"],
      ["(let me see)", "Hi 😀", "call_1"],
      ["(let me see)", "Hi 😀", 'call_1{"x"'],
      ["(let me see)", "Hi 😀", call],
      ["(let me see)", "Hi 😀", call],
      ["(let me see)", "Hi 😀", call, "image"],
      ["(let me see)", "Hi 😀", call, "image"],
      ["(let me see)", "Hi 😀", call, "image"],
    ]);
  });

  it("is the text so far, however it is cut into deltas", () => {
    const deltas = fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { maxLength: 20 });
    fc.assert(
      fc.property(deltas, (deltas) => {
        const accumulator = fed(getEvents([START, { case: "textStart", value: { partIndex: 0 } }]));
        const events = getEvents([START, ...textBlock(0, ...deltas)]).slice(2, -1);
        events.forEach((event, index) => {
          accumulator.process(event);
          expect(textOf(accumulator.partialResponse())).toBe(deltas.slice(0, index + 1).join(""));
        });
      }),
      { seed: 6 },
    );
  });

  it("stays after a failure, and is the whole response after finish", () => {
    const failed = fed(getEvents([START, ...textBlock(0, "Hel", "lo"), ERROR]));
    expect(textOf(failed.partialResponse())).toBe("Hello");
    const events = getEvents(STEPS);
    expect(fed(events).partialResponse()).toEqual(getFinal(events));
  });

  it("is a copy", () => {
    const accumulator = fed(getEvents(STEPS));
    const copy = accumulator.partialResponse();
    copy.model = "changed";
    copy.message?.content.splice(0);
    expect(accumulator.response().model).toBe("sim-text");
    expect(accumulator.response().message?.content).toHaveLength(4);
  });

  it("leaves the events as they came", () => {
    const events = getEvents(STEPS);
    fed(events).partialResponse();
    expect(events).toEqual(getEvents(STEPS));
  });
});

describe("accumulate()", () => {
  it("reads a stream to its end", async () => {
    const events = getEvents(STEPS);
    expect(await accumulate(toStream(events))).toEqual(getFinal(events));
  });

  it("throws if the stream ends early, failed, or breaks a law, and closes it", async () => {
    for (const steps of [STEPS.slice(0, -1), [START, ERROR], [START, START]]) {
      let closed = 0;
      const reading = accumulate(toStream(getEvents(steps), () => (closed += 1)));
      await expect(reading).rejects.toThrow(steps[1] === ERROR ? ServerError : StreamError);
      expect(closed).toBe(1);
    }
  });
});
