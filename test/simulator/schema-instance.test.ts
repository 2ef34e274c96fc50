import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { textForPattern } from "../../simulator/script/pattern-text.ts";
import { createInstance } from "../../simulator/script/schema-instance.ts";
import { createSeededRandom } from "../../simulator/script/seeded-random.ts";

function instance(schema: unknown, seed = "seed"): unknown {
  const words = ["Paris", "Oslo", "Lima"];
  let next = 0;
  return createInstance(schema, {
    random: createSeededRandom(seed),
    nextWord: () => words[next++ % 3] ?? "Paris",
  });
}

const node: z.ZodType = z.object({
  name: z.string(),
  get children() {
    return z.array(node);
  },
});

describe("createInstance()", () => {
  it.each<[string, z.ZodType]>([
    [
      "an object with everything",
      z.object({
        text: z.string(),
        count: z.int(),
        size: z.number(),
        yes: z.boolean(),
        none: z.null(),
        maybe: z.string().nullable(),
        extra: z.string().optional(),
      }),
    ],
    [
      "limits of numbers",
      z.object({
        a: z.int().min(5).max(6),
        b: z.number().gt(0).lt(1),
        c: z.int().max(-3),
        d: z.number().multipleOf(7).min(10),
        e: z.int().gt(9).lt(11),
      }),
    ],
    ["limits of strings", z.object({ a: z.string().min(20), b: z.string().max(2), c: z.string().length(9) })],
    [
      "formats",
      z.object({
        a: z.email(),
        b: z.uuid(),
        c: z.iso.datetime(),
        d: z.iso.date(),
        e: z.ipv4(),
        f: z.url(),
        g: z.ipv6(),
      }),
    ],
    [
      "patterns",
      z.object({
        a: z.string().regex(/^[A-Z]{3}-\d{4}$/),
        b: z.string().regex(/^(cat|dog)s?$/),
        c: z.string().regex(/^\w+@[a-z.]+\.(com|org)$/),
      }),
    ],
    [
      "arrays",
      z.object({
        a: z.array(z.int()).min(3),
        b: z.array(z.string()).max(1),
        c: z.tuple([z.string(), z.int()]),
        d: z.array(z.int()).length(0),
      }),
    ],
    [
      "choices",
      z.object({
        a: z.enum(["x", "y"]),
        b: z.literal(7),
        c: z.union([z.int(), z.string()]),
        d: z.discriminatedUnion("t", [
          z.object({ t: z.literal("p"), p: z.int() }),
          z.object({ t: z.literal("q") }),
        ]),
      }),
    ],
    ["a record", z.record(z.string(), z.int())],
    ["an intersection", z.intersection(z.object({ a: z.int() }), z.object({ b: z.string() }))],
    ["a recursive schema", node],
    ["a bare string", z.string()],
  ])("builds a value that matches %s", (_, type) => {
    const schema = z.toJSONSchema(type);
    for (let seed = 0; seed < 25; seed += 1) {
      const made = instance(schema, String(seed));
      expect(type.safeParse(made), JSON.stringify(made)).toMatchObject({ success: true });
    }
  });

  it("fills in optional properties, and takes strings from the source's words", () => {
    const schema = {
      type: "object",
      properties: { city: { type: "string" }, other: { type: "string" } },
      required: ["city"],
    };
    expect(instance(schema)).toEqual({ city: "Paris", other: "Oslo" });
  });

  it("follows references into definitions", () => {
    const schema = {
      $defs: { "a/b": { enum: ["found"] } },
      type: "object",
      properties: { x: { $ref: "#/$defs/a~1b" } },
      required: ["x"],
    };
    expect(instance(schema)).toEqual({ x: "found" });
  });

  it.each([
    {},
    true,
    null,
    undefined,
    { type: "object" },
    { $ref: "#" },
    { $ref: "#/nowhere" },
    { enum: [] },
    { type: "object", properties: { a: { $ref: "#" }, b: { $ref: "#" } }, required: ["a", "b"] },
    { type: "array", items: { $ref: "#" }, minItems: 3 },
    { allOf: [{ $ref: "#" }] },
  ])("terminates for the unusual schema %j", (schema) => {
    expect(() => JSON.stringify(instance(schema))).not.toThrow();
  });

  it("terminates for any schema, and is deterministic", () => {
    const leaf = fc.oneof(
      fc.constantFrom(
        { type: "string" },
        { type: "integer" },
        { type: "null" },
        { enum: [1, "a"] },
        { $ref: "#" },
        true,
        false,
      ),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.record({
          type: fc.constant("object"),
          properties: fc.dictionary(fc.string({ maxLength: 3 }), tie("tree"), { maxKeys: 3 }),
          required: fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }),
        }),
        fc.record({ type: fc.constant("array"), items: tie("tree"), minItems: fc.nat(2) }),
        fc.record({ anyOf: fc.array(tie("tree"), { maxLength: 2 }) }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.string(), (schema, seed) => {
        expect(JSON.stringify(instance(schema, seed))).toBe(JSON.stringify(instance(schema, seed)));
      }),
      { numRuns: 200, seed: 7 },
    );
  });
});

describe("textForPattern()", () => {
  it.each([
    "^a+$",
    "^[^a-z]{2,4}$",
    "^\\d{3}(-\\d{2})?$",
    "x|y|z",
    "^[\\w.-]+$",
    "^#[0-9a-fA-F]{6}$",
    "^(?:ab)*c?$",
    "^(?<year>\\d{4})/\\d\\d$",
    "^[a-c\\]]$",
    "\\bword\\b",
    "",
  ])("matches %s", (pattern) => {
    for (let seed = 0; seed < 20; seed += 1) {
      const text = textForPattern(pattern, createSeededRandom(String(seed)));
      expect(text).toMatch(new RegExp(pattern, "u"));
    }
  });

  it.each(["^(?=a)b$", "(", "[a", "a{2", "\\p{L}", "(a)\\1"])("returns undefined for %s", (pattern) => {
    expect(textForPattern(pattern, createSeededRandom("seed"))).toBeUndefined();
  });
});
