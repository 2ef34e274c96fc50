import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  create,
  type DescMessage,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { sizeDelimitedEncode } from "@bufbuild/protobuf/wire";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toDelimitedEncoder, toMessageEncoder } from "../../src/core/message-encoder.ts";
import { ByteSink, SLAB_BYTES } from "../../src/core/scalar-formats.ts";
import { type InferenceError, InferenceErrorSchema } from "../../src/gen/outrigger/v1/error_pb.ts";
import { StreamEventSchema, TextDeltaSchema } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { arbitraryMessage } from "./support/arbitrary-message.ts";
import { everyKind, kindsType } from "./support/every-kind.ts";

const generated = fileURLToPath(new URL("../../src/gen", import.meta.url));

function typesIn(module: object): DescMessage[] {
  return Object.values(module).filter((value): value is DescMessage => value?.kind === "message");
}

const modules = readdirSync(generated, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith("_pb.ts"),
);
const served = (await Promise.all(modules.map((name) => import(`${generated}/${name}`)))).flatMap(typesIn);

/** Encodes with a sink whose slab has the given number of bytes left. */
function encode(desc: DescMessage, message: Message, left: number = SLAB_BYTES): Buffer {
  const sink = new ByteSink();
  sink.reserve(SLAB_BYTES);
  sink.position = SLAB_BYTES - left;
  sink.start();
  toMessageEncoder(desc)(message, sink);
  return sink.take();
}

function expectSame(found: Uint8Array, expected: Uint8Array): void {
  // Converting equal bytes to hex would take longer than the rest of the test.
  if (Buffer.compare(found, expected) === 0) return;
  expect(Buffer.from(found).toString("hex")).toBe(Buffer.from(expected).toString("hex"));
}

function expectLikeToBinary(desc: DescMessage, numRuns: number): void {
  fc.assert(
    fc.property(arbitraryMessage(desc), fc.nat({ max: 40 }), (message, left) => {
      const bytes = toBinary(desc, message);
      expectSame(encode(desc, message), bytes);
      expectSame(encode(desc, message, left), bytes);
      const decoded = fromBinary(desc, bytes);
      expectSame(encode(desc, decoded), toBinary(desc, decoded));
    }),
    { numRuns },
  );
}

/** How often the type of a message is read while it is encoded: once, or again by `toBinary`. */
function typeReads(desc: DescMessage, message: Message): number {
  let reads = 0;
  const watched = Object.defineProperty({ ...message }, "$typeName", {
    get() {
      reads++;
      return message.$typeName;
    },
  });
  encode(desc, watched);
  return reads;
}

/** Bytes as hex, or the error that was thrown in their place. */
function toOutcome(action: () => Uint8Array): string {
  try {
    return Buffer.from(action()).toString("hex");
  } catch (error) {
    return error instanceof Error ? `${error.constructor.name} ${error}` : `not an error: ${error}`;
  }
}

