import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StatusSchema } from "../../../src/gen/google/rpc/status_pb.ts";
import { InferenceErrorSchema } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { ListRunsRequestSchema } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { binaryCodec, jsonCodec } from "../../../src/server/requests/codec.ts";

const MANY = 1_000_000;

function countElements(desc: DescMessage, bytes: Uint8Array, max: number): number {
  return binaryCodec(desc).countElements(bytes, max);
}

function toBytes(request: MessageInitShape<typeof RequestSchema>): Uint8Array {
  return toBinary(RequestSchema, create(RequestSchema, request));
}

function getCode(count: () => unknown): Code | undefined {
  try {
    count();
    return undefined;
  } catch (error) {
    if (error instanceof ConnectError) return error.code;
    throw error;
  }
}

describe("countElements()", () => {
  it("counts the fields of a message and of those in it", () => {
    expect(countElements(RequestSchema, toBytes({}), MANY)).toBe(0);
    expect(countElements(RequestSchema, toBytes({ model: "m" }), MANY)).toBe(1);
    const text = { part: { case: "text", value: "a long text is one element" } } as const;
    const message = { role: Role.USER, content: [text, text] };
    // For each message: itself, role, two parts and their texts.
    expect(countElements(RequestSchema, toBytes({ messages: [message, message] }), MANY)).toBe(12);
  });

  it("counts the entries of a map, with their keys and values", () => {
    expect(countElements(RequestSchema, toBytes({ metadata: { a: "1", b: "2" } }), MANY)).toBe(6);
  });

  it("counts the fields of messages in a map", () => {
    const struct = create(StructSchema, { fields: { a: { kind: { case: "numberValue", value: 1 } } } });
    expect(countElements(StructSchema, toBinary(StructSchema, struct), MANY)).toBe(1 + 2 + 1);
  });

  it("counts fields that the schema does not know", () => {
    expect(countElements(RequestSchema, Buffer.alloc(1000, Buffer.from([0x78, 1])), MANY)).toBe(500);
    // A group of one field: its beginning, the field and its end.
    expect(countElements(RequestSchema, Buffer.from([0xf3, 0x07, 0x08, 1, 0xf4, 0x07]), MANY)).toBe(3);
  });

  it("counts the values of JSON texts", () => {
    const json = JSON.stringify({ a: [{}, {}, "x"] });
    const options = { openai: json, gemini: json };
    // For the map: two entries with key and value each.
    expect(countElements(RequestSchema, toBytes({ providerOptionsJson: options }), MANY)).toBe(6 + 2 * 6);
    const call = { id: "a", input: { case: "argumentsJson", value: json } } as const;
    const message = { content: [{ part: { case: "toolCall" as const, value: call } }] };
    expect(countElements(RequestSchema, toBytes({ messages: [message] }), MANY)).toBe(5 + 6);
    expect(getCode(() => countElements(RequestSchema, toBytes({ providerOptionsJson: options }), 12))).toBe(
      Code.ResourceExhausted,
    );
  });

  it("counts the values of a packed list", () => {
    const bytes = toBinary(ListRunsRequestSchema, create(ListRunsRequestSchema, { statuses: [1, 2, 3] }));
    expect(countElements(ListRunsRequestSchema, bytes, MANY)).toBe(1 + 3);
  });

  it("does not look into texts and bytes", () => {
    const text = "[1,2,3]";
    expect(countElements(RequestSchema, toBytes({ model: text, stopSequences: [text] }), MANY)).toBe(2);
    expect(countElements(RequestSchema, toBytes({ metadata: { a: text } }), MANY)).toBe(3);
    const nested = Buffer.alloc(1000, Buffer.from([0x12, 0]));
    expect(
      countElements(
        StatusSchema,
        toBinary(
          StatusSchema,
          create(StatusSchema, {
            details: [{ typeUrl: "t", value: nested }],
          }),
        ),
        MANY,
      ),
    ).toBe(3);
  });

  it("stops at the limit and names it", () => {
    const bytes = Buffer.alloc(2 * MANY, Buffer.from([0x12, 0]));
    expect(countElements(RequestSchema, bytes.subarray(0, 20), 10)).toBe(10);
    expect(() => countElements(RequestSchema, bytes, 10)).toThrow(
      "expected at most 10 fields and values (limits.max_message_elements)",
    );
    expect(getCode(() => countElements(RequestSchema, bytes, 10))).toBe(Code.ResourceExhausted);
  });

  it("accepts nesting of any depth", () => {
    let bytes = Buffer.alloc(0);
    for (let depth = 0; depth < 2000; depth++) {
      bytes = Buffer.concat([Buffer.from([CAUSE_TAG]), getLength(bytes.length), bytes]);
    }
    expect(countElements(InferenceErrorSchema, bytes, MANY)).toBe(2000);
  });

  it.each([
    ["a text", [0x12, 3, 1, 2, 3]],
    ["a number of eight bytes", [0x09, 1, 2, 3, 4, 5, 6, 7, 8]],
    ["a number of four bytes", [0x0d, 1, 2, 3, 4]],
  ])("refuses %s that ends beyond its message", (_what, field) => {
    const bytes = Buffer.from([CAUSE_TAG, 2, ...field]);
    expect(getCode(() => countElements(InferenceErrorSchema, bytes, MANY))).toBe(Code.InvalidArgument);
  });

  it("reads the lower 32 bits of longer numbers, as the decoder does", () => {
    const model = [0x0a, 0x81, 0x80, 0x80, 0x80, 0x80, 0x02, 0x6d];
    expect(fromBinary(RequestSchema, Buffer.from(model)).model).toBe("m");
    expect(countElements(RequestSchema, Buffer.from([...model, ...model]), MANY)).toBe(2);
  });

  it("accepts every message that the decoder accepts, and never counts fewer elements than it creates", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        let decoded: unknown;
        try {
          decoded = fromBinary(RequestSchema, bytes, { readUnknownFields: false });
        } catch {
          return;
        }
        // A message that ends beyond its parent is accepted by the decoder alone.
        const code = getCode(() => countElements(RequestSchema, bytes, MANY));
        if (code !== undefined) return;
        expect(countElements(RequestSchema, bytes, MANY)).toBeGreaterThanOrEqual(objectsIn(decoded) - 1);
      }),
      { numRuns: 5000 },
    );
  });

  it("ends for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect([undefined, Code.InvalidArgument]).toContain(
          getCode(() => countElements(RequestSchema, bytes, MANY)),
        );
      }),
      { numRuns: 5000 },
    );
  });
});

