import { create, toJsonString } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { StreamError } from "../../../src/core/errors.ts";
import { LawChecker } from "../../../src/core/laws.ts";
import { toolCallsOf } from "../../../src/core/message.ts";
import { type ContentPart, ContentPartSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  FinishReason_Reason,
  FinishReasonSchema,
  RateLimitInfoSchema,
  type Response,
} from "../../../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { finishReason } from "../../../src/kit/call/call-facts.ts";
import { warning } from "../../../src/kit/call/loss-report.ts";
import { StreamWriter, toToolCall } from "../../../src/kit/stream/stream-writer.ts";
import { factsFor } from "../../support/decode.ts";
import { shippedModels } from "../../support/shipped-models.ts";

const ANSWER = {
  id: "resp_1",
  model: "",
  finishReason: create(FinishReasonSchema, { reason: FinishReason_Reason.STOP, raw: "stop" }),
  usage: undefined,
  rawJson: "",
};

function createWriter(request: Parameters<typeof factsFor>[1] = { model: "asked" }): StreamWriter {
  return new StreamWriter(factsFor("sim", request), () => 0);
}

function getCases(events: readonly StreamEvent[]): (string | undefined)[] {
  return events.map(({ event }) => event.case);
}

/** Checks a finished stream against the laws and returns its accumulated response. */
function accumulated(events: readonly StreamEvent[]): Response {
  const laws = new LawChecker();
  const accumulator = new StreamAccumulator();
  for (const event of events) {
    laws.check(event);
    accumulator.process(event);
  }
  laws.end();
  return accumulator.response();
}

/** The deltas of a stream in order. */
function splitDeltas(events: readonly StreamEvent[]): string[] {
  return events.flatMap(({ event }) =>
    event.value !== undefined && "delta" in event.value ? [event.value.delta] : [],
  );
}

describe("StreamWriter", () => {
  it("replaces half surrogate pairs in names and ids too, which readers of JSON refuse", () => {
    const writer = createWriter();
    writer.start("m\ud800");
    writer.startToolCall({ id: "call\ud800", name: "f\udfff" }).end();
    writer.providerEvent("type\ud800", "{}");
    const { citations } = create(ContentPartSchema, { citations: [{ title: "title\ud800" }] });
    writer.startText().end({ citations });
    const earlier = writer.take();
    const written = earlier.map((event) => toJsonString(StreamEventSchema, event)).join();
    expect(written).toContain("title\ufffd");
    const raw = finishReason(FinishReason_Reason.OTHER, "stop\ud800");
    const response = writer.finish({ ...ANSWER, id: "resp\ud800", model: "m\ud800", finishReason: raw });
    expect(response).toMatchObject({
      id: "resp\ufffd",
      model: "m\ufffd",
      finishReason: { raw: "stop\ufffd" },
    });
    const events = [...earlier, ...writer.take()];
    expect(written + events.map((event) => toJsonString(StreamEventSchema, event)).join()).not.toContain(
      "\\ud",
    );
    expect(getCases(events)).toEqual([
      ...["streamStart", "toolCallStart", "toolCallDelta", "toolCallEnd", "providerEvent", "textStart"],
      ...["textEnd", "finish"],
    ]);
    expect(toolCallsOf(response)).toMatchObject([{ id: "call\ufffd", name: "f\ufffd" }]);
  });
});

describe("StreamWriter for a caller who gets the provider's events", () => {
  it("joins deltas of one part that come together", () => {
    const writer = createWriter();
    writer.joinsDeltas = true;
    writer.start("m");
    const first = writer.startText();
    first.append("a");
    first.append("b");
    const events = writer.take();
    expect(splitDeltas(events)).toEqual(["ab"]);
    first.append("c");
    const call = writer.startToolCall({ id: "call_1", name: "look" });
    call.append("{");
    first.append("d");
    first.append("e");
    call.append("}");
    call.append(" ");
    writer.finish(ANSWER);
    const rest = writer.take();
    expect(splitDeltas(rest)).toEqual(["c", "{", "de", "} "]);
    const { message } = accumulated([...events, ...rest]);
    expect(message?.content.map(({ part }) => part.case)).toEqual(["text", "toolCall"]);
    expect(message?.content[0]?.part.value).toBe("abcde");
  });
});

