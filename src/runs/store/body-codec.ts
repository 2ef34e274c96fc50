import { createCipheriv, createDecipheriv, hash, randomFillSync } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { ConfigurationError, InternalError, InvalidRequestError } from "../../core/errors.ts";
import { toDelimitedEncoder, toMessageEncoder } from "../../core/message-encoder.ts";
import { ByteSink, writeRaw } from "../../core/scalar-formats.ts";
import { type RunEvent, RunEventSchema } from "../../gen/outrigger/v1/run_pb.ts";

/** Options of a BodyCodec. */
export interface BodyCodecOptions {
  /** Largest body, in bytes before its compression. */
  readonly maxBodyBytes: number;
  /** Keys for encryption at rest: the first one encrypts, all of them decrypt. Empty: bodies are not encrypted. */
  readonly keys?: readonly EncryptionKey[] | undefined;
}

/** Minimum size of a body that is compressed, in bytes: for smaller ones, deflating takes longer than storing. */
const MIN_COMPRESSED_BYTES = 4 * 1024;

/** Maximum size of a body that is compressed, in bytes: that blocks the event loop for about 15 ms. */
const MAX_COMPRESSED_BYTES = 1024 * 1024;

/** Length of the id of a key, in bytes. */
const KEY_ID_BYTES = 8;

// Shared by all bodies: no other code runs between the start of a body and its end.
const sink = new ByteSink();

const encodeEvent = toDelimitedEncoder(RunEventSchema);

const IS_COMPRESSED = 1;
const IS_ENCRYPTED = 2;
const FLAGS_BYTES = 1;
const PLAIN = Uint8Array.of(0);
const LENGTH_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENCRYPTION_HEADER_BYTES = FLAGS_BYTES + KEY_ID_BYTES + NONCE_BYTES;

/**
 * Turns messages of the contract into the bodies that stores keep, and back.
 *
 * A body is a byte of flags and the message. Compressed: its length before that, and raw deflate. Encrypted: the id of
 * the key, a random nonce, then all of this in AES-256-GCM, and its tag. The id of the body is authenticated too, so
 * that nobody can put the body of one row into another.
 */
export class BodyCodec {
  readonly #maxBodyBytes: number;
  readonly #keys: ReadonlyMap<string, EncryptionKey>;
  /** The key that encrypts. */
  readonly key: EncryptionKey | undefined;

  constructor({ maxBodyBytes, keys = [] }: BodyCodecOptions) {
    this.#maxBodyBytes = maxBodyBytes;
    this.#keys = new Map(keys.map((key) => [key.id.toString("hex"), key]));
    this.key = keys[0];
  }

  /**
   * Returns the body of a message.
   * @param bodyId Identifies the body: the same id is needed to read it. Each body has a different one.
   * @throws InvalidRequestError if it is too large.
   */
  write<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>, bodyId: string): Uint8Array {
    sink.start();
    writeRaw(PLAIN, sink);
    toMessageEncoder(schema)(message, sink);
    return this.#pack(sink.take(), bodyId);
  }

  /** @throws InternalError if the body cannot be read. */
  read<Schema extends DescMessage>(schema: Schema, body: Uint8Array, bodyId: string): MessageShape<Schema> {
    return fromBinary(schema, this.decode(body, bodyId));
  }

  /** Returns the body of several events: each after its length, as a varint. */
  writeEvents(events: readonly RunEvent[], bodyId: string): Uint8Array {
    sink.start();
    writeRaw(PLAIN, sink);
    for (const event of events) encodeEvent(event, sink);
    return this.#pack(sink.take(), bodyId);
  }

  readEvents(body: Uint8Array, bodyId: string): RunEvent[] {
    const reader = new BinaryReader(this.decode(body, bodyId));
    const events: RunEvent[] = [];
    while (reader.pos < reader.len) events.push(fromBinary(RunEventSchema, reader.bytes()));
    return events;
  }

  encode(bytes: Uint8Array, bodyId: string): Uint8Array {
    const plain = Buffer.allocUnsafe(FLAGS_BYTES + bytes.byteLength);
    plain.set(PLAIN);
    plain.set(bytes, FLAGS_BYTES);
    return this.#pack(plain, bodyId);
  }

  /** @param plain The flags and the bytes of a body that is not compressed. */
  #pack(plain: Uint8Array, bodyId: string): Uint8Array {
    const length = plain.byteLength - FLAGS_BYTES;
    if (length > this.#maxBodyBytes)
      throw new InvalidRequestError(
        `expected at most ${this.#maxBodyBytes} bytes for one element of a stored run, found ${length}; ` +
          "the limit is `runs.max_body_bytes`; runs that are not stored have no such limit",
      );
    const isCompressible = length >= MIN_COMPRESSED_BYTES && length <= MAX_COMPRESSED_BYTES;
    const packed = (isCompressible ? compress(plain.subarray(FLAGS_BYTES)) : undefined) ?? plain;
    return this.key === undefined ? packed : encrypt(packed, this.key, bodyId);
  }

  decode(body: Uint8Array, bodyId: string): Uint8Array {
    const packed = this.#decrypt(body, bodyId);
    const flags = packed[0] ?? 0;
    if (packed.byteLength === 0 || flags > IS_COMPRESSED) throw unreadable(bodyId, "it has an unknown form");
    return flags === IS_COMPRESSED ? decompress(packed, bodyId) : packed.subarray(FLAGS_BYTES);
  }

  #decrypt(body: Uint8Array, bodyId: string): Uint8Array {
    const isEncrypted = body[0] === IS_ENCRYPTED;
    if (!isEncrypted && this.key === undefined) return body;
    if (!isEncrypted) throw unreadable(bodyId, "it is not encrypted, but the store is");
    const keyId = Buffer.from(body.subarray(FLAGS_BYTES, FLAGS_BYTES + KEY_ID_BYTES)).toString("hex");
    const key = this.#keys.get(keyId);
    if (key === undefined)
      throw unreadable(bodyId, `it is encrypted with the key ${keyId}, which is not configured`);
    return decrypt(body, key, bodyId);
  }
}

