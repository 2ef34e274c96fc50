import type { IncomingMessage } from "node:http";

/** A received body. */
export interface ArrivedBody {
  readonly text: string;
  readonly bytes: number;
  /** Whether it was larger than allowed; its text is then empty. */
  readonly tooLarge: boolean;
}

/**
 * Reads the body of a request to its end, and keeps at most `limit` bytes. Throws if the caller closes before the end.
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

/**
 * Maximum depth of lists and objects in a body. The parsers of the providers have limits between 100 and about 1000,
 * and treat a deeper body like one that is not JSON.
 */
const maxLevels = 1000;

/** Parses a body. Returns undefined if it is not JSON or nested too deeply. */
export function parseJson(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    return isTooDeep(body) ? undefined : body;
  } catch {
    return undefined;
  }
}

function isTooDeep(body: unknown): boolean {
  let values = [body];
  for (let level = 0; level <= maxLevels && values.length > 0; level += 1)
    values = values.flatMap(getChildren);
  return values.length > 0;
}

function getChildren(value: unknown): unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value) : [];
}
