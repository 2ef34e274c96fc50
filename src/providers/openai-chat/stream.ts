/**
 * Their chunks -> our events (provider documentation: "Streaming", "The chat completion chunk
 * object"). A whole answer is read as a stream of one chunk, so that both agree.
 */

import { ServerError, StreamError } from "../../core/errors.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import {
  asInt32,
  asObject,
  isObject,
  objectIn,
  objectsIn,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamWriter } from "../../kit/stream/stream-writer.ts";
import { AnswerFacts } from "./answer-facts.ts";
import { reportedError, reportsFailure } from "./error.ts";
import { MessageWriter } from "./message-writer.ts";
import type { ServerProfile } from "./profile.ts";
import { StateWriter } from "./state.ts";
import type { Choice, Chunk, Delta } from "./wire.ts";

/** The end marker of a stream. */
const DONE = "[DONE]";

/** Decodes one answer of the Chat Completions API. */
export class ChatDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  readonly #profile: ServerProfile;
  readonly #states: StateWriter;
  readonly #message: MessageWriter;
  readonly #answer: AnswerFacts;
  /** Number of the choice that is read. Others are further answers to the same request. */
  #choice: number | undefined;
  /** Chunks to pass on that came before the stream could start. */
  readonly #early: { readonly chunk: Chunk; readonly data: string }[] = [];

  constructor(facts: CallFacts, writer: StreamWriter, profile: ServerProfile) {
    this.#facts = facts;
    this.#writer = writer;
    this.#profile = profile;
    this.#states = new StateWriter(facts);
    this.#message = new MessageWriter(writer, this.#states, profile);
    this.#answer = new AnswerFacts(facts);
  }

  push({ data, type }: SseEvent): void {
    const text = data.trim();
    if (text === "") return;
    if (text === DONE) return this.#done();
    const chunk = tryParseJson(text);
    if (!isObject(chunk)) throw new StreamError("an event of the provider's stream is no JSON object");
    if (type === "error") throw reportedError(chunk, this.#facts);
    this.#readChunk(chunk, deltaOf);
    if (this.#facts.request.includeRaw) this.#passOn(chunk, data);
  }

  /** Many servers leave the end marker out: a clean end after a finish reason is the end too. */
  end(stray: string): void {
    const body = asObject(tryParseJson(stray));
    if (body !== undefined && reportsFailure(body)) throw reportedError(body, this.#facts);
    if (this.#answer.hasFinish && !this.#profile.requireDone) this.#finish("");
    // The whole answer, sent as if it were a stream.
    else if (body !== undefined && !this.#writer.started) this.readWhole(body, "");
  }

  /**
   * Takes the body of a whole answer and finishes.
   * @param rawJson The body verbatim, where it was asked for.
   */
  readWhole(body: Chunk, rawJson: string): Response {
    this.#readChunk(body, messageOf);
    if (this.#choice === undefined) throw this.#noChoices();
    return this.#finish(rawJson);
  }

  #readChunk(chunk: Chunk, saidBy: (choice: Choice) => Delta): void {
    if (reportsFailure(chunk)) throw reportedError(chunk, this.#facts);
    const choices = objectsIn(chunk.choices);
    this.#answer.read(chunk, choices);
    this.#states.model = this.#answer.model;
    this.#writer.usage = this.#answer.usage;
    // A first chunk about the prompt alone does not name the model yet (Azure).
    if (this.#answer.model !== "" || choices.length > 0) this.#start();
    for (const choice of choices) this.#readChoice(choice, chunk, saidBy);
  }

  #readChoice(choice: Choice, chunk: Chunk, saidBy: (choice: Choice) => Delta): void {
    if (isObject(choice.error)) throw reportedError(choice, this.#facts);
    const index = asInt32(choice.index) ?? 0;
    this.#choice ??= index;
    if (index !== this.#choice) return this.#noteFurther(choice, chunk);
    this.#message.push(saidBy(choice));
    if (isObject(choice.logprobs)) this.#message.pushLogprobs(choice.logprobs);
    this.#answer.readFinish(choice);
  }

  #start(): void {
    if (this.#writer.started) return;
    this.#writer.start(this.#answer.model);
    for (const { chunk, data } of this.#early) this.#passOn(chunk, data);
  }

  /** Further answers have no place in the message; in a stream they pass as they are. */
  #noteFurther(choice: Choice, chunk: Chunk): void {
    this.#answer.noteFurtherChoice();
    const { includeRaw } = this.#facts.request;
    if (!includeRaw) this.#passOn(chunk, JSON.stringify({ ...chunk, choices: [choice] }));
  }

  #passOn(chunk: Chunk, data: string): void {
    if (this.#writer.started) this.#writer.providerEvent(textIn(chunk.object), data);
    else this.#early.push({ chunk, data });
  }

  #done(): void {
    if (!this.#answer.hasFinish && this.#profile.requireFinishReason)
      throw new StreamError("the provider's stream ended without a finish reason");
    this.#finish("");
  }

  #finish(rawJson: string): Response {
    this.#start();
    this.#message.end(this.#answer.sources);
    const held = { toolCalls: this.#message.hasToolCalls, refusal: this.#message.hasRefusal };
    return this.#writer.finish(this.#answer.end(held, rawJson));
  }

  #noChoices(): ServerError {
    const { provider, providerRequestId } = this.#facts;
    const message = "the provider answered with success and without an answer";
    return new ServerError(message, { provider, requestId: providerRequestId });
  }
}

/** What a chunk of a stream says. Perplexity repeats the message so far beside each delta. */
function deltaOf({ delta, message }: Choice): Delta {
  return asObject(delta) ?? objectIn(message);
}

/** What a whole answer says. Perplexity has an empty delta beside the message. */
function messageOf({ delta, message }: Choice): Delta {
  return asObject(message) ?? objectIn(delta);
}