const image: ContentPart = create(ContentPartSchema, {
  part: {
    case: "image",
    value: { mediaType: "image/png", source: { case: "data", value: Uint8Array.of(1) } },
  },
});

describe("start()", () => {
  it("has run, provider, model, time and warnings, once", () => {
    const facts = { ...factsFor("sim", { model: "asked" }), acceptedAt: 1_500 };
    facts.warnings.push(warning("top_p", "unsupported_setting", "left out"));
    const writer = new StreamWriter(facts, () => 0);
    expect(writer.started).toBe(false);
    writer.start("reported");
    writer.start("another");
    expect(writer.started).toBe(true);
    const [event, ...more] = writer.take();
    expect(more).toEqual([]);
    expect(event).toMatchObject({ sequence: 0, elapsedMs: 0 });
    expect(event?.event.value).toMatchObject({
      inferenceId: "inf_test",
      provider: "sim",
      model: "reported",
      startedAt: { seconds: 1n, nanos: 500_000_000 },
      warnings: [{ field: "top_p" }],
    });
  });

  it("names the model that was asked for if the provider names none", () => {
    const writer = createWriter();
    writer.start("");
    expect(writer.take()[0]?.event.value).toMatchObject({ model: "asked" });
    expect(writer.finish(ANSWER).model).toBe("asked");
  });
});

describe("take()", () => {
  it("gives every event once, counted, with whole milliseconds since the start", () => {
    const times = [1_000, 1_000, 1_012.6, 1_900];
    const writer = new StreamWriter(factsFor("sim", {}), () => times.shift() ?? 2_000);
    writer.start("m");
    const first = writer.take();
    writer.startText().end();
    const rest = writer.take();
    expect([...first, ...rest].map(({ sequence, elapsedMs }) => [sequence, elapsedMs])).toEqual([
      [0, 0],
      [1, 13],
      [2, 900],
    ]);
    expect(writer.take()).toEqual([]);
  });
});

describe("append()", () => {
  it("sends what it can and holds a high surrogate back until its partner comes", () => {
    const writer = createWriter();
    writer.start("m");
    const block = writer.startText();
    for (const delta of ["", "a\ud83d", "", "\ude00b", "\ud83d", "\ud83d\ude00"]) block.append(delta);
    expect(block.text).toBe("a😀b\ufffd😀");
    block.end();
    writer.finish(ANSWER);
    const events = writer.take();
    expect(splitDeltas(events)).toEqual(["a", "😀b", "\ufffd😀"]);
    accumulated(events);
  });

  it("sends a half that never finds its partner as U+FFFD at the end", () => {
    const writer = createWriter();
    writer.start("m");
    const block = writer.startReasoning();
    block.append("\ude00x\ud83d");
    block.end();
    writer.finish(ANSWER);
    const events = writer.take();
    expect(splitDeltas(events)).toEqual(["\ufffdx", "\ufffd"]);
    expect(accumulated(events).message?.content[0]?.part.value).toMatchObject({ text: "\ufffdx\ufffd" });
  });

  it("refuses to continue a part that has ended, and writes no event", () => {
    const writer = createWriter();
    writer.start("m");
    const blocks = [
      writer.startText(),
      writer.startReasoning(),
      writer.startToolCall({ id: "a", name: "look" }),
    ];
    for (const block of blocks) block.end();
    writer.take();
    for (const block of blocks) expect(() => block.append("more")).toThrow(StreamError);
    for (const block of blocks) block.append("");
    expect(writer.take()).toEqual([]);
  });
});

