import { WireType } from "@bufbuild/protobuf/wire";
import type { ByteSink } from "./byte-sink.ts";
import {
  MAX_VARINT_BYTES,
  putVarint,
  type ScalarFormat,
  type ValueWriter,
  varintBytes,
  writeInt32,
  writeString,
} from "./scalar-formats.ts";

/** Returns the tag before the values of a field. */
export function makeTag(fieldNumber: number, wireType: WireType): number {
  return ((fieldNumber << 3) | wireType) >>> 0;
}

/** Writes a tag. */
export function writeTag(tag: number, sink: ByteSink): void {
  sink.reserve(MAX_VARINT_BYTES);
  putVarint(tag, sink);
}

/**
 * Creates a writer of scalars with their tag. Strings and integers, the most common ones, have separate code, into
 * which V8 can inline their writers.
 */
export function tagged(fieldNumber: number, { wireType, write }: ScalarFormat): ValueWriter {
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
export function group(fieldNumber: number, write: ValueWriter): ValueWriter {
  const start = makeTag(fieldNumber, WireType.StartGroup);
  const end = makeTag(fieldNumber, WireType.EndGroup);
  return (value, sink) => {
    writeTag(start, sink);
    write(value, sink);
    writeTag(end, sink);
  };
}

/**
 * Creates a writer of content after its tag and its length in bytes. It reserves as many bytes for the length as the
 * previous value of the field needed, since the values of a field mostly have similar sizes. If that is wrong, the
 * content is moved.
 */
export function delimited(fieldNumber: number, write: ValueWriter): ValueWriter {
  const tag = makeTag(fieldNumber, WireType.LengthDelimited);
  let usual = 1;
  return (value, sink) => {
    const reserved = usual;
    sink.reserve(2 * MAX_VARINT_BYTES);
    putVarint(tag, sink);
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
