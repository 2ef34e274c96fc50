import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  fromJsonString,
  type JsonReadOptions,
  type JsonValue,
  type Message,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { invalidFields } from "../../core/errors.ts";
import { describeJsonPosition, hasEscapedNames, parseJsonText } from "../../core/json-text.ts";
import { findJsonViolations } from "../status/json-violations.ts";
import { OUR_TYPE, toConnectError } from "../status/status.ts";
import { countJsonElements } from "./json-element-counter.ts";
import { tooManyElements } from "./refusals.ts";

/** Decodes the messages of one type, in one format. */
export interface Codec {
  /**
   * Counts the elements that a message will hold, without decoding it.
   * @throws ConnectError for more than `max` fields and values.
   */
  countElements(bytes: Uint8Array, max: number): number;
  /** Decodes a message. Throws a ConnectError, which shows no text of the message, if it is malformed. */
  decode(bytes: Uint8Array): Message;
}

/** Options for protobuf-es: an unknown field would cost more memory than a known one. */
export const BINARY_OPTIONS = { readUnknownFields: false } as const;

/** Decodes protobuf's binary format. */
export function binaryCodec(desc: DescMessage): Codec {
  let shape: Shape | undefined;
  return {
    countElements(bytes, max) {
      shape ??= getShape(desc);
      return new ElementCounter(bytes, max).count(shape);
    },
    decode(bytes) {
      try {
        return fromBinary(desc, bytes, BINARY_OPTIONS);
      } catch {
        throw malformed();
      }
    },
  };
}

/** Decodes JSON (ProtoJSON). */
export function jsonCodec(desc: DescMessage, options: Partial<JsonReadOptions>): Codec {
  return {
    countElements: countJsonElements,
    decode(bytes) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
      try {
        // `fromJsonString` refuses repeated names, which `fromJson` cannot see.
        const message = fromJsonString(desc, text, options);
        return hasEscapedNames(text) ? fromJson(desc, parseJsonText(text) as JsonValue, options) : message;
      } catch {
        throw createJsonFault(desc, text, options.registry);
      }
    },
  };
}

/** Larger JSON is not searched for its errors, since that takes about as long as decoding it. In characters. */
const MAX_SEARCHED = 4 * 1024 * 1024;

/** Creates the error of JSON that is not valid for a type. If the type is ours, it names all wrong fields. */
function createJsonFault(desc: DescMessage, text: string, registry: Registry | undefined): ConnectError {
  let json: unknown;
  try {
    json = parseJsonText(text);
  } catch (thrown) {
    const position = describeJsonPosition(thrown);
    return new ConnectError(`the request is not valid JSON at ${position}`, Code.InvalidArgument);
  }
  const isSearched = OUR_TYPE.test(desc.typeName) && text.length <= MAX_SEARCHED;
  const violations = isSearched ? findJsonViolations(desc, json, registry) : [];
  if (violations.length > 0) return toConnectError(invalidFields(violations));
  return new ConnectError(`the request is not the JSON of ${desc.typeName}`, Code.InvalidArgument);
}

/**
 * The contents of the length-delimited fields, by their numbers, that consist of several elements: a message, the
 * packed values of a repeated field, or JSON text, which is parsed later. Other texts and bytes are one element and
 * have no entry.
 */
type Shape = ReadonlyMap<number, Content>;

type Content = Shape | typeof PACKED | typeof JSON_TEXT;

const PACKED = "packed";
const JSON_TEXT = "json";

const shapes = new WeakMap<DescMessage, Shape>();

/** Returns the shape of a message type, which is created for its first message. */
function getShape(desc: DescMessage): Shape {
  const known = shapes.get(desc);
  if (known !== undefined) return known;
  const shape = new Map<number, Content>();
  // Stored before the fields are read, since types may contain themselves.
  shapes.set(desc, shape);
  for (const field of desc.fields) {
    const content = getContent(field);
    if (content !== undefined) shape.set(field.number, content);
  }
  return shape;
}

function getContent(field: DescField): Content | undefined {
  switch (field.fieldKind) {
    case "message":
      return getShape(field.message);
    case "map":
      return getEntryShape(field);
    case "list":
      if (field.listKind === "message") return getShape(field.message);
      if (field.listKind === "enum" || !isDelimited(field.scalar)) return PACKED;
      return isJsonField(field.name) ? JSON_TEXT : undefined;
    default:
      return isJsonField(field.name) ? JSON_TEXT : undefined;
  }
}

