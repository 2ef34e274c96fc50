import { Client, EventStream, type ModelClient } from "outrigger";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { ScriptedModel } from "../../generation/support/scripted-model.ts";

/** A client whose model writes many words, one batch each, and records its progress. */
export class WordyClient implements ModelClient {
  written = 0;
  /** Called before each event; the answer continues when its promise is fulfilled. */
  beforeEvent: () => Promise<void> = () => Promise.resolve();
  readonly #words: number;
  readonly #inner = new Client({ providers: { scripted: new ScriptedModel(["x"]) } });

  constructor(words: number) {
    this.#words = words;
  }

  complete: ModelClient["complete"] = (request, options) => this.#inner.complete(request, options);

  stream: ModelClient["stream"] = (request, options) =>
    new EventStream(this.#batches(this.#inner.stream(request, options).batches()));

  /** Repeats the delta of a short answer. */
  async *#batches(source: AsyncIterable<readonly StreamEvent[]>): AsyncGenerator<readonly StreamEvent[]> {
    let sequence = 0;
    const next = (event: StreamEvent): StreamEvent => ({ ...event, sequence: sequence++ });
    for await (const batch of source)
      for (const event of batch) {
        const times = event.event.case === "textDelta" ? this.#words : 1;
        for (let time = 0; time < times; time += 1) {
          await this.beforeEvent();
          this.written += 1;
          yield [next(event)];
        }
      }
  }
}
