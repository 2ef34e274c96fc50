import { create } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { AttemptSchema } from "../../../src/gen/outrigger/v1/attempt_pb.ts";
import { AttemptLog } from "../../../src/generation/loop/attempt-log.ts";

describe("AttemptLog", () => {
  it("has the latest 256 attempts, also of the generation that is continued", () => {
    const attempts = Array.from({ length: 300 }, (_, step) => create(AttemptSchema, { step }));
    const log = new AttemptLog(attempts.slice(0, 257));
    expect([log.attempts.length, log.attempts[0]?.step]).toEqual([256, 1]);
    for (const attempt of attempts.slice(257)) log.add(attempt);
    expect([log.attempts.length, log.attempts[0]?.step, log.attempts.at(-1)?.step]).toEqual([256, 44, 299]);
  });

  it("records a delay on the latest attempt, if there is one", () => {
    const log = new AttemptLog();
    log.noteDelay(1);
    log.add(create(AttemptSchema));
    log.noteDelay(1.2345);
    const [attempt] = log.attempts;
    expect(attempt?.retryDelay && durationMs(attempt.retryDelay)).toBe(1235);
  });
});