/** Reports whether a field of the contract holds JSON text, by its name. */
function isJsonField(name: string): boolean {
  return name.endsWith("_json");
}

function getEntryShape(field: DescField & { fieldKind: "map" }): Shape {
  if (field.mapKind === "message") return new Map([[MAP_VALUE, getShape(field.message)]]);
  return new Map<number, Content>(isJsonField(field.name) ? [[MAP_VALUE, JSON_TEXT]] : []);
}

/** Number of the value in the entry of a map. */
const MAP_VALUE = 2;

function isDelimited(type: ScalarType): boolean {
  return type === ScalarType.STRING || type === ScalarType.BYTES;
}

/**
 * Counts the fields of an encoded message, including nested messages' fields and unknown fields, and the values of the
 * JSON texts in the message, without decoding it: each costs an object or a value, however few bytes it has. Takes a
 * few nanoseconds a field.
 */
class ElementCounter {
  readonly #bytes: Uint8Array;
  readonly #max: number;
  #position = 0;
  #elements = 0;

  /** @param max Stops counting above this number. */
  constructor(bytes: Uint8Array, max: number) {
    this.#bytes = bytes;
    this.#max = max;
  }

  /** @throws ConnectError RESOURCE_EXHAUSTED over the maximum, INVALID_ARGUMENT if the bytes are not a message. */
  count(root: Shape): number {
    // The messages that enclose the position. An explicit stack, since messages may be nested a million deep.
    const outer: { readonly shape: Shape; readonly end: number }[] = [];
    let shape = root;
    let end = this.#bytes.length;
    for (;;) {
      while (this.#position < end) {
        const inner = this.#next(shape, end);
        if (inner === undefined) continue;
        outer.push({ shape, end });
        shape = inner;
        end = this.#innerEnd;
      }
      const parent = outer.pop();
      if (parent === undefined) return this.#elements;
      ({ shape, end } = parent);
    }
  }

  /** End of the message whose shape `#next` has returned. */
  #innerEnd = 0;

  /** Skips a field. Returns the shape of its message, if it has one, whose fields must then be counted. */
  #next(shape: Shape, end: number): Shape | undefined {
    this.#elements += 1;
    if (this.#elements > this.#max) throw tooManyElements(this.#max);
    const tag = this.#varint();
    switch (tag & 7) {
      case WireType.Varint:
        this.#varint();
        break;
      case WireType.Bit64:
        this.#position += 8;
        break;
      case WireType.Bit32:
        this.#position += 4;
        break;
      case WireType.LengthDelimited:
        return this.#delimited(shape.get(tag >>> 3), end);
      case WireType.StartGroup:
      case WireType.EndGroup:
        // No message of ours has groups: the decoder skips them, field by field.
        break;
      default:
        throw malformed();
    }
    if (this.#position > end) throw malformed();
    return undefined;
  }

  #delimited(content: Content | undefined, end: number): Shape | undefined {
    const length = this.#varint();
    const contentEnd = this.#position + length;
    if (contentEnd > end) throw malformed();
    if (typeof content === "object") {
      this.#innerEnd = contentEnd;
      return content;
    }
    // A packed value has at least one byte.
    if (content === PACKED) this.#add(length);
    if (content === JSON_TEXT) {
      this.#add(countJsonElements(this.#bytes.subarray(this.#position, contentEnd), this.#max));
    }
    this.#position = contentEnd;
    return undefined;
  }

  #add(elements: number): void {
    this.#elements += elements;
    if (this.#elements > this.#max) throw tooManyElements(this.#max);
  }

  /** Reads a varint; returns only the lower 32 bits of a longer one. */
  #varint(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.#position++] ?? END;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; shift < MAX_VARINT_BITS; shift += 7) {
      byte = bytes[this.#position++] ?? END;
      if (byte === END) break;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw malformed();
  }
}

/** Stands for the byte after the last one: larger than any byte. */
const END = 0x100;

const MAX_VARINT_BITS = 70;

function malformed(): ConnectError {
  return new ConnectError("the request is not a message in protobuf's binary format", Code.InvalidArgument);
}
