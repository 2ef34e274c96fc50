/** Their events -> our events. */
import { StreamError } from "../../core/errors.ts";
import { FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";
import { finishReason } from "../../kit/call/call-facts.ts";
import { asObject, textIn, tryParseJson } from "../../kit/json/json.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamWriter, TextBlock } from "../../kit/stream/stream-writer.ts";
import type { EchoEvent } from "../../wire/echo/stream.ts";
import { toUsage } from "./usage.ts";

/** Decodes one answer. */
export class EchoDecoder implements StreamDecoder {
  readonly #writer: StreamWriter;
  #text: TextBlock | undefined;

  constructor(writer: StreamWriter) {
    this.#writer = writer;
  }

  push({ data }: SseEvent): void {
    const event = asObject<EchoEvent>(tryParseJson(data));
    if (event === undefined) throw new StreamError("an event of the provider's stream is not a JSON object");
    this.#writer.start("");
    this.#text ??= this.#writer.startText();
    this.#text.append(textIn(event.delta));
    const usage = toUsage(event.usage);
    if (usage === undefined) return;
    this.#writer.finish({
      id: "",
      model: "",
      usage,
      rawJson: "",
      finishReason: finishReason(Reason.STOP, "end"),
    });
  }

  end(): void {}
}