describe("complete()", () => {
  it.each([
    ["adds what is missing", ["Hel"], "Hello", "Hello"],
    ["adds everything where nothing came", [], "Hello", "Hello"],
    ["adds nothing where all is there", ["Hello"], "Hello", "Hello"],
    ["lets stand what was sent where the final text differs", ["Hallo"], "Hello, world", "Hallo"],
    ["lets stand what was sent where the final text is shorter", ["Hello"], "Hel", "Hello"],
    ["counts what is held back", ["a\ud83d"], "a😀b", "a😀b"],
    ["knows a half surrogate again that was replaced", ["a\ud83db"], "a\ud83dbc", "a\ufffdbc"],
  ])("%s", (_what, deltas, finalText, want) => {
    const writer = createWriter();
    writer.start("m");
    const block = writer.startText();
    for (const delta of deltas) block.append(delta);
    block.complete(finalText);
    block.end();
    block.complete(`${finalText} late`);
    expect(block.text).toBe(want);
    writer.finish(ANSWER);
    expect(accumulated(writer.take()).message?.content[0]?.part.value).toBe(want);
  });
});

describe("the tool calls", () => {
  it.each([
    ["no arguments", [], "{}", false],
    ["arguments that parse", ['{"x":', "1.0}"], '{"x":1.0}', false],
    ["arguments that do not parse", ['{"x":'], '{"x":', true],
    ["arguments that are no object", ["[1]"], "[1]", false],
    ["half a surrogate pair alone", ["\ud83d"], "\ufffd", true],
  ])(
    "with %s are kept verbatim and marked if they do not parse",
    (_what, deltas, argumentsJson, argumentsInvalid) => {
      const writer = createWriter();
      writer.start("m");
      const block = writer.startToolCall({ id: "call_1", name: "look" });
      for (const delta of deltas) block.append(delta);
      block.end();
      writer.finish(ANSWER);
      const [call] = toolCallsOf(accumulated(writer.take()));
      expect(call).toMatchObject({
        id: "call_1",
        name: "look",
        input: { case: "argumentsJson", value: argumentsJson },
        argumentsInvalid,
      });
      expect(call).toEqual(
        toToolCall({ id: "call_1", name: "look", inputKind: "argumentsJson" }, deltas.join("")),
      );
    },
  );

  it.each(["", "free text {"])("of a custom tool take free text as it is (%j)", (input) => {
    const writer = createWriter();
    writer.start("m");
    const block = writer.startToolCall({ id: "call_1", name: "look", inputKind: "text" });
    block.append(input);
    block.end();
    writer.finish(ANSWER);
    const [call] = toolCallsOf(accumulated(writer.take()));
    expect(call).toMatchObject({ input: { case: "text", value: input }, argumentsInvalid: false });
    expect(call).toEqual(toToolCall({ id: "call_1", name: "look", inputKind: "text" }, input));
  });

  it("have unique ids if the provider repeats ids or gives none", () => {
    const writer = createWriter();
    writer.start("m");
    for (const id of ["a", "a", "", ""]) writer.startToolCall({ id, name: "look" });
    writer.finish(ANSWER);
    const ids = toolCallsOf(accumulated(writer.take())).map(({ id }) => id);
    expect(ids).toEqual(["a", "a_2", "call_test", "call_test_2"]);
  });
});

