/** gRPC-Web's text form around Connect's handlers, which know only the binary one. */
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { Base64Decoder, encodeBase64, toBinaryType, toTextType } from "../../http/grpc-web-text.ts";

const CONTENT_TYPE = "content-type";

/** Decodes a body in the text form. */
export async function* decodeBody(text: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new Base64Decoder();
  for await (const chunk of text) yield decoder.decode(chunk);
  decoder.end();
}

/** Sets the content type of the bytes that the text encodes. */
export function setBinaryType(header: Headers): void {
  header.set(CONTENT_TYPE, toBinaryType(header.get(CONTENT_TYPE) ?? ""));
}

/** Converts a gRPC-Web response to the text form. Returns responses of other protocols unchanged. */
export function toTextResponse(response: UniversalServerResponse): UniversalServerResponse {
  const { header, body } = response;
  const type = header?.get(CONTENT_TYPE) ?? "";
  if (!type.startsWith("application/grpc-web")) return response;
  header?.set(CONTENT_TYPE, toTextType(type));
  return body === undefined ? response : { ...response, body: encodeBody(body) };
}

async function* encodeBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield encodeBase64(chunk);
}
