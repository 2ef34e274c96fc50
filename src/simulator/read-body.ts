import type { IncomingMessage } from "node:http";

/** A body that was received. */
export interface ArrivedBody {
  readonly text: string;
  readonly bytes: number;
  /** Whether it was larger than allowed; its text is then empty. */
  readonly tooLarge: boolean;
}

/**
 * Reads the body of a request to its end, and keeps at most `limit` bytes of it. Throws when the caller closes before
 * the end.
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<ArrivedBody> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= limit) chunks.push(chunk);
    else chunks.length = 0;
  }
  const tooLarge = bytes > limit;
  return { text: tooLarge ? "" : Buffer.concat(chunks).toString("utf8"), bytes, tooLarge };
}

/** Parses a body. Returns undefined where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
