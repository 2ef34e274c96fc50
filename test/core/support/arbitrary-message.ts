/** Messages of any type, by its descriptor, with the values at which encoders go wrong. */
import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { isWrapperDesc, FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";

/** Lengths around those whose encoding takes one byte more. */
const EDGES = [126, 127, 128, 16_383, 16_384] as const;

const edges = fc.constantFrom(...EDGES);

/** Long runs are rare, since a message has many fields. */
function rarely<T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: rare });
}

/** Characters of one, two, three and four bytes, and halves of a surrogate pair, which are no text. */
const texts: fc.Arbitrary<string> = rarely(
  fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.array(fc.nat({ max: 0xffff }), { maxLength: 12 }).map((units) => String.fromCharCode(...units)),
  ),
  fc
    .tuple(fc.constantFrom("a", "é", "漢", "😀", "\ud800", "\udfff"), edges)
    .map(([character, length]) => character.repeat(length / character.length)),
);

const blobs: fc.Arbitrary<Uint8Array> = rarely(
  fc.uint8Array({ maxLength: 20 }),
  edges.map((length) => new Uint8Array(length).fill(length)),
);

function whole(min: number, max: number): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max, 0, 127, 128, 16_384));
}

function long(min: bigint, max: bigint): fc.Arbitrary<bigint> {
  return fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, 0n, 127n, 128n, 2n ** 32n));
}

const int32 = whole(-(2 ** 31), 2 ** 31 - 1);
const uint32 = whole(0, 2 ** 32 - 1);
const int64 = long(-(2n ** 63n), 2n ** 63n - 1n);
const uint64 = long(0n, 2n ** 64n - 1n);

const scalars: Readonly<Record<ScalarType, fc.Arbitrary<string | number | bigint | boolean | Uint8Array>>> = {
  [ScalarType.STRING]: texts,
  [ScalarType.BYTES]: blobs,
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.DOUBLE]: fc.oneof(fc.double(), fc.constant(-0)),
  [ScalarType.FLOAT]: fc.oneof(fc.float(), fc.constant(-0)),
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: int32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: int64,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: uint64,
};

const unknownFields = fc.array(
  fc.record({
    no: fc.oneof(fc.integer({ min: 500_000_000, max: 2 ** 29 - 1 }), fc.constant(2 ** 29 - 1)),
    wireType: fc.constant(WireType.LengthDelimited),
    data: fc.uint8Array({ maxLength: 20 }).map((bytes) => Uint8Array.of(bytes.length, ...bytes)),
  }),
  { minLength: 1, maxLength: 2 },
);

/** Messages of a type, nested at most to the given depth. */
export function arbitraryMessage(desc: DescMessage, depth = 3): fc.Arbitrary<Message> {
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  for (const field of desc.fields) {
    if (field.oneof === undefined && isReached(field, depth))
      members[field.localName] = arbitraryField(field, depth);
  }
  for (const { localName, fields } of desc.oneofs) {
    const cases = fields.filter((field) => isReached(field, depth));
    const selected = cases.map((field) =>
      arbitraryElement(field, depth).map((value) => ({ case: field.localName, value })),
    );
    members[localName] = fc.oneof(fc.constant({ case: undefined }), ...selected);
  }
  const fields = fc.record(members, { requiredKeys: getRequired(desc) });
  return fc.tuple(fields, rarely(fc.constant(undefined), unknownFields)).map(([init, $unknown]) => {
    const message: Message = create(desc, init as MessageInitShape<DescMessage>);
    if ($unknown !== undefined) message.$unknown = $unknown;
    return message;
  });
}

function isReached(field: DescField, depth: number): boolean {
  return depth > 0 || field.message === undefined || field.presence === Presence.LEGACY_REQUIRED;
}

function getRequired(desc: DescMessage): string[] {
  return desc.fields
    .filter(({ presence }) => presence === Presence.LEGACY_REQUIRED)
    .map(({ localName }) => localName);
}

function arbitraryField(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const element = arbitraryElement(field, depth);
  if (field.fieldKind === "list") return fc.array(element, { maxLength: 3 });
  if (field.fieldKind !== "map") return element;
  return fc
    .array(fc.tuple(scalars[field.mapKey], element), { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries.map(([key, value]) => [String(key), value])));
}

/** One value, in the form that a message holds it in: some well-known types have a special form. */
function arbitraryElement(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const { message } = field;
  if (message === undefined) return arbitraryScalar(field);
  if (message.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value") {
    return fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
  }
  const [wrapped] = message.fields;
  if (isWrapperDesc(message) && wrapped && field.fieldKind === "message" && field.oneof === undefined) {
    return arbitraryScalar(wrapped);
  }
  return arbitraryMessage(message, depth - 1);
}

function arbitraryScalar(field: DescField): fc.Arbitrary<unknown> {
  if (field.enum !== undefined) {
    const declared = fc.constantFrom(...field.enum.values.map(({ number }) => number));
    return field.enum.open ? fc.oneof(declared, int32) : declared;
  }
  const values = scalars[field.scalar ?? ScalarType.INT32];
  return "longAsString" in field && field.longAsString ? values.map(String) : values;
}
