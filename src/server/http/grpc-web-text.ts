/**
 * gRPC-Web's text form (PROTOCOL-WEB.md, "application/grpc-web-text"): the same bytes in base64, for clients that can
 * read only text. Either side may end a group of base64 by padding wherever it flushes.
 */
import type { IncomingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";

const TEXT_TYPE = /^(application\/grpc-web)-text/i;
const WEB_RANGE = /(?:^|,)\s*application\/grpc-web(-text)?(?![\w-])/i;

/** Reports whether the body of a request is text. */
export function isTextRequest({ "content-type": type = "" }: IncomingHttpHeaders): boolean {
  return TEXT_TYPE.test(type);
}

/**
 * Reports whether a client takes the response as text: decided by its header `accept` or, without that header, by the
 * content type of its request.
 */
export function takesTextResponse(headers: IncomingHttpHeaders): boolean {
  const accepted = WEB_RANGE.exec(headers.accept ?? "");
  return accepted === null ? isTextRequest(headers) : accepted[1] !== undefined;
}

/** Returns the content type of the bytes that the text encodes. Returns other types unchanged. */
export function toBinaryType(type: string): string {
  return type.replace(TEXT_TYPE, "$1");
}

/** Returns the content type of the text that encodes bytes of the given type. */
export function toTextType(type: string): string {
  return type.replace("application/grpc-web", "application/grpc-web-text");
}

/** Encodes bytes as base64 with padding, so that the client can decode them without waiting for more. */
export function encodeBase64(bytes: Uint8Array): Buffer {
  return Buffer.from(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    "latin1",
  );
}

const GROUP_CHARS = 4;
// A new run of groups begins after padding.
const RUN_END = /(?<==)(?=[^=])/;
const RUN = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/;

/** Decodes base64, independently of the sizes of network reads. */
export class Base64Decoder {
  /** The start of a group, shorter than a whole group. */
  #rest = "";

  /**
   * Decodes all groups that are complete.
   * @throws ConnectError INVALID_ARGUMENT if the text is not base64.
   */
  decode(chunk: Uint8Array): Buffer {
    const text =
      this.#rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
    const end = text.length - (text.length % GROUP_CHARS);
    this.#rest = text.slice(end);
    const runs = end === 0 ? [] : text.slice(0, end).split(RUN_END);
    return Buffer.concat(runs.map(decodeRun));
  }

  /**
   * Must be called after the last text.
   * @throws ConnectError INVALID_ARGUMENT if the text ends inside a group.
   */
  end(): void {
    if (this.#rest !== "") throw invalid(`ends inside a group of ${GROUP_CHARS} characters`);
  }
}

function decodeRun(run: string): Buffer {
  if (!RUN.test(run)) throw invalid("has other characters");
  return Buffer.from(run, "base64");
}

function invalid(found: string): ConnectError {
  return new ConnectError(
    `the body ${found}, expected base64 (application/grpc-web-text)`,
    Code.InvalidArgument,
  );
}
