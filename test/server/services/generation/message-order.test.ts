import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  RejectedOutput_Reason as Reason,
  RunToolsRequestSchema,
  RunToolsResponseSchema,
} from "../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { MessageOrder } from "./support/message-order.ts";

type Response = NonNullable<
  Exclude<MessageInitShape<typeof RunToolsResponseSchema>, { $typeName: string }>["message"]
>;
type Request = NonNullable<
  Exclude<MessageInitShape<typeof RunToolsRequestSchema>, { $typeName: string }>["message"]
>;

/** A message from the caller (`>`), or from the sidecar with its step. */
type Line = readonly [">", Request] | readonly [step: number, Response];

const start: Line = [">", { case: "start", value: {} }];
const output = (toolCallId: string): Line => [
  ">",
  { case: "output", value: { toolCallId, output: { case: "failure", value: {} } } },
];
const repaired = (toolCallId: string): Line => [
  ">",
  { case: "output", value: { toolCallId, output: { case: "repairedCall", value: {} } } },
];
const event = (step: number, sequence: number): Line => [
  step,
  { case: "event", value: { sequence, event: { case: "streamStart", value: {} } } },
];
const finish = (step: number, sequence: number): Line => [
  step,
  { case: "event", value: { sequence, event: { case: "finish", value: { response: { message: {} } } } } },
];
const execute = (step: number, id: string, problem = ""): Line => [
  step,
  { case: "execute", value: { toolCall: { id, input: { case: "text", value: "x" } }, problem } },
];
const stepFinish = (
  step: number,
  calls: readonly string[] = [],
  results: readonly string[] = calls,
): Line => [
  step,
  {
    case: "stepFinish",
    value: {
      result: {
        response: {
          message: { content: calls.map((id) => ({ part: { case: "toolCall", value: { id } } }) as const) },
        },
        toolResults: results.map((toolCallId) => ({ toolCallId })),
      },
    },
  },
];
const result = (step: number, steps = step): Line => [
  step,
  { case: "result", value: { steps: Array.from({ length: steps }, () => ({})) } },
];
const rejected = (step: number, toolCallId: string): Line => [
  step,
  { case: "rejectedOutput", value: { toolCallId, reason: Reason.UNKNOWN_CALL } },
];
const error = (step: number): Line => [step, { case: "error", value: { message: "x" } }];

/** Checks lines, with sequence numbers in their order. @param isOk How the call ends. */
function check(lines: readonly Line[], isOk = true): void {
  const order = new MessageOrder();
  let sequence = 0;
  for (const [side, message] of lines) {
    if (side === ">") order.request(create(RunToolsRequestSchema, { message: message as Request }));
    else
      order.response(
        create(RunToolsResponseSchema, { sequence: sequence++, step: side, message: message as Response }),
      );
  }
  order.end(isOk);
}

describe("the order of messages of RunTools", () => {
  it.each<[string, Line[], boolean]>([
    ["an answer without tools", [start, event(1, 0), finish(1, 1), stepFinish(1), result(1)], true],
    ["an answer without events", [start, stepFinish(1), result(1)], true],
    [
      "outputs in another order, one of them before the last execute",
      [
        start,
        execute(1, "a"),
        output("a"),
        execute(1, "b"),
        output("b"),
        stepFinish(1, ["a", "b"]),
        stepFinish(2),
        result(2),
      ],
      true,
    ],
    [
      "a repaired call",
      [
        start,
        execute(1, "a", "bad"),
        repaired("a"),
        execute(1, "a"),
        output("a"),
        stepFinish(1, ["a"]),
        result(1),
      ],
      true,
    ],
    [
      "an output that is rejected before an event",
      [start, output("x"), rejected(1, "x"), event(1, 0), error(1)],
      false,
    ],
    ["a failure before the first message", [start], false],
    ["a failure between steps", [start, execute(1, "a"), output("a"), stepFinish(1, ["a"]), error(1)], false],
  ])("allows %s", (_case, lines, isOk) => {
    check(lines, isOk);
  });

  it.each<[string, Line[], boolean, string]>([
    ["an output before the start", [output("a")], true, "a first message that is no start"],
    ["a second start", [start, start], true, "a second start"],
    ["an output without an id", [start, output("")], true, "an output without an id"],
    ["a message before the start", [event(1, 0)], true, "event while OPENING"],
    ["an event after an execute", [start, execute(1, "a"), event(1, 0)], true, "an event while TOOLS"],
    ["events that break the laws of a stream", [start, finish(1, 0)], true, "law 1 of a stream is broken"],
    [
      "an execute before its stream has ended",
      [start, event(1, 0), execute(1, "a")],
      true,
      "law 1 of a stream is broken",
    ],
    ["two executes for a call", [start, execute(1, "a"), execute(1, "a")], true, "a second execute for a"],
    [
      "an execute for a call that nobody repaired",
      [start, execute(1, "a", "bad"), execute(1, "a")],
      true,
      "a second execute for a",
    ],
    [
      "a call of an earlier step",
      [start, execute(1, "a"), output("a"), stepFinish(1, ["a"]), execute(2, "a")],
      true,
      "a second execute for a",
    ],
    [
      "executes in another order",
      [start, execute(1, "b"), execute(1, "a"), stepFinish(1, ["a", "b"])],
      true,
      "not announced in their order",
    ],
    [
      "results in another order",
      [start, execute(1, "a"), execute(1, "b"), stepFinish(1, ["a", "b"], ["b", "a"])],
      true,
      "not in the order of the calls",
    ],
    [
      "a call that is lost",
      [start, execute(1, "a"), execute(1, "b"), stepFinish(1, ["a", "b"], ["a"])],
      true,
      "no result for b",
    ],
    [
      "a step that is left out",
      [start, stepFinish(1), stepFinish(3)],
      true,
      "step 3 while FINISHED of step 1",
    ],
    ["a step that ends twice", [start, stepFinish(1), stepFinish(1)], true, "a second step_finish"],
    ["a result before the end of its step", [start, result(1)], true, "a result while MODEL"],
    [
      "a result without all steps",
      [start, stepFinish(1), stepFinish(2), result(2, 1)],
      true,
      "a result without all steps",
    ],
    [
      "a message after the result",
      [start, stepFinish(1), result(1), stepFinish(1)],
      true,
      "stepFinish while ENDED",
    ],
    ["a rejected output that was never sent", [start, rejected(1, "x")], true, "an output that was not sent"],
    ["status OK without a result", [start, stepFinish(1)], true, "status OK while FINISHED"],
    [
      "a failure without an error message",
      [start, stepFinish(1)],
      false,
      "a status without an error before it",
    ],
  ])("forbids %s", (_case, lines, isOk, problem) => {
    expect(() => check(lines, isOk)).toThrow(problem);
  });

  it("forbids a gap in the numbers", () => {
    const order = new MessageOrder();
    order.request(create(RunToolsRequestSchema, { message: { case: "start", value: {} } }));
    const message = create(RunToolsResponseSchema, { sequence: 1, step: 1 });
    expect(() => order.response(message)).toThrow("sequence 1 instead of 0");
  });
});
