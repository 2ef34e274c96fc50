import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { ModelOptions } from "../model-options.ts";
import { createSeededRandom } from "../script/seeded-random.ts";

/** Bytes that `trickle_ms` writes at a time unless `trickle_bytes` is set. */
const defaultTrickleBytes = 5;

/** Maximum size of one write of `chunk=random`, in bytes. */
const maxChunkBytes = 48;

/** Writes the body of an answer, with the faults that are counted in bytes. */
export interface BodyWriter {
  /** Bytes written so far. */
  readonly bytes: number;
  /**
   * Writes a text and waits until the socket accepts more. Throws {@link InjectedCut} when a fault destroyed the
   * socket, and an AbortError when the caller closed it.
   */
  write(text: string): Promise<void>;
  /** Destroys the socket once all written bytes have been sent. */
  cut(): Promise<never>;
  /** Ends the body cleanly. */
  end(): void;
}

/** Thrown when a fault of the model string destroyed the socket. */
export class InjectedCut extends Error {
  constructor() {
    super("a fault of the model string destroyed the socket");
    this.name = "InjectedCut";
  }
}

/** Creates the writer for a response whose headers are set. `signal` aborts when the caller closes. */
export function createBodyWriter(
  response: ServerResponse,
  options: ModelOptions,
  signal: AbortSignal,
): BodyWriter {
  const split = chooseSplit(options);
  const limit = options.cut_bytes ?? Infinity;
  let bytes = 0;

  const send = async (piece: Buffer): Promise<void> => {
    const allowed = piece.subarray(0, limit - bytes);
    bytes += allowed.length;
    const hasRoom = response.write(allowed);
    if (bytes >= limit) await cut();
    if (!hasRoom) await once(response, "drain", { signal });
  };
  const cut = async (): Promise<never> => {
    await flush(response);
    response.destroy();
    throw new InjectedCut();
  };
  const write = async (text: string): Promise<void> => {
    for (const piece of split(Buffer.from(text))) {
      signal.throwIfAborted();
      await send(piece);
      if (options.trickle_ms !== undefined) await sleep(options.trickle_ms, undefined, { signal });
      else await nextTurn();
    }
  };
  return {
    get bytes() {
      return bytes;
    },
    write,
    cut,
    end: () => void response.end(),
  };
}

/** Waits until the written bytes have been passed to the operating system, or the caller has closed. */
async function flush(response: ServerResponse): Promise<void> {
  if (response.writableLength === 0) return;
  await new Promise<void>((resolve) => {
    response.once("close", resolve);
    response.write("", () => resolve());
  });
}

type Split = (bytes: Buffer) => Iterable<Buffer>;

function chooseSplit(options: ModelOptions): Split {
  if (options.chunk !== undefined) {
    const random = createSeededRandom(options.chunk);
    return (bytes) => splitBy(bytes, () => 1 + random.below(maxChunkBytes));
  }
  if (options.trickle_ms === undefined) return (bytes) => [bytes];
  const size = options.trickle_bytes ?? defaultTrickleBytes;
  return (bytes) => splitBy(bytes, () => size);
}

function* splitBy(bytes: Buffer, nextSize: () => number): Generator<Buffer> {
  for (let start = 0; start < bytes.length; ) {
    const end = start + nextSize();
    yield bytes.subarray(start, end);
    start = end;
  }
}
