import type { Citation } from "../../gen/outrigger/v1/message_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { warning } from "../../kit/adapter/loss-report.ts";
import { asObject, type JsonObject, textIn } from "../../kit/json/json.ts";
import type { StreamedAnswer } from "../../kit/stream/stream-writer.ts";
import { sourcesIn } from "./citations.ts";
import { finishReasonOf, type Held } from "./finish-reason.ts";
import { countsIn, mismatchesIn, usageOf } from "./usage.ts";
import type { Choice, Chunk } from "./wire.ts";

/**
 * What the chunks of one stream, or the one body of a whole answer, say beside the message. Every
 * chunk may repeat or complete what earlier ones said.
 */
export class AnswerFacts {
  readonly #facts: CallFacts;
  #id = "";
  #model = "";
  #requestId = "";
  #counts: JsonObject | undefined;
  #usage: Usage | undefined;
  #finish = "";
  #hasFurtherChoices = false;
  /** Sources that are named beside the message. */
  sources: readonly Citation[] = [];

  constructor(facts: CallFacts) {
    this.#facts = facts;
  }

  /** The model as the server reports it; empty until it does. */
  get model(): string {
    return this.#model;
  }

  /** Whether the server has said why the model stopped. */
  get hasFinish(): boolean {
    return this.#finish !== "";
  }

  /** The counts so far: those of the last chunk that has any, since they are cumulative. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** Takes what a chunk says. @param choices Its choices. */
  read(chunk: Chunk, choices: readonly Choice[]): void {
    this.#id ||= textIn(chunk.id);
    this.#model ||= textIn(chunk.model);
    this.#requestId ||= textIn(asObject(chunk.x_groq)?.id) || textIn(chunk.request_id);
    const counts = countsIn(chunk, choices);
    if (counts !== undefined) {
      this.#counts = counts;
      this.#usage = usageOf(counts, this.#facts.request.includeRaw);
    }
    this.sources = sourcesIn(chunk) ?? this.sources;
  }

  /** Takes why a choice ended. The first word stands: servers repeat it. An empty one is what others send for null. */
  readFinish({ finish_reason: reason }: Choice): void {
    this.#finish ||= textIn(reason);
  }

  /** Notes that there is an answer beside the first. */
  noteFurtherChoice(): void {
    this.#hasFurtherChoices = true;
  }

  /** The answer, all that there is beside its content. Adds to the warnings of the call. */
  end(held: Held, rawJson: string): StreamedAnswer {
    const usage = this.#usage;
    this.#facts.warnings.push(
      ...mismatchesIn(this.#counts, usage),
      ...(this.#hasFurtherChoices ? [warning("", "further_candidates", FURTHER_CHOICES)] : []),
    );
    return {
      id: this.#id,
      model: this.#model,
      finishReason: finishReasonOf(this.#finish, held),
      usage,
      rawJson,
      providerRequestId: this.#facts.providerRequestId || this.#requestId,
    };
  }
}

const FURTHER_CHOICES = "the model wrote several answers; only the first is in the message";
