import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TimeoutsSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { timeoutsOf } from "../../../src/kit/http/request-timeouts.ts";

describe("timeoutsOf()", () => {
  it("gives nothing where the request sets nothing", () => {
    expect(timeoutsOf(undefined)).toEqual({});
    expect(Object.keys(timeoutsOf(create(TimeoutsSchema)))).toEqual([]);
  });

  it.each([
    ["connect", "connectMs"],
    ["request", "requestMs"],
    ["betweenBytes", "betweenBytesMs"],
  ])("sets of %s the limit %s alone", (field, limit) => {
    expect(timeoutsOf(create(TimeoutsSchema, { [field]: { seconds: 7n } }))).toStrictEqual({ [limit]: 7000 });
  });

  it.each([
    [{ seconds: 1n, nanos: 500_000_000 }, 1500],
    [{ seconds: 0n, nanos: 1 }, 1],
    [{ seconds: 2n, nanos: 1_000_001 }, 2002],
    [{ seconds: 0n, nanos: 0 }, 0],
    [{ seconds: 315_576_000_000n }, 315_576_000_000_000],
  ])("rounds up to whole milliseconds (%#)", (request, want) => {
    expect(timeoutsOf(create(TimeoutsSchema, { request })).requestMs).toBe(want);
  });
});