/** Returns a compressed body. Undefined if that saves less than a tenth. */
function compress(bytes: Uint8Array): Uint8Array | undefined {
  const deflated = deflateRawSync(bytes, { level: 1 });
  const body = Buffer.allocUnsafe(FLAGS_BYTES + LENGTH_BYTES + deflated.byteLength);
  if (body.byteLength > 0.9 * bytes.byteLength) return undefined;
  body[0] = IS_COMPRESSED;
  body.writeUInt32BE(bytes.byteLength, FLAGS_BYTES);
  body.set(deflated, FLAGS_BYTES + LENGTH_BYTES);
  return body;
}

function decompress(packed: Uint8Array, bodyId: string): Uint8Array {
  const view = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  try {
    const length = view.readUInt32BE(FLAGS_BYTES);
    const bytes = inflateRawSync(view.subarray(FLAGS_BYTES + LENGTH_BYTES), { maxOutputLength: length || 1 });
    if (bytes.byteLength === length) return bytes;
  } catch {
    // The message of zlib does not help.
  }
  throw unreadable(bodyId, "its compressed content is damaged");
}

function encrypt(packed: Uint8Array, key: EncryptionKey, bodyId: string): Uint8Array {
  const header = Buffer.alloc(ENCRYPTION_HEADER_BYTES);
  header[0] = IS_ENCRYPTED;
  header.set(key.id, FLAGS_BYTES);
  randomFillSync(header, FLAGS_BYTES + KEY_ID_BYTES, NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key.bytes, header.subarray(FLAGS_BYTES + KEY_ID_BYTES));
  cipher.setAAD(Buffer.from(bodyId));
  return Buffer.concat([header, cipher.update(packed), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(body: Uint8Array, key: EncryptionKey, bodyId: string): Uint8Array {
  const end = body.byteLength - TAG_BYTES;
  if (end < ENCRYPTION_HEADER_BYTES) throw unreadable(bodyId, "it is cut off");
  const nonce = body.subarray(FLAGS_BYTES + KEY_ID_BYTES, ENCRYPTION_HEADER_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key.bytes, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(bodyId));
  decipher.setAuthTag(body.subarray(end));
  try {
    return Buffer.concat([decipher.update(body.subarray(ENCRYPTION_HEADER_BYTES, end)), decipher.final()]);
  } catch {
    throw unreadable(
      bodyId,
      "it was changed, or it is the body of another row, or it was encrypted with a different key",
    );
  }
}

function unreadable(bodyId: string, reason: string): InternalError {
  return new InternalError(`cannot read ${bodyId} from the run store: ${reason}`);
}

/** Length of a key for AES-256, in bytes. */
const KEY_BYTES = 32;

/** A key that bodies are encrypted with. */
export interface EncryptionKey {
  readonly bytes: Buffer;
  /** Shows with which key a body was encrypted, but reveals nothing about it: `KEY_ID_BYTES` of a hash. */
  readonly id: Buffer;
  /** The file that it is from, for errors. */
  readonly path: string;
}

/**
 * Returns the key in the text of a file: 32 bytes in Base64 or in hexadecimal, as `openssl rand -base64 32` writes
 * them.
 * @throws ConfigurationError that names the file, and nothing of its content.
 */
export function parseEncryptionKey(text: string, path: string): EncryptionKey {
  const bytes = decodeKey(text.trim());
  if (bytes?.byteLength === KEY_BYTES) {
    const material = Buffer.concat([Buffer.from("outrigger key id\n"), bytes]);
    return { bytes, id: hash("sha256", material, "buffer").subarray(0, KEY_ID_BYTES), path };
  }
  const length = bytes === undefined ? "another text" : `${bytes.byteLength} bytes`;
  const found = text.trim() === "" ? "nothing" : length;
  throw new ConfigurationError(
    `expected a key of ${KEY_BYTES} bytes in Base64 or hexadecimal in ${path}, found ${found}`,
  );
}

function decodeKey(text: string): Buffer | undefined {
  if (/^(?:[0-9A-Fa-f]{2})+$/.test(text) && text.length === 2 * KEY_BYTES) return Buffer.from(text, "hex");
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
}
