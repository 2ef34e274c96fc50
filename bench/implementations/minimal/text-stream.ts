import { StringDecoder } from "node:string_decoder";
import {
  type AnswerFacts,
  type MessageItem,
  type ResponseObject,
  writeFinishReason,
  writeResponse,
  writeState,
  writeTimestamp,
  writeUsage,
} from "./answer.ts";
import { ProtoWriter } from "./wire.ts";

/** The fields of a Responses API event that are read. */
interface ProviderEvent {
  type: string;
  delta: string;
  item: MessageItem;
  response: ResponseObject;
}

// The events of one network read are written synchronously, so one writer is enough.
const writer = new ProtoWriter();

/** Translates the stream of one text into StreamEvents in gRPC frames. */
export class TextStream {
  readonly #facts: AnswerFacts;
  readonly #text = new StringDecoder();
  #rest = "";
  #sequence = 0;
  #startedAt = 0;
  #answeredBy = "";

  /** Whether the answer is complete. */
  finished = false;

  constructor(facts: AnswerFacts) {
    this.#facts = facts;
  }

  /** Returns the messages that a chunk completes; empty if there are none. */
  push(chunk: Buffer): Buffer {
    const text = this.#rest + this.#text.write(chunk);
    let from = 0;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n", from)) {
      const data = text.indexOf("data: ", from) + "data: ".length;
      this.#write(JSON.parse(text.slice(data, end)));
      from = end + 2;
    }
    this.#rest = text.slice(from);
    return writer.take();
  }

  #write(event: ProviderEvent): void {
    switch (event.type) {
      case "response.output_text.delta":
        return this.#event(TEXT_DELTA, () => writer.text(2, event.delta));
      case "response.created":
        return this.#start(event.response);
      case "response.content_part.added":
        return this.#event(TEXT_START, () => {});
      case "response.output_item.done":
        return this.#event(TEXT_END, () => {
          writer.text(2, event.item.content[0]?.text ?? "");
          writeState(writer, 4, this.#answeredBy, event.item, this.#facts.model);
        });
      case "response.completed":
        this.finished = true;
        return this.#event(FINISH, () => {
          writeFinishReason(writer, 1, event.response);
          writeUsage(writer, 2, event.response);
          const response = writer.begin(3);
          writeResponse(writer, event.response, this.#facts);
          writer.end(response);
        });
    }
  }

  #start({ model }: ResponseObject): void {
    this.#answeredBy = model;
    this.#startedAt = Date.now();
    this.#event(STREAM_START, () => {
      writer.text(1, this.#facts.inferenceId);
      writer.text(2, "openai");
      writer.text(3, model);
      writeTimestamp(writer, 4, this.#facts.acceptedAt);
      writer.number(6, FINAL_RESPONSE_FULL);
    });
  }

  #event(field: number, writeFields: () => void): void {
    const elapsed = Date.now() - this.#startedAt;
    const frame = writer.beginFrame();
    if (this.#sequence > 0) writer.number(1, this.#sequence);
    if (elapsed > 0) writer.number(2, elapsed);
    this.#sequence++;
    const start = writer.begin(field);
    writeFields();
    writer.end(start);
    writer.endFrame(frame);
  }
}

// Fields of StreamEvent.
const STREAM_START = 10;
const TEXT_START = 11;
const TEXT_DELTA = 12;
const TEXT_END = 13;
const FINISH = 20;

const FINAL_RESPONSE_FULL = 1;