describe("the parts", () => {
  it("keep the facts of their ends, in events and response alike", () => {
    const writer = createWriter();
    writer.start("m");
    const providerState = create(ContentPartSchema, {
      providerState: { provider: "sim", model: "m", dataJson: "{}" },
    }).providerState;
    const { citations } = create(ContentPartSchema, { citations: [{ url: "https://example.com" }] });
    writer.startText().end({ citations, providerState });
    writer.startReasoning().end({ redacted: true, providerState });
    writer.startToolCall({ id: "call_1", name: "look" }).end({ providerState });
    const response = writer.finish(ANSWER);
    expect(response.message?.content).toMatchObject([
      { part: { case: "text" }, citations, providerState },
      { part: { case: "reasoning", value: { redacted: true } }, providerState },
      { part: { case: "toolCall" }, providerState },
    ]);
    expect(accumulated(writer.take())).toEqual(response);
  });

  it("that come late take the index that was reserved for them", () => {
    const writer = createWriter();
    writer.start("m");
    const place = writer.reserve();
    const callPlace = writer.reserve();
    const text = writer.startText();
    writer.addPart(image);
    writer.startToolCall({ id: "a", name: "look" }, callPlace).end();
    text.append("hi");
    text.end();
    writer.addPart(image, place);
    const response = writer.finish(ANSWER);
    const kinds = response.message?.content.map(({ part }) => part.case);
    expect(kinds).toEqual(["image", "toolCall", "text", "image"]);
    expect(accumulated(writer.take())).toEqual(response);
  });

  it("that were announced and never came are a broken stream", () => {
    const writer = createWriter();
    writer.start("m");
    writer.reserve();
    expect(() => writer.finish(ANSWER)).toThrow(StreamError);
    expect([getCases(writer.take()), writer.ended]).toEqual([["streamStart"], false]);
  });
});

describe("finish()", () => {
  it("ends the blocks that the provider left open, and late ends change nothing", () => {
    const writer = createWriter();
    writer.start("m");
    const text = writer.startText();
    const call = writer.startToolCall({ id: "a", name: "look" });
    text.append("hi\ud83d");
    const response = writer.finish(ANSWER);
    text.end();
    call.end();
    const events = writer.take();
    expect(getCases(events).slice(-4)).toEqual(["textEnd", "toolCallDelta", "toolCallEnd", "finish"]);
    expect(accumulated(events)).toEqual(response);
    expect(writer.ended).toBe(true);
  });

  it("puts the answer and the facts of the call together", () => {
    const facts = {
      ...factsFor("sim", { model: "asked" }),
      rateLimit: create(RateLimitInfoSchema, { tokensLimit: 9 }),
      providerRequestId: "req_1",
    };
    const writer = new StreamWriter(facts, () => 0);
    writer.start("reported");
    facts.warnings.push(warning("", "provider_message", "found on the way"));
    const usage = create(UsageSchema, { inputTokens: 1, outputTokens: 2, totalTokens: 3 });
    const response = writer.finish({ ...ANSWER, usage, rawJson: "{}" });
    expect(response).toMatchObject({
      id: "resp_1",
      model: "reported",
      provider: "sim",
      inferenceId: "inf_test",
      providerRequestId: "req_1",
      finishReason: ANSWER.finishReason,
      usage,
      rateLimit: { tokensLimit: 9 },
      warnings: [{ code: "provider_message" }],
      rawJson: "{}",
    });
    const last = writer.take().at(-1)?.event.value;
    expect(last).toMatchObject({ response, usage, finishReason: ANSWER.finishReason });
  });

  it("prices the usage at the end, and masks keys in it, as in the response", () => {
    const facts = {
      ...factsFor("sim", { model: "gpt-4.1-mini" }),
      models: shippedModels("openai"),
      withoutKeys: (text: string) => text.replaceAll("sk-secret", "[masked]"),
    };
    const writer = new StreamWriter(facts, () => 0);
    writer.start("gpt-4.1-mini");
    const rawJson = '{"echo":"sk-secret"}';
    const response = writer.finish({ ...ANSWER, usage: create(UsageSchema, { outputTokens: 10, rawJson }) });
    const { event } = writer.take().at(-1) ?? {};
    expect(response.usage?.costNanoUsd).toBeGreaterThan(0n);
    expect(event?.value).toMatchObject({ usage: response.usage });
    expect(response.usage?.rawJson).toBe('{"echo":"[masked]"}');
  });

  it("leaves usage unset if the provider reported none", () => {
    const writer = createWriter();
    writer.start("m");
    expect(writer.finish(ANSWER).usage).toBeUndefined();
    const { event } = writer.take().at(-1) ?? {};
    expect(event?.case === "finish" && "usage" in event.value && event.value.usage !== undefined).toBe(false);
  });
});
