import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  type Message,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { WireType } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import {
  type ByteSink,
  MAX_VARINT_BYTES,
  putVarint,
  type ScalarFormat,
  scalarFormats,
  UnusualValue,
  type ValueWriter,
  varintBytes,
  writeInt32,
  writeRaw,
  writeString,
} from "./scalar-formats.ts";

/**
 * Writes a message of one type into a sink: the same bytes as `toBinary`. Throws the same errors as `toBinary`, and
 * then leaves the sink unchanged.
 */
export type MessageEncoder = (message: Message, sink: ByteSink) => void;

/** A property of a message: a field, or the fields of a oneof with consecutive numbers. */
interface Property {
  readonly name: string;
  /** The value that is not written. */
  readonly unset: unknown;
  readonly write: ValueWriter;
}

/** Differs from the value of every property: its writer checks all values. */
const NEVER = Symbol("never");

const encoders = new WeakMap<DescMessage, MessageEncoder>();
const messageWriters = new WeakMap<DescMessage, ValueWriter>();

/** Returns the encoder of a message type, which is compiled on first use. */
export function toMessageEncoder(desc: DescMessage): MessageEncoder {
  const known = encoders.get(desc);
  if (known !== undefined) return known;
  const write = createMessageWriter(desc);
  const encode: MessageEncoder = (message, sink) => {
    const { length } = sink;
    try {
      write(message, sink);
    } catch (error) {
      sink.position -= sink.length - length;
      if (!(error instanceof UnusualValue)) throw error;
      writeRaw(toBinary(desc, message), sink);
    }
  };
  encoders.set(desc, encode);
  return encode;
}

/**
 * Returns an encoder that writes each message after its length, as a varint. After an error the chunk of the sink is to
 * be discarded.
 */
export function toDelimitedEncoder(desc: DescMessage): MessageEncoder {
  return measured((message, sink) => toMessageEncoder(desc)(message as Message, sink)) as MessageEncoder;
}

function createMessageWriter(desc: DescMessage): ValueWriter {
  const known = messageWriters.get(desc);
  if (known !== undefined) return known;
  const properties: Property[] = [];
  const write = messageWriter(desc, properties);
  // Registered before its fields are compiled, which may have this type.
  messageWriters.set(desc, write);
  properties.push(...listProperties(desc));
  return write;
}

function messageWriter(desc: DescMessage, properties: readonly Property[]): ValueWriter {
  const { typeName } = desc;
  const inherits = Object.getPrototypeOf(create(desc)) !== Object.prototype;
  return (value, sink) => {
    let message = value as (Message & Readonly<Record<string, unknown>>) | undefined;
    if (message?.$typeName !== typeName) throw new UnusualValue();
    // Default values of proto2 are inherited properties, which must not be written.
    if (inherits) message = { ...message };
    for (let index = 0; index < properties.length; index++) {
      const { name, unset, write } = properties[index] as Property;
      const content = message[name];
      if (content !== unset) write(content, sink);
    }
    if (message.$unknown !== undefined) writeUnknown(message.$unknown, sink);
  };
}

function writeUnknown(fields: NonNullable<Message["$unknown"]>, sink: ByteSink): void {
  for (const { no, wireType, data } of fields) {
    writeTag(makeTag(no, wireType), sink);
    writeRaw(data, sink);
  }
}

/** Lists the properties in the order of the field numbers, as `toBinary` writes them. */
function listProperties(desc: DescMessage): Property[] {
  const properties: Property[] = [];
  let oneof: DescOneof | undefined;
  let cases = new Map<unknown, ValueWriter>();
  for (const field of desc.fields.toSorted((one, other) => one.number - other.number)) {
    if (field.oneof === undefined) {
      properties.push({ name: field.localName, unset: getUnsetValue(field), write: fieldWriter(field) });
    } else {
      if (field.oneof !== oneof) {
        cases = new Map();
        properties.push({ name: field.oneof.localName, unset: NEVER, write: oneofWriter(cases) });
      }
      cases.set(field.localName, elementWriter(field));
    }
    oneof = field.oneof;
  }
  return properties;
}

function oneofWriter(cases: ReadonlyMap<unknown, ValueWriter>): ValueWriter {
  // Most events have the same kind as the previous one.
  let last: unknown;
  let write: ValueWriter | undefined;
  return (value, sink) => {
    const oneof = value as { readonly case: unknown; readonly value: unknown };
    if (oneof.case !== last) {
      last = oneof.case;
      write = cases.get(last);
    }
    if (write !== undefined) write(oneof.value, sink);
  };
}

function getUnsetValue(field: DescField): unknown {
  if (field.fieldKind === "list" || field.fieldKind === "map") return NEVER;
  if (field.presence === Presence.LEGACY_REQUIRED) return NEVER;
  if (field.presence !== Presence.IMPLICIT || field.fieldKind === "message") return undefined;
  if (field.fieldKind === "enum") return field.enum.values[0]?.number;
  return getZeroTest(field.scalar) === undefined ? scalarZeroValue(field.scalar, false) : NEVER;
}

function fieldWriter(field: DescField): ValueWriter {
  if (field.fieldKind === "map") return mapWriter(field);
  if (field.fieldKind === "list" && field.packed) return packedWriter(field);
  const write = elementWriter(field);
  if (field.fieldKind === "list") return itemsWriter(write);
  const isZero = field.presence === Presence.IMPLICIT ? getZeroTest(field.scalar) : undefined;
  if (isZero === undefined) return write;
  return (value, sink) => {
    if (!isZero(value)) write(value, sink);
  };
}

