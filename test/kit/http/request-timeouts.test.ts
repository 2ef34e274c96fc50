import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TimeoutsSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { toTimeouts } from "../../../src/kit/http/timeouts.ts";

describe("toTimeouts()", () => {
  it("gives nothing if the request sets nothing", () => {
    expect(toTimeouts(undefined)).toBeUndefined();
    expect(toTimeouts(create(TimeoutsSchema))).toStrictEqual({});
  });

  it.each([
    ["connect", "connectMs"],
    ["request", "requestMs"],
    ["betweenBytes", "betweenBytesMs"],
  ])("sets of %s the limit %s alone", (field, limit) => {
    expect(toTimeouts(create(TimeoutsSchema, { [field]: { seconds: 7n } }))).toStrictEqual({ [limit]: 7000 });
  });

  it.each([
    [{ seconds: 1n, nanos: 500_000_000 }, 1500],
    [{ seconds: 0n, nanos: 1 }, 1],
    [{ seconds: 2n, nanos: 1_000_001 }, 2002],
    [{ seconds: 0n, nanos: 0 }, 0],
    [{ seconds: 315_576_000_000n }, 315_576_000_000_000],
  ])("rounds up to whole milliseconds (%#)", (request, want) => {
    expect(toTimeouts(create(TimeoutsSchema, { request }))?.requestMs).toBe(want);
  });
});