describe("toMessageEncoder()", () => {
  it("is tested with the types that are served", () => {
    const names = served.map(({ typeName }) => typeName);
    expect(names).toEqual(
      expect.arrayContaining([
        "outrigger.v1.StreamEvent",
        "grpc.health.v1.HealthCheckResponse",
        "google.rpc.Status",
      ]),
    );
  });

  it.each(served)("writes $typeName as toBinary does", (desc) => expectLikeToBinary(desc, 20));

  it.each(typesIn(wellKnown))("writes $typeName as toBinary does", (desc) => expectLikeToBinary(desc, 10));

  it.each(everyKind)("writes $typeName, with fields of every kind, as toBinary does", (desc) =>
    expectLikeToBinary(desc, 100),
  );

  it.each([...served, ...["Plain", "Optional", "Mapped"].map((name) => kindsType(`kinds.${name}`))])(
    "does not need toBinary for $typeName",
    (desc) => {
      fc.assert(
        fc.property(arbitraryMessage(desc), (message) => {
          expect(typeReads(desc, message)).toBe(1);
        }),
        { numRuns: 10 },
      );
    },
  );

  it("compiles an encoder once", () => {
    expect(toMessageEncoder(StreamEventSchema)).toBe(toMessageEncoder(StreamEventSchema));
  });

  it("writes many messages into one chunk, over the ends of slabs", () => {
    fc.assert(
      fc.property(fc.array(arbitraryMessage(StreamEventSchema, 4), { maxLength: 30 }), (events) => {
        const sink = new ByteSink();
        sink.start();
        for (const event of events) toMessageEncoder(StreamEventSchema)(event, sink);
        const expected = events.map((event) => toBinary<DescMessage>(StreamEventSchema, event));
        expectSame(sink.take(), Buffer.concat(expected));
      }),
      { numRuns: 50 },
    );
  });

  it("takes object literals", () => {
    const event: Message & Record<string, unknown> = {
      $typeName: "outrigger.v1.StreamEvent",
      sequence: 3,
      elapsedMs: 0,
      event: {
        case: "textDelta",
        value: { $typeName: "outrigger.v1.TextDelta", partIndex: 0, delta: "hi" },
      },
    };
    expect(encode(StreamEventSchema, event).toString("hex")).toBe("0803620412026869");
  });

  it("reserves space for lengths of any size, after values of any size", () => {
    const lengths = [1, 127, 2, 128, 16_379, 16_384, 0, 2_097_152, 5, 16_383, 129];
    for (const length of lengths) {
      for (const character of ["a", "é", "\ud800"]) {
        const event = create(StreamEventSchema, {
          event: { case: "textDelta", value: { delta: character.repeat(length) } },
        });
        expectSame(encode(StreamEventSchema, event), toBinary(StreamEventSchema, event));
      }
    }
  });

  it("makes space at the end of a slab for any value", () => {
    const short = create(StreamEventSchema, { event: { case: "textDelta", value: { delta: "a" } } });
    const long = create(StreamEventSchema, {
      event: { case: "textDelta", value: { delta: "a".repeat(130) } },
    });
    const plain = kindsType("kinds.Plain");
    const fields = {
      lastInt32: -1,
      lastString: "text",
      lastBytes: new Uint8Array(130),
      lastMessage: { $typeName: "kinds.Leaf", text: "" },
    };
    for (let left = 0; left < 200; left++) {
      // The next length is expected to be short.
      encode(StreamEventSchema, short);
      expectSame(encode(StreamEventSchema, long, left), toBinary(StreamEventSchema, long));
      for (const [name, value] of Object.entries(fields)) {
        const message = { ...create(plain), [name]: value };
        expectSame(encode(plain, message, left), toBinary(plain, message));
      }
    }
  });

  it("writes types that hold themselves, however deep", () => {
    let error: InferenceError = create(InferenceErrorSchema, { message: "the first" });
    for (let depth = 0; depth < 500; depth++) {
      error = create(InferenceErrorSchema, { message: "x".repeat(depth), cause: error });
      if (depth % 100 < 2)
        expectSame(encode(InferenceErrorSchema, error), toBinary(InferenceErrorSchema, error));
    }
  });

  it("stays right when V8 has optimised it", () => {
    const texts = Array.from({ length: 40 }, (_, n) =>
      `${"aé漢"[n % 3]?.repeat(n)}\u{1f600}`.slice(n % 2, n + 1),
    );
    const events = texts.map((delta, partIndex) => create(TextDeltaSchema, { delta, partIndex }));
    const expected = Buffer.concat(events.map((event) => toBinary(TextDeltaSchema, event)));
    const sink = new ByteSink();
    for (let round = 0; round < 1000; round++) {
      sink.start();
      for (const event of events) toMessageEncoder(TextDeltaSchema)(event, sink);
      expectSame(sink.take(), expected);
    }
  });

  it("keeps the bits of a NaN as toBinary does", () => {
    const plain = kindsType("kinds.Plain");
    const number = plain.field.double?.number ?? 0;
    const quiet = Buffer.from("010000000000f8ff", "hex");
    const message = fromBinary(
      plain,
      Buffer.concat([Buffer.of((((number << 3) | 1) & 0x7f) | 0x80, number >> 4), quiet]),
    );
    expectSame(encode(plain, message), toBinary(plain, message));
  });
});

