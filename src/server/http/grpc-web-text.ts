/**
 * gRPC-Web's text form (PROTOCOL-WEB.md, "application/grpc-web-text"): the same bytes in base64, for clients that can
 * read only text. Either side may end a group of base64 by padding wherever it flushes.
 */
import type { IncomingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";

const TEXT_TYPE = /^(application\/grpc-web)-text/i;
const WEB_RANGE = /(?:^|,)\s*application\/grpc-web(-text)?(?![\w-])/i;

/** Whether the body of a request is text. */
export function isTextRequest({ "content-type": type = "" }: IncomingHttpHeaders): boolean {
  return TEXT_TYPE.test(type);
}

/** Whether a client takes the response as text: its header `accept` says so, or, without one, its own content type. */
export function takesTextResponse(headers: IncomingHttpHeaders): boolean {
  const accepted = WEB_RANGE.exec(headers.accept ?? "");
  return accepted === null ? isTextRequest(headers) : accepted[1] !== undefined;
}

/** The content type of the bytes that are inside the text. Other types are returned unchanged. */
export function toBinaryType(type: string): string {
  return type.replace(TEXT_TYPE, "$1");
}

/** The content type of the text that holds bytes of the given type. */
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
// After padding a new run of groups begins.
const RUN_END = /(?<==)(?=[^=])/;
const RUN = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/;

/** Decodes base64, wherever the reads of the network split it. */
export class Base64Decoder {
  /** Less than one group. */
  #rest = "";

  /**
   * The bytes of all groups that are complete.
   * @throws ConnectError INVALID_ARGUMENT where the text is no base64.
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
   * To be called after the last text.
   * @throws ConnectError INVALID_ARGUMENT where it ended inside a group.
   */
  end(): void {
    if (this.#rest !== "") throw invalid(`ends inside a group of ${GROUP_CHARS} characters`);
  }
}

function decodeRun(run: string): Buffer {
  if (!RUN.test(run)) throw invalid("is something else");
  return Buffer.from(run, "base64");
}

function invalid(found: string): ConnectError {
  return new ConnectError(
    `the body ${found}, expected base64 (application/grpc-web-text)`,
    Code.InvalidArgument,
  );
}
