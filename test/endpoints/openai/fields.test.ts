import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { Fields, joinWords, parseBody, quote } from "../../../src/endpoints/openai/fields.ts";

function parse(body: object | string): Fields {
  return parseBody(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}

/** Returns the error that a reading throws, as `code message`. */
function getFailure(read: () => unknown): string {
  try {
    read();
  } catch (thrown) {
    if (!(thrown instanceof InvalidRequestError)) throw thrown;
    const [violation] = thrown.violations;
    if (violation !== undefined) expect(thrown.message).toBe(`${violation.field}: ${violation.description}`);
    return `${thrown.errorCode} ${thrown.message}`;
  }
  throw new Error("expected an error");
}

describe("parseBody()", () => {
  it.each([
    ["", "invalid_value expected a JSON object as the body, found nothing"],
    [
      '{"a":1,}',
      "invalid_value expected a JSON object as the body, found text that is not JSON at line 1, column 8",
    ],
    ['{"a":', "invalid_value expected a JSON object as the body, found text that is not JSON at its end"],
    ["[]", "invalid_type expected a JSON object as the body, found a list"],
    ["null", "invalid_type expected a JSON object as the body, found null"],
    ['"a"', "invalid_type expected a JSON object as the body, found a text"],
    ["1", "invalid_type expected a JSON object as the body, found a number"],
    ["true", "invalid_type expected a JSON object as the body, found true"],
  ])("refuses %j", (body, failure) => {
    expect(getFailure(() => parse(body))).toBe(failure);
  });

  it("refuses bytes that are not UTF-8", () => {
    const bytes = new Uint8Array([0x7b, 0xff, 0x7d]);
    expect(getFailure(() => parseBody(bytes))).toBe(
      "invalid_value expected a body of JSON in UTF-8, found other bytes",
    );
  });

  it("accepts 256 levels, and no more", () => {
    const nested = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    expect(parse(nested(256)).has("a")).toBe(true);
    expect(getFailure(() => parse(nested(257)))).toBe(
      "invalid_value expected at most 256 levels of JSON in the body, found more",
    );
  });
});

describe("Fields", () => {
  const fields = parse({
    text: "hello",
    half: "\ud800",
    yes: true,
    no: false,
    number: 1.5,
    whole: 7,
    huge: 99_999_999_999,
    none: null,
    list: ["a", 1, null, { b: [2.0] }],
    texts: { a: "b" },
    mixed: { a: "b", c: 1 },
    object: { inner: { x: "y" } },
  });

  it("has the fields that are set", () => {
    expect(["text", "none", "missing", "toString"].map((name) => fields.has(name))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(fields.get("none")).toBeUndefined();
    expect(fields.get("toString")).toBeUndefined();
  });

  it("reads values of the right type", () => {
    expect(fields.string("text", { min: 5, max: 5 })).toBe("hello");
    expect(fields.requireString("text")).toBe("hello");
    expect([fields.boolean("yes"), fields.boolean("no")]).toEqual([true, false]);
    expect(fields.number("number", { min: 1.5, max: 1.5 })).toBe(1.5);
    expect(fields.integer("whole", { min: 7, max: 7 })).toBe(7);
    expect(fields.word("text", ["bye", "hello"])).toBe("hello");
    expect(fields.texts("texts")).toEqual({ a: "b" });
    expect(fields.object("object")?.object("inner")?.string("x")).toBe("y");
    expect(fields.list("list", { min: 4, max: 4 })).toHaveLength(4);
    expect(parse({ list: ["a", "b"] }).strings("list")).toEqual(["a", "b"]);
  });

  it("reads absent fields as undefined, and null like an absent field", () => {
    for (const name of ["missing", "none"])
      expect([
        fields.string(name, { min: 1 }),
        fields.boolean(name),
        fields.number(name),
        fields.integer(name, { min: 1 }),
        fields.word(name, ["a"]),
        fields.object(name),
        fields.list(name, { min: 1 }),
        fields.strings(name),
        fields.texts(name),
      ]).toEqual(Array.from({ length: 9 }, () => undefined));
  });

  it.each<[string, (body: Fields) => unknown]>([
    ["invalid_type whole: expected a text, found a number", (body) => body.string("whole")],
    ["invalid_value half: contains an unpaired surrogate", (body) => body.string("half")],
    [
      "invalid_value text: expected at least 6 characters, found 5",
      (body) => body.string("text", { min: 6 }),
    ],
    ["invalid_value text: expected at most 4 characters, found 5", (body) => body.string("text", { max: 4 })],
    [
      "missing_required_parameter missing: is missing, expected a text",
      (body) => body.requireString("missing"),
    ],
    ["invalid_type text: expected true or false, found a text", (body) => body.boolean("text")],
    ["invalid_type yes: expected a number, found true", (body) => body.number("yes")],
    ["invalid_type no: expected a number, found false", (body) => body.number("no")],
    [
      "invalid_value number: expected a number from 0 to 1, found 1.5",
      (body) => body.number("number", { min: 0, max: 1 }),
    ],
    [
      "invalid_value number: expected a number from 2, found 1.5",
      (body) => body.number("number", { min: 2 }),
    ],
    ["invalid_type number: expected a whole number, found 1.5", (body) => body.integer("number")],
    ["invalid_value whole: expected a number from 8, found 7", (body) => body.integer("whole", { min: 8 })],
    [
      "invalid_value huge: expected a number from 8 to 2147483647, found 99999999999",
      (body) => body.integer("huge", { min: 8 }),
    ],
    [
      "invalid_type whole: expected a text or a list of parts, found a number",
      (body) => body.list("whole", {}, "a text or a list of parts"),
    ],
    [
      "invalid_value whole: expected a number from 1 to 6, found 7",
      (body) => body.integer("whole", { min: 1, max: 6 }),
    ],
    [
      'invalid_value text: expected "a", "b" or "c", found "hello"',
      (body) => body.word("text", ["a", "b", "c"]),
    ],
    ["invalid_type list: expected an object, found a list", (body) => body.object("list")],
    ["invalid_type text: expected a list, found a text", (body) => body.list("text")],
    ["invalid_type object: expected a list, found an object", (body) => body.list("object")],
    ["invalid_value list: expected at most 3 elements, found 4", (body) => body.list("list", { max: 3 })],
    ["invalid_value list: expected at least 5 elements, found 4", (body) => body.list("list", { min: 5 })],
    ["invalid_type list[1]: expected a text, found a number", (body) => body.strings("list")],
    ["invalid_type mixed.c: expected a text, found a number", (body) => body.texts("mixed")],
    ["invalid_type list[0]: expected an object, found a text", (body) => readElement(body, 0)],
    ["invalid_type list[2]: expected an object, found null", (body) => readElement(body, 2)],
    ["invalid_type list[3].b: expected a text, found a list", (body) => readElement(body, 3).string("b")],
    [
      "missing_required_parameter object.inner.z: is missing, expected a text",
      (body) => body.object("object")?.object("inner")?.requireString("z"),
    ],
  ])("fails with %s", (failure, read) => {
    expect(getFailure(() => read(fields))).toBe(failure);
  });

  it("has numbers of 32 bits at most as whole numbers", () => {
    const body = parse({ high: 2 ** 31, low: -(2 ** 31), top: 2 ** 31 - 1 });
    expect(body.integer("top")).toBe(2 ** 31 - 1);
    expect(getFailure(() => body.integer("high"))).toContain("found 2147483648");
    expect(getFailure(() => body.integer("low"))).toContain("found -2147483648");
  });

  it("knows how each value is spelled in the body", () => {
    const body = parse('{ "object": { "2": 1.0, "1": [ 2.50 ] }, "list": [ 1.0, { "b": 1e2 } ], "a": null }');
    expect(body.spelled("object")).toBe('{ "2": 1.0, "1": [ 2.50 ] }');
    expect(body.spelled("missing")).toBe("");
    expect(body.object("object")?.text()).toBe('{ "2": 1.0, "1": [ 2.50 ] }');
    expect(body.object("object")?.spelled("1")).toBe("[ 2.50 ]");
    expect(body.list("list")?.map(({ text }) => text())).toEqual(["1.0", '{ "b": 1e2 }']);
    expect(body.list("list")?.map(({ path }) => path)).toEqual(["list[0]", "list[1]"]);
  });
});

function readElement(body: Fields, index: number): Fields {
  const element = body.list("list")?.[index];
  if (element === undefined) throw new Error(`expected an element ${index}`);
  return Fields.of(element);
}

describe("The texts of errors", () => {
  it("quote at most 64 characters of what the caller wrote", () => {
    expect(quote("a".repeat(64))).toBe(JSON.stringify("a".repeat(64)));
    expect(quote("a".repeat(65))).toBe(JSON.stringify(`${"a".repeat(64)}…`));
  });

  it("join the expected words", () => {
    expect(joinWords(["a"])).toBe('"a"');
    expect(joinWords(["a", "b"])).toBe('"a" or "b"');
    expect(joinWords(["a", "b", "c"])).toBe('"a", "b" or "c"');
  });
});