describe("toMessageEncoder() for a value that does not fit its type", () => {
  const plain = kindsType("kinds.Plain");
  const wrong: readonly (readonly [string, unknown])[] = [
    ["int32", 2 ** 31],
    ["int32", 1.5],
    ["int32", "text"],
    ["int32", 5n],
    ["int32", Number.NaN],
    ["int32", undefined],
    ["uint32", -1],
    ["uint32", 2 ** 32],
    ["sint32", -(2 ** 31) - 1],
    ["fixed32", 0.5],
    ["sfixed32", "0.5"],
    ["int64", 2n ** 63n],
    ["int64", "text"],
    ["uint64", -1n],
    ["sint64", -(2n ** 63n) - 1n],
    ["fixed64", 2n ** 64n],
    ["float", 1e39],
    ["float", "text"],
    ["enum", 2 ** 31],
    ["bytes", undefined],
    ["bytes", "text"],
    ["message", null],
    ["message", {}],
    ["message", create(TextDeltaSchema)],
    ["int32List", [1, 2, 2 ** 31]],
    ["int32List", undefined],
    ["messageList", [create(TextDeltaSchema)]],
    ["choice", undefined],
    ["choice", { case: "int32Case", value: "text" }],
  ];
  const unusual: readonly (readonly [string, unknown])[] = [
    ["int32", "-12"],
    ["uint32", "300"],
    ["int32", -0],
    ["int64", 12],
    ["int64", "-12"],
    ["uint64", "0"],
    ["float", "1.5"],
    ["double", "1.5"],
    ["bool", 1],
    ["string", 12],
    ["string", undefined],
    ["enum", "300"],
    ["messageList", [undefined]],
    ["choice", { case: "messageCase" }],
    ["choice", { case: "another", value: 1 }],
  ];

  it.each(wrong)("rejects %s %o with the error of toBinary, and leaves the sink unchanged", (name, value) => {
    const message = { ...create(plain), string: "before", [name]: value };
    const sink = new ByteSink();
    sink.start();
    toMessageEncoder(TextDeltaSchema)(create(TextDeltaSchema, { delta: "kept" }), sink);
    const rejected = toOutcome(() => {
      toMessageEncoder(plain)(message, sink);
      return sink.take();
    });
    expect(rejected).toMatch(/Error/);
    expect(rejected).toBe(toOutcome(() => toBinary(plain, message)));
    expect(sink.take().toString()).toBe("\x12\x04kept");
  });

  it.each(unusual)("takes %s %o as toBinary does", (name, value) => {
    const message = { ...create(plain), string: "before", [name]: value };
    expectSame(encode(plain, message), toBinary(plain, message));
  });

  it("rejects a message of another type, and one without a required field", () => {
    const legacy = kindsType("legacy.Legacy");
    const inner = { inner: {} } as MessageInitShape<DescMessage>;
    const cases: readonly (readonly [DescMessage, Message])[] = [
      [StreamEventSchema, create(TextDeltaSchema)],
      [legacy, create(legacy)],
      [legacy, create(legacy, { ...inner, id: "set" } as MessageInitShape<DescMessage>)],
    ];
    for (const [desc, message] of cases) {
      const rejected = toOutcome(() => encode(desc, message));
      expect(rejected).toMatch(/Error/);
      expect(rejected).toBe(toOutcome(() => toBinary(desc, message)));
    }
  });

  it("takes JSON that looks like a message for JSON", () => {
    const json = kindsType("kinds.Json");
    const struct = { $typeName: "google.protobuf.Struct", fields: {} };
    const message: Message & Record<string, unknown> = { ...create(json), struct };
    expectSame(encode(json, message), toBinary(json, message));
  });

  it("takes map keys as toBinary does", () => {
    const mapped = kindsType("kinds.Mapped");
    const keys = [
      "1",
      "-1",
      "+1",
      " 1",
      "1.5",
      "1x",
      "0x10",
      "1e3",
      "",
      "x",
      "true",
      "false",
      "9223372036854775808",
    ];
    for (const name of mapped.fields
      .map(({ localName }) => localName)
      .filter((name) => name.startsWith("from"))) {
      for (const key of keys) {
        const message = create(mapped, { [name]: { [key]: "value" } } as MessageInitShape<DescMessage>);
        expect(toOutcome(() => encode(mapped, message))).toBe(toOutcome(() => toBinary(mapped, message)));
      }
    }
  });
});

describe("toDelimitedEncoder()", () => {
  it("writes the bytes of protobuf's delimited messages, of any length, one after the other", () => {
    const encode = toDelimitedEncoder(TextDeltaSchema);
    const lengths = [0, 1, 120, 130, 16_300, 16_400, 5, 2_100_000, 3];
    const messages = lengths.map((length) => create(TextDeltaSchema, { delta: "x".repeat(length) }));
    const sink = new ByteSink();
    sink.start();
    for (const message of messages) encode(message, sink);
    const written = messages.map((message) => sizeDelimitedEncode(TextDeltaSchema, message));
    expect(sink.take().equals(Buffer.concat(written))).toBe(true);
  });
});
