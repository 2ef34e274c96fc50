import { describe, expect, it } from "vitest";
import { createHeaders } from "../../../src/kit/http/headers.ts";

describe("createHeaders()", () => {
  const headers = createHeaders({ "X-Request-Id": "req_1", "retry-after": ["1", "2"] });

  it("finds a header whatever the case of its name", () => {
    expect(headers.get("x-request-id")).toBe("req_1");
    expect(headers.get("X-REQUEST-ID")).toBe("req_1");
  });

  it("joins the values of a header that came several times", () => {
    expect(headers.get("Retry-After")).toBe("1, 2");
    expect([...headers]).toEqual([
      ["x-request-id", "req_1"],
      ["retry-after", "1, 2"],
    ]);
  });

  it.each(["constructor", "toString", "__proto__"])("does not find the inherited name %s", (name) => {
    expect(headers.get(name)).toBeUndefined();
  });
});