/** The tag of `InferenceError.cause`, which is an InferenceError. */
const CAUSE_TAG = 0x42;

function getLength(bytes: number): Buffer {
  const result: number[] = [];
  let rest = bytes;
  for (; rest > 0x7f; rest >>>= 7) result.push((rest & 0x7f) | 0x80);
  return Buffer.from([...result, rest]);
}

/** Messages in a decoded message, itself included. */
function objectsIn(value: unknown): number {
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return 0;
  const inside = Object.values(value).reduce((sum: number, item) => sum + objectsIn(item), 0);
  return inside + ("$typeName" in value ? 1 : 0);
}

describe("a codec of JSON", () => {
  const codec = jsonCodec(RequestSchema, { ignoreUnknownFields: false });
  const SECRET = 'tell "no" one';
  const QUOTED = JSON.stringify(SECRET);

  function toProblem(json: string): string {
    try {
      codec.decode(Buffer.from(json));
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.InvalidArgument) return error.rawMessage;
    }
    throw new Error(`expected a refusal of ${json}`);
  }

  it("decodes a message", () => {
    expect(codec.decode(Buffer.from('{"model":"m"}'))).toMatchObject({ model: "m" });
  });

  it("decodes names with escapes, whatever names other callers have sent", () => {
    codec.decode(Buffer.from('{"metadata":{"tea":"w","caf\\\\":"x"}}'));
    const decoded = codec.decode(Buffer.from('{"metadata":{"tea":"w","caf\\u00e9":"x"}}'));
    expect(decoded).toMatchObject({ metadata: { tea: "w", café: "x" } });
    expect(toProblem('{"metadata":{"\\n":"x","\\n":"y"}}')).toBe(
      "the request is not the JSON of outrigger.v1.Request",
    );
  });

  it.each([
    ["a text in the place of parts", `{"messages":[{"content":${QUOTED}}]}`],
    ["texts in the place of parts", `{"messages":[{"content":[${QUOTED}]}]}`],
    ["a text in the place of messages", `{"messages":${QUOTED}}`],
    ["a text in the place of a number", `{"maxTokens":${QUOTED}}`],
    ["a text in the place of a map", `{"metadata":${QUOTED}}`],
    ["a text in the place of a duration", `{"timeouts":{"request":${QUOTED}}}`],
    ["a text in the place of a role", `{"messages":[{"role":${QUOTED}}]}`],
    ["a text without quotes", `{"messages":[{"content":[{"text":${SECRET}}]}]}`],
    ["a text alone", SECRET],
    [
      "a text that is too long to be searched",
      `{"messages":"${SECRET.replaceAll('"', "")}${"x".repeat(5_000_000)}"}`,
    ],
  ])("does not repeat %s", (_, body) => {
    const problem = toProblem(body);
    for (const word of ["tell", "no\\", 'one"', '"no']) expect(problem).not.toContain(word);
  });

  it("names the field, what was found and what was expected", () => {
    expect(toProblem('{"messages":[{"content":"Hello"}]}')).toContain(
      "messages[0].content: expected an array, found a string of length 5",
    );
    expect(toProblem('{"messages":[{"role":"user"}]}')).toMatch(/expected one of .*ROLE_USER.*found "user"/);
    expect(toProblem('{"model":"m", x}')).toBe("the request is not valid JSON at line 1, column 15");
    expect(toProblem('{"model":\n"m", x}')).toBe("the request is not valid JSON at line 2, column 6");
    expect(toProblem('{"model":"m"')).toBe("the request is not valid JSON at line 1, column 13");
    expect(toProblem('{"model":')).toBe("the request is not valid JSON at its end");
  });
});

describe("a codec of protobuf's binary format", () => {
  it("rejects bytes that are not a message as the caller's mistake", () => {
    expect(() => binaryCodec(RequestSchema).decode(Buffer.from([0x0a, 9, 1]))).toThrow(
      expect.objectContaining({ code: Code.InvalidArgument }),
    );
  });
});
