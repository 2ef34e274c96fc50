import type { SDKError } from "../../core/errors.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { EventWriter } from "../../http/event-body.ts";

/** Writes the events of one stream. Synchronous: the text of a batch leaves in one write. */
export abstract class BatchWriter implements EventWriter {
  /** Text that was not taken yet. */
  protected text = "";

  write(batch: readonly StreamEvent[]): string {
    for (const { event } of batch) this.push(event);
    return this.take();
  }

  abstract fail(error: SDKError): string;

  /** Writes one event. */
  protected abstract push(event: StreamEvent["event"]): void;

  protected take(): string {
    const { text } = this;
    this.text = "";
    return text;
  }
}
