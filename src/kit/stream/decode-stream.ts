import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import { NetworkError, type SDKError, StreamError, toSdkError, withProgress } from "../../spec/errors.ts";
import { SseDecoder, type SseEvent } from "./sse.ts";
import type { StreamWriter } from "./stream-writer.ts";

/**
 * Turns the events of one provider's stream into ours: synchronous, one instance per call,
 * no clock, no promise. Writes what it makes of them into a StreamWriter.
 */
export interface StreamDecoder {
  /** Takes one event. Throws what the provider reports as its failure, and StreamError on a violation of its protocol. */
  push(event: SseEvent): void;

  /**
   * Called once after the last byte, unless the stream has ended. May finish it; else it was cut.
   * @param stray Text that was no event, see `SseDecoder.stray`.
   */
  end(stray: string): void;
}

/**
 * Runs a decoder over the bytes of an answer. What one read of the network brings is one batch.
 *
 * A failure before `stream_start` throws and is all there is. A later one is an `error` event
 * and is thrown after it. A stream that ends without the provider's end marker is a failure of
 * kind STREAM. Reading stops at the provider's end marker.
 * @param release Called when the end marker has come: nothing more of the body is needed.
 */
export async function* decodeStream(
  body: AsyncIterable<Uint8Array>,
  decoder: StreamDecoder,
  writer: StreamWriter,
  release: () => void = () => {},
): AsyncGenerator<readonly StreamEvent[]> {
  const sse = new SseDecoder((event) => {
    if (!writer.ended) decoder.push(event);
  });
  let failure: SDKError | undefined;
  try {
    for await (const chunk of body) {
      const error = attempt(() => sse.push(chunk));
      if (error !== undefined) {
        failure = error;
        break;
      }
      if (writer.ended) release();
      const batch = writer.take();
      if (batch.length > 0) yield batch;
      if (writer.ended) return;
    }
    failure ??= attempt(() => endOf(sse, decoder, writer));
  } catch (thrown) {
    failure = brokenStream(thrown);
  }
  if (failure !== undefined) yield* failed(failure, writer);
  else yield writer.take();
}

/** Ends the stream after its last byte. Throws where the provider's end marker never came. */
function endOf(sse: SseDecoder, decoder: StreamDecoder, writer: StreamWriter): void {
  sse.end();
  if (!writer.ended) decoder.end(sse.stray);
  if (!writer.ended) throw new StreamError("the provider's stream ended before its end marker");
}

/** What was written before the fault goes first, then the error, then the throw. */
async function* failed(failure: SDKError, writer: StreamWriter): AsyncGenerator<readonly StreamEvent[]> {
  if (!writer.started) throw failure;
  const error = withProgress(failure, { outputStarted: writer.outputStarted, usage: writer.usage });
  writer.fail(error);
  yield writer.take();
  throw error;
}

function attempt(step: () => void): SDKError | undefined {
  try {
    step();
    return undefined;
  } catch (thrown) {
    return toSdkError(thrown);
  }
}

/** A connection that is lost inside a stream is a broken stream, not an unreachable provider. */
function brokenStream(thrown: unknown): SDKError {
  const error = toSdkError(thrown);
  if (!(error instanceof NetworkError)) return error;
  return new StreamError(`the provider's stream broke: ${error.message}`, { cause: error });
}
