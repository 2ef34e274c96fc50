import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StreamAccumulator } from "../../../src/core/accumulator.ts";
import { StreamError } from "../../../src/core/errors.ts";
import { LawChecker } from "../../../src/core/laws.ts";
import { toolCallsOf } from "../../../src/core/message.ts";
import { type ContentPart, ContentPartSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason, FinishReasonSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { StreamWriter, type ToolInputKind, toToolCall } from "../../../src/kit/stream/stream-writer.ts";
import { factsFor } from "../../support/decode.ts";

const ANSWER = {
  id: "resp_1",
  model: "",
  finishReason: create(FinishReasonSchema, { reason: FinishReason_Reason.STOP, raw: "stop" }),
  usage: undefined,
  rawJson: "",
};

const image: ContentPart = create(ContentPartSchema, {
  part: {
    case: "image",
    value: { mediaType: "image/png", source: { case: "data", value: Uint8Array.of(1) } },
  },
});

/** A call that a decoder may make to a writer. `block` picks one of the blocks so far. */
type Call =
  | { readonly do: "start" | "reserve" | "fill" | "whole" | "event" }
  | { readonly do: "text" | "reasoning" }
  | { readonly do: "call"; readonly id: string; readonly inputKind: ToolInputKind }
  | { readonly do: "append" | "complete"; readonly block: number; readonly text: string }
  | { readonly do: "end"; readonly block: number };

const fragment = fc.oneof(
  fc.constantFrom("", "\ud83d", "\ude00", "😀", "\ud83d\ud83d", "{", "}", '{"x":1}', "é"),
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    maxLength: 4,
  }),
);
const block = fc.nat({ max: 5 });
const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.constantFrom<Call>(
      ...(["start", "reserve", "fill", "whole", "event"] as const).map((it) => ({ do: it })),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom<Call>({ do: "text" }, { do: "reasoning" }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("call" as const),
      id: fc.constantFrom("", "a", "a_2", "call_test"),
      inputKind: fc.constantFrom<ToolInputKind>("argumentsJson", "text"),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("append" as const), block, text: fragment }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("complete" as const), block, text: fragment }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("end" as const), block }) },
);

type AnyBlock = ReturnType<
  StreamWriter["startText"] | StreamWriter["startReasoning"] | StreamWriter["startToolCall"]
>;

/** A block and the deltas that the provider sent for the block. */
interface Written {
  readonly block: AnyBlock;
  readonly type: string;
  readonly partIndex: number;
  raw: string;
  ended: boolean;
}

/** Runs a script on a writer and records the expected content of each part. */
class Play {
  readonly writer = new StreamWriter(factsFor("sim", { model: "asked" }), () => 0);
  readonly written: Written[] = [];
  #reserved: number[] = [];
  #parts = 0;

  constructor(script: readonly Call[]) {
    this.writer.start("m");
    for (const call of script) this.#do(call);
    for (const place of this.#reserved) this.writer.addPart(image, place);
  }

  #do(call: Call): void {
    switch (call.do) {
      case "start":
        return this.writer.start("again");
      case "reserve":
        this.#parts += 1;
        this.#reserved.push(this.writer.reserve());
        return;
      case "fill":
        return this.writer.addPart(image, this.#reserved.shift() ?? this.#nextPart());
      case "whole":
        this.#parts += 1;
        return this.writer.addPart(image);
      case "event":
        return this.writer.providerEvent("ping", "{}");
      case "text":
        return this.#open("text", this.writer.startText());
      case "reasoning":
        return this.#open("reasoning", this.writer.startReasoning());
      case "call":
        return this.#open(
          call.inputKind,
          this.writer.startToolCall({ id: call.id, name: "look", inputKind: call.inputKind }),
        );
      default:
        return this.#write(call);
    }
  }

  #nextPart(): number {
    this.#parts += 1;
    return this.writer.reserve();
  }

  #open(type: string, block: AnyBlock): void {
    this.written.push({ block, type, partIndex: this.#parts, raw: "", ended: false });
    this.#parts += 1;
  }

  #write(call: Extract<Call, { block: number }>): void {
    const written = this.written[call.block % Math.max(1, this.written.length)];
    if (written === undefined) return;
    if (call.do === "end") {
      written.block.end();
      written.ended = true;
    } else if (call.do === "complete") {
      written.block.complete(written.raw + call.text);
      if (!written.ended) written.raw += call.text;
    } else if (written.ended && call.text !== "") {
      expect(() => written.block.append(call.text)).toThrow(StreamError);
    } else {
      written.block.append(call.text);
      written.raw += call.text;
    }
  }
}

const scripts = fc.array(call, { maxLength: 40 });

describe("any script of calls", () => {
  it("makes a stream that keeps the laws and accumulates to its response", () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const { writer } = new Play(script);
        const response = writer.finish(ANSWER);
        const laws = new LawChecker();
        const accumulator = new StreamAccumulator();
        for (const event of writer.take()) {
          laws.check(event);
          accumulator.process(event);
        }
        laws.end();
        expect(accumulator.response()).toEqual(response);
      }),
      { seed: 7, numRuns: 200 },
    );
  });

  it("brings every part as the provider sent it, well-formed", () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const { writer, written } = new Play(script);
        const { message } = writer.finish(ANSWER);
        for (const { type, partIndex, raw } of written) {
          const part = message?.content[partIndex]?.part;
          const whole = raw.toWellFormed();
          if (part?.case === "text") expect([type, part.value]).toEqual(["text", whole]);
          else if (part?.case === "reasoning") expect([type, part.value.text]).toEqual(["reasoning", whole]);
          else if (part?.case === "toolCall")
            expect(part.value).toEqual(
              toToolCall(
                { id: part.value.id, name: "look", inputKind: type === "text" ? "text" : "argumentsJson" },
                raw,
              ),
            );
          else expect.unreachable(`part ${partIndex} is ${part?.case}`);
        }
        const ids = toolCallsOf(message).map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { seed: 8, numRuns: 200 },
    );
  });

  it("makes events that travel unchanged, since their strings are well-formed", () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const { writer } = new Play(script);
        writer.finish(ANSWER);
        for (const event of writer.take()) {
          const arrived = fromBinary(StreamEventSchema, toBinary(StreamEventSchema, event));
          expect(arrived).toEqual(event);
        }
      }),
      { seed: 9, numRuns: 50 },
    );
  });
});
