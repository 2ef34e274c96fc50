import { create } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { AttemptSchema } from "../../src/gen/outrigger/v1/attempt_pb.ts";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import { answerMessageId, createId, isRepeated } from "../../src/runs/messages.ts";

const DIGITS = "0123456789abcdef".repeat(2);

describe("ids", () => {
  it.each([
    ["run", /^run_[0-9a-f]{32}$/],
    ["thread", /^thread_[0-9a-f]{32}$/],
    ["msg", /^msg_[0-9a-f]{36}$/],
  ] as const)("differ, and have a prefix for their kind: %s", (prefix, form) => {
    const ids = Array.from({ length: 100 }, () => createId(prefix));
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(form);
  });

  it("begin with the time at which they were made, in milliseconds", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 0x19ac_1234_5678 });
    try {
      const ids = [createId("run"), createId("thread"), createId("msg")];
      expect(ids.map((id) => id.replace(/^([a-z]+_.{12}).*$/, "$1"))).toEqual([
        "run_19ac12345678",
        "thread_19ac12345678",
        "msg_19ac12345678",
      ]);
      vi.setSystemTime(1);
      expect(createId("run")).toMatch(/^run_000000000001[0-9a-f]{20}$/);
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    [1, false, "0001"],
    [255, false, "00ff"],
    [1, true, "8001"],
    [0x7fff, true, "ffff"],
  ])("of the answer of step %i (repeated: %s) end with %s", (step, repeated, end) => {
    expect(answerMessageId(`run_${DIGITS}`, step, repeated)).toBe(`msg_${DIGITS}${end}`);
  });
});

it("takes a step for repeated if a call of this step had no answer", () => {
  const attempt = (step: number, kind: ErrorKind) => create(AttemptSchema, { step, error: { kind } });
  const attempts = [
    create(AttemptSchema, { step: 1 }),
    attempt(2, ErrorKind.ABORT),
    attempt(3, ErrorKind.SERVER),
  ];
  expect([1, 2, 3, 4].map((step) => isRepeated(attempts, step))).toEqual([false, true, false, false]);
});
