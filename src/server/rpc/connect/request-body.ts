/** Request bodies in the form that Connect's handlers read: decompressed, checked, and accounted for in memory. */
import type { DescMethod } from "@bufbuild/protobuf";
import { yieldTurn } from "../../../core/loop-turns.ts";
import type { HttpRequest } from "../../base/http-types.ts";
import { Base64Decoder, isTextRequest } from "../../http/grpc-web-text.ts";
import { readBody, readWholeBody } from "../../http/request-body.ts";
import type { Codec } from "../../requests/codec.ts";
import { type Compression, decompress } from "../../requests/decompress.ts";
import type { Intake } from "../../requests/intake.ts";
import type { CallMemory } from "../../requests/request-memory.ts";
import { COMPRESSED, FRAME_HEADER_BYTES, type Frame, FrameReader, writeFrameHeader } from "../grpc/frames.ts";
import type { ConnectExchange } from "./exchange.ts";

/** The call of a body and its limits. */
export interface BodyOptions {
  readonly exchange: ConnectExchange;
  readonly intake: Intake;
  readonly method: DescMethod;
  /** Decode the messages of the request in its two formats. */
  readonly codecs: { readonly binary: Codec; readonly json: Codec };
  /** Compressions that are undone here. A body with any other compression is left to Connect, which rejects it. */
  readonly compressions: readonly Compression[];
}

/**
 * Header that names the compression of a body with a single message. It is undone here, so Connect must not see the
 * header.
 */
export const BODY_ENCODING = "content-encoding";

/**
 * Returns the checked body of a request: one message, or frames with one message each.
 * @throws ConnectError for a message that exceeds a limit, or if there is no memory for it.
 */
export function checkedBody(request: HttpRequest, options: BodyOptions): AsyncGenerator<Uint8Array> {
  const body = new CheckedBody(request, options);
  return FRAMED.test(request.headers["content-type"] ?? "") ? body.frames() : body.whole();
}

/** Returns the compression of a body that is undone here; undefined if there is none. */
export function findCompression(
  header: string | readonly string[] | undefined,
  compressions: readonly Compression[],
): Compression | undefined {
  return compressions.find((compression) => compression === header);
}

const FRAMED = /^application\/(?:connect\+|grpc)/;
const CONNECT_FRAMED = /^application\/connect\+/;
const JSON_CODEC = /[+/]json(?:$|;)/;

class CheckedBody {
  readonly #request: HttpRequest;
  readonly #options: BodyOptions;
  readonly #type: string;
  readonly #codec: Codec;

  constructor(request: HttpRequest, options: BodyOptions) {
    this.#request = request;
    this.#options = options;
    this.#type = request.headers["content-type"] ?? "";
    this.#codec = JSON_CODEC.test(this.#type) ? options.codecs.json : options.codecs.binary;
  }

  async *whole(): AsyncGenerator<Uint8Array> {
    const { intake, compressions } = this.#options;
    const { headers } = this.#request;
    const bytes = await readWholeBody({
      chunks: this.#read(() => true),
      announced: headers["content-length"],
      compression: findCompression(headers[BODY_ENCODING], compressions),
      share: this.#share,
      limits: intake.limits,
    });
    this.#takeElements(bytes);
    const turn = yieldTurn();
    if (turn !== undefined) await turn;
    yield bytes;
  }

  async *frames(): AsyncGenerator<Uint8Array> {
    const share = this.#share;
    const frames = new FrameReader({
      maxMessageBytes: this.#options.intake.limits.maxMessageBytes,
      // Connect's streams have more flags than gRPC; its handlers check them.
      strictFlags: false,
      share,
    });
    const isSingle = isSingleMessage(this.#options.method);
    for await (const chunk of this.#read(() => isSingle || !frames.isEmpty)) {
      share.take(chunk.byteLength);
      frames.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
        const { usedBytes, frame: plain } = await this.#plain(frame);
        yield plain;
        // The next message is requested, so the service is done with this one.
        if (!isSingle) share.give(usedBytes);
      }
    }
    frames.end();
  }

  get #share(): CallMemory {
    const { share } = this.#options.exchange;
    if (share === undefined) throw new Error("a body is read before its call has begun");
    return share;
  }

  #read(isIncomplete: () => boolean): AsyncGenerator<Uint8Array> {
    const { exchange, intake } = this.#options;
    const bytes = readBody(this.#request, {
      get signal() {
        return exchange.signal;
      },
      arrivals: intake.arrivals,
      isIncomplete,
    });
    return isTextRequest(this.#request.headers) ? decodeBody(bytes) : bytes;
  }

  /** Returns a frame without compression, and the memory that it uses. */
  async #plain({ flags, bytes }: Frame): Promise<{ readonly frame: Uint8Array; readonly usedBytes: number }> {
    const isCompressed = (flags & COMPRESSED) !== 0;
    const compression = isCompressed ? this.#frameCompression : undefined;
    // Connect rejects it before parsing.
    const isUnreadable = isCompressed && compression === undefined;
    const admitted = isUnreadable
      ? { bytes, usedBytes: bytes.byteLength }
      : await this.#admit(bytes, compression);
    const frame = createFrame(isUnreadable ? flags : flags & ~COMPRESSED, admitted.bytes);
    return { frame, usedBytes: FRAME_HEADER_BYTES + admitted.usedBytes };
  }

  get #frameCompression(): Compression | undefined {
    const name = CONNECT_FRAMED.test(this.#type) ? "connect-content-encoding" : "grpc-encoding";
    return findCompression(this.#request.headers[name], this.#options.compressions);
  }

  /** Decompresses and checks the message of a frame. */
  async #admit(bytes: Uint8Array, compression: Compression | undefined) {
    const { intake } = this.#options;
    const share = this.#share;
    let plain = bytes;
    if (compression !== undefined) {
      plain = await decompress(bytes, compression, share, intake.limits);
      share.give(bytes.byteLength);
    }
    return { bytes: plain, usedBytes: plain.byteLength + this.#takeElements(plain) };
  }

  /** Takes memory for the elements of a message. Returns the number of bytes. */
  #takeElements(bytes: Uint8Array): number {
    const { exchange, intake } = this.#options;
    const used = this.#share.takeElements(this.#codec.countElements(bytes, intake.limits.maxMessageElements));
    // Only now: a message that is refused must not be read again for its error.
    exchange.unread = { codec: this.#codec, bytes };
    return used;
  }
}

function createFrame(flags: number, bytes: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + bytes.byteLength);
  writeFrameHeader(frame, 0, { compressed: false, length: bytes.byteLength });
  frame[0] = flags;
  frame.set(bytes, FRAME_HEADER_BYTES);
  return frame;
}

function isSingleMessage({ methodKind }: DescMethod): boolean {
  return methodKind === "unary" || methodKind === "server_streaming";
}

/** Decodes a body in the text form. */
async function* decodeBody(text: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new Base64Decoder();
  for await (const chunk of text) yield decoder.decode(chunk);
  decoder.end();
}
