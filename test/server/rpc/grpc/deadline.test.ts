import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { parseTimeout } from "../../../../src/server/rpc/grpc/request-headers.ts";

describe("parseTimeout", () => {
  it.each([
    ["1H", 3_600_000],
    ["2M", 120_000],
    ["30S", 30_000],
    ["250m", 250],
    ["1500u", 1.5],
    ["99999999n", 99.999999],
    ["0S", 0],
  ])("reads %s", (header, timeoutMs) => {
    expect(parseTimeout(header)).toBeCloseTo(timeoutMs, 9);
  });

  it("returns no timeout without a header", () => {
    expect(parseTimeout(undefined)).toBeUndefined();
  });

  it.each(["99999999H", "99999999M", "99999999S"])(
    "treats %s, beyond the range of timers, as no timeout",
    (header) => {
      expect(parseTimeout(header)).toBeUndefined();
    },
  );

  it.each(["", "5", "S", "123456789S", "-1S", "1.5S", "5s", "1S, 2S", " 5S", "5S\u0000"])(
    "rejects %j",
    (header) => {
      expect(() => parseTimeout(header)).toThrow(ConnectError);
      try {
        parseTimeout(header);
      } catch (error) {
        expect(ConnectError.from(error).code).toBe(Code.InvalidArgument);
        expect(ConnectError.from(error).rawMessage).toContain(
          `grpc-timeout is ${JSON.stringify(header)}, expected`,
        );
      }
    },
  );
});
