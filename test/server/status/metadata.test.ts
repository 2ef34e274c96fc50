import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Metadata } from "../../../src/server/status/metadata.ts";

/** The calls that both support, so that Node's Headers gives the expected result. */
function facts(headers: Headers): unknown {
  const visited: string[] = [];
  headers.forEach((value, name) => {
    visited.push(`${name}: ${value}`);
  });
  return {
    entries: [...headers],
    keys: [...headers.keys()],
    values: [...headers.values()],
    visited,
    copied: [...new Headers([...headers])],
  };
}

const name = fc.constantFrom("x-a", "X-A", "x-b", "Trace-Bin", "accept", "Set-Cookie");
const value = fc.constantFrom("1", "two", " padded ", "", "a, b", "é");
const step = fc.oneof(
  fc.tuple(fc.constant("set" as const), name, value),
  fc.tuple(fc.constant("append" as const), name, value),
  fc.tuple(fc.constant("delete" as const), name, fc.constant("")),
);

describe("Metadata", () => {
  it("answers as Headers does after any steps", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const [ours, theirs] = [new Metadata(), new Headers()];
        for (const [method, key, text] of steps) {
          ours[method](key, text);
          theirs[method](key, text);
        }
        expect(facts(ours)).toEqual(facts(theirs));
        for (const key of ["x-a", "X-B", "trace-bin", "none"]) {
          expect([ours.get(key), ours.has(key)]).toEqual([theirs.get(key), theirs.has(key)]);
        }
      }),
    );
  });

  it.each([
    ["", "x"],
    ["a b", "x"],
    ["a:b", "x"],
    ["é", "x"],
    ["ok", "line\nbreak"],
    ["ok", "nul\0"],
    ["ok", "\u{1f600}"],
  ])("rejects %j: %j, like Headers", (key, text) => {
    expect(() => new Headers().set(key, text)).toThrow(TypeError);
    expect(() => new Metadata().set(key, text)).toThrow(TypeError);
    expect(() => new Metadata().append(key, text)).toThrow(TypeError);
  });

  it("reads the headers of a request, without HTTP/2's pseudo-headers", () => {
    const metadata = Metadata.from({ ":path": "/x", "x-a": "1", "set-cookie": ["a", "b"], gone: undefined });
    expect([...metadata]).toEqual([
      ["set-cookie", "a"],
      ["set-cookie", "b"],
      ["x-a", "1"],
    ]);
    expect(metadata.getSetCookie()).toEqual(["a", "b"]);
  });

  it("is sent with one field for each value", () => {
    const metadata = new Metadata();
    metadata.append("x-a", "1");
    metadata.append("X-A", "2");
    metadata.append("x-b", "3");
    const headers = { ":status": 200 };
    metadata.writeTo(headers);
    expect(headers).toEqual({ ":status": 200, "x-a": ["1", "2"], "x-b": "3" });
  });
});