/** Returns a test for types whose zero `===` cannot compare: bytes, and floating point, since -0 is written. */
function getZeroTest(type: ScalarType | undefined): ((value: unknown) => boolean) | undefined {
  switch (type) {
    case ScalarType.BYTES:
      return (value) => value instanceof Uint8Array && value.length === 0;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value) => Object.is(value, 0);
    default:
      return undefined;
  }
}

function itemsWriter(write: ValueWriter): ValueWriter {
  return (value, sink) => {
    const items = value as readonly unknown[];
    for (let index = 0; index < items.length; index++) write(items[index], sink);
  };
}

function packedWriter(field: DescField): ValueWriter {
  const { write } = scalarFormats[field.scalar ?? ScalarType.INT32];
  const writeItems = delimited(field.number, itemsWriter(write));
  return (value, sink) => {
    if ((value as readonly unknown[]).length !== 0) writeItems(value, sink);
  };
}

/** Entries are messages of two fields, which are always written. */
function mapWriter(field: DescField & { fieldKind: "map" }): ValueWriter {
  const writeKey = tagged(1, scalarFormats[field.mapKey]);
  const writeValue = elementWriter(field, 2);
  const toKey = mapKeyReader(field.mapKey);
  const writeEntry = delimited(field.number, (entry, sink) => {
    const [name, value] = entry as readonly [string, unknown];
    writeKey(toKey(name), sink);
    writeValue(value, sink);
  });
  return (value, sink) => {
    for (const entry of Object.entries(value as Readonly<Record<string, unknown>>)) writeEntry(entry, sink);
  };
}

/** Returns a parser for the property names of a map. An invalid key is rejected when it is written. */
function mapKeyReader(type: ScalarType): (name: string) => unknown {
  switch (scalarZeroValue(type, false)) {
    case "":
      return (name) => name;
    case false:
      return (name) => name === "true" || (name === "false" ? false : name);
    case 0n:
      return (name) => (/^-?\d+$/.test(name) ? BigInt(name) : name);
    default:
      return Number.parseInt;
  }
}

/** Writes one value with its tag: a singular field, an item of a list, or the value of a map entry. */
function elementWriter(field: DescField, fieldNumber: number = field.number): ValueWriter {
  const { message } = field;
  if (message === undefined) return tagged(fieldNumber, scalarFormats[field.scalar ?? ScalarType.INT32]);
  if (isHeldAsJson(field)) return rejectValue;
  const write = createMessageWriter(message);
  return field.delimitedEncoding ? group(fieldNumber, write) : delimited(fieldNumber, write);
}

/** A Struct is represented by a JSON object, which could look like a message. */
function isHeldAsJson({ message, parent }: DescField): boolean {
  return message?.typeName === "google.protobuf.Struct" && parent.typeName !== "google.protobuf.Value";
}

function rejectValue(): never {
  throw new UnusualValue();
}

/** Returns the tag before the values of a field. */
function makeTag(fieldNumber: number, wireType: WireType): number {
  return ((fieldNumber << 3) | wireType) >>> 0;
}

/** Writes a tag. */
function writeTag(tag: number, sink: ByteSink): void {
  sink.reserve(MAX_VARINT_BYTES);
  putVarint(tag, sink);
}

/**
 * Creates a writer of scalars with their tag. Strings and integers, the most common ones, have separate code, into
 * which V8 can inline their writers.
 */
function tagged(fieldNumber: number, { wireType, write }: ScalarFormat): ValueWriter {
  const tag = makeTag(fieldNumber, wireType);
  switch (write) {
    case writeString:
      return (value, sink) => {
        writeTag(tag, sink);
        writeString(value, sink);
      };
    case writeInt32:
      return (value, sink) => {
        writeTag(tag, sink);
        writeInt32(value, sink);
      };
    default:
      return (value, sink) => {
        writeTag(tag, sink);
        write(value, sink);
      };
  }
}

/** Creates a writer of content between the tags of a group. */
function group(fieldNumber: number, write: ValueWriter): ValueWriter {
  const start = makeTag(fieldNumber, WireType.StartGroup);
  const end = makeTag(fieldNumber, WireType.EndGroup);
  return (value, sink) => {
    writeTag(start, sink);
    write(value, sink);
    writeTag(end, sink);
  };
}

/** Creates a writer of content after its tag and its length in bytes. */
function delimited(fieldNumber: number, write: ValueWriter): ValueWriter {
  return measured(write, makeTag(fieldNumber, WireType.LengthDelimited));
}

/**
 * Creates a writer of content after its length in bytes. It reserves as many bytes for the length as the previous value
 * needed, since the values of a field mostly have similar sizes. If that is wrong, the content is moved.
 * @param tag Written before the length. Default: none.
 */
function measured(write: ValueWriter, tag?: number): ValueWriter {
  let usual = 1;
  return (value, sink) => {
    if (tag !== undefined) writeTag(tag, sink);
    const reserved = usual;
    sink.reserve(MAX_VARINT_BYTES);
    sink.position += reserved;
    const before = sink.length;
    write(value, sink);
    const bytes = sink.length - before;
    usual = varintBytes(bytes);
    if (usual !== reserved) moveContent(bytes, usual - reserved, sink);
    sink.position -= usual + bytes;
    putVarint(bytes, sink);
    sink.position += bytes;
  };
}

function moveContent(bytes: number, distance: number, sink: ByteSink): void {
  sink.reserve(MAX_VARINT_BYTES);
  const start = sink.position - bytes;
  sink.buffer.copyWithin(start + distance, start, sink.position);
  sink.position += distance;
}
