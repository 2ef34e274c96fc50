/**
 * Chunks of a stream -> our events (provider documentation: "Streaming", "The chat completion chunk object"). A whole
 * answer is read as a stream of one chunk, so that both agree.
 */

import { StreamError } from "../../core/errors.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import { unreadableEvent } from "../../kit/adapter/failure-body.ts";
import { answerMissing, type CallFacts } from "../../kit/call/call-facts.ts";
import {
  asInt32,
  asObject,
  asString,
  objectIn,
  objectsIn,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import { type DeltaRun, DeltaTemplate } from "../../kit/stream/delta-template.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamWriter } from "../../kit/stream/stream-writer.ts";
import type { ErrorObject } from "../../wire/openai-chat/error.ts";
import type { AnyMessage } from "../../wire/openai-chat/message.ts";
import type { Logprobs } from "../../wire/openai-chat/response.ts";
import {
  type AnyChoice,
  type AnyCompletion,
  type CompletionChunk,
  END_OF_STREAM,
} from "../../wire/openai-chat/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { AnswerFacts } from "./answer-facts.ts";
import { isError, reportedError, reportsFailure } from "./error.ts";
import { MessageWriter } from "./message-writer.ts";
import type { ServerProfile } from "./profile.ts";
import { StateWriter } from "./state.ts";

/** Finds the message, or the delta, in a choice. */
type MessageReader = (choice: Untrusted<AnyChoice>) => Untrusted<AnyMessage> | undefined;

/**
 * Maximum number of chunks that are held back until one names the model. Servers that omit it in the first chunk name
 * it in the second.
 */
const MAX_EARLY = 16;

/** Decodes one answer of the Chat Completions API. */
export class ChatDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  readonly #profile: ServerProfile;
  readonly #states: StateWriter;
  readonly #message: MessageWriter;
  readonly #answer: AnswerFacts;
  readonly #template = new DeltaTemplate();
  /** Index of the choice that is read. Other choices are further answers to the same request. */
  #choice: number | undefined;
  /** Whether there was a message or a delta, even an empty one, or the reason why there is none. */
  #hasMessage = false;
  /** Whether the chunks have deltas. */
  #hasDelta = false;
  /** Chunks that came before the stream could start and are yet to be passed on. */
  readonly #early: { readonly chunk: Untrusted<AnyCompletion>; readonly data: string }[] = [];

  constructor(facts: CallFacts, writer: StreamWriter, profile: ServerProfile) {
    this.#facts = facts;
    this.#writer = writer;
    this.#profile = profile;
    this.#states = new StateWriter(facts);
    this.#message = new MessageWriter(writer, this.#states, profile);
    this.#answer = new AnswerFacts(facts, profile);
    writer.readUsage = () => this.#answer.usage;
  }

  push(event: SseEvent): void {
    const { data, type } = event;
    const text = data.trim();
    if (text === END_OF_STREAM) return this.#endOfStream();
    const chunk = asObject<AnyCompletion>(tryParseJson(text));
    if (chunk === undefined && type === "error") throw reportedError({ detail: text }, this.#facts);
    if (chunk === undefined) throw unreadableEvent(text);
    if (type === "error") throw reportedError(chunk, this.#facts);
    this.#readChunk(chunk, (choice) => this.#getDelta(choice));
    this.#learn(chunk, event);
    if (this.#facts.request.includeRaw) this.#passOn(chunk, data);
  }

  /** Most chunks differ from the one before only in their text. */
  #learn(chunk: Untrusted<AnyCompletion>, event: SseEvent): void {
    // Another answer of several may have the index 0, and with include_raw each chunk is an event.
    if (this.#choice !== 0 || this.#facts.request.includeRaw) return;
    const content = getOnlyContent(chunk);
    // The first chunk has no content yet, but the role.
    if (content) this.#template.learn(event, "content", content);
  }

  pushDeltas(bytes: Buffer, start: number, maxEventBytes: number, joins: boolean): DeltaRun | undefined {
    const run = this.#template.readRun(bytes, start, maxEventBytes, joins);
    for (const content of run?.texts ?? []) this.#message.push({ content });
    return run;
  }

  /** Many servers leave the end marker out: a stream that closes normally after a finish reason has ended too. */
  end(stray: string): void {
    const body = asObject<AnyCompletion>(tryParseJson(stray));
    if (body !== undefined && reportsFailure(body)) throw reportedError(body, this.#facts);
    if (this.#answer.hasFinish && !this.#profile.requireDone) this.#finish("");
  }

  /**
   * Reads the body of a whole answer and finishes.
   * @param rawJson The body verbatim, if the caller asks for it.
   */
  readWhole(body: Untrusted<AnyCompletion>, rawJson: string): Response {
    this.#readChunk(body, toMessage);
    return this.#finish(rawJson);
  }

  #readChunk(chunk: Untrusted<AnyCompletion>, messageIn: MessageReader): void {
    if (reportsFailure(chunk)) throw reportedError(chunk, this.#facts);
    const choices = objectsIn<AnyChoice>(chunk.choices);
    this.#writer.hold(this.#answer.read(chunk, choices));
    this.#states.model = this.#answer.model;
    // A first chunk about the prompt alone does not name the model yet (Azure).
    if (this.#answer.model !== "" || choices.length > 0) this.#start();
    for (const choice of choices) this.#readChoice(choice, chunk, messageIn);
  }

  #readChoice(choice: Untrusted<AnyChoice>, chunk: Untrusted<AnyCompletion>, messageIn: MessageReader): void {
    if (isError(asObject<ErrorObject>(choice.error), true)) throw reportedError(choice, this.#facts);
    const index = asInt32(choice.index) ?? 0;
    this.#choice ??= index;
    if (index !== this.#choice) return this.#noteFurther(choice, chunk);
    const message = messageIn(choice);
    if (message !== undefined) this.#message.push(message);
    const logprobs = asObject<Logprobs>(choice.logprobs);
    if (logprobs !== undefined) this.#message.pushLogprobs(logprobs);
    this.#answer.readFinish(choice);
    this.#writer.hold(this.#answer.readChoice(choice));
    // A choice that was filtered before its first token has no message (Gemini).
    this.#hasMessage ||= message !== undefined || this.#answer.isStopped;
  }

  /**
   * Returns the addition of a chunk. Perplexity repeats the message so far alongside each delta, and MiniMax the whole
   * message instead of the last one.
   */
  #getDelta({ delta, message }: Untrusted<AnyChoice>): Untrusted<AnyMessage> | undefined {
    const addition = asObject<AnyMessage>(delta);
    this.#hasDelta ||= addition !== undefined;
    return this.#hasDelta ? addition : asObject<AnyMessage>(message);
  }

  #start(): void {
    if (this.#writer.started) return;
    this.#writer.start(this.#answer.model);
    for (const { chunk, data } of this.#early) this.#passOn(chunk, data);
  }

  /** Passes further answers on in a stream: the message has no place for them. */
  #noteFurther(choice: Untrusted<AnyChoice>, chunk: Untrusted<AnyCompletion>): void {
    this.#answer.noteFurtherChoice();
    const { includeRaw } = this.#facts.request;
    if (!includeRaw) this.#passOn(chunk, JSON.stringify({ ...chunk, choices: [choice] }));
  }

  #passOn(chunk: Untrusted<AnyCompletion>, data: string): void {
    if (this.#writer.started) this.#writer.providerEvent(textIn(chunk.object), data);
    else {
      this.#writer.hold(data.length);
      this.#early.push({ chunk, data });
      // No chunk named the model in time: the stream starts with the requested one.
      if (this.#early.length > MAX_EARLY) this.#start();
    }
  }

  #endOfStream(): void {
    if (!this.#answer.hasFinish && !this.#isWithheld && this.#profile.requireFinishReason)
      throw new StreamError("the provider's stream ended without a finish reason");
    this.#finish("");
  }

  /** Whether a filter left nothing of the answer. */
  get #isWithheld(): boolean {
    return this.#answer.isSensitive && !this.#writer.outputStarted;
  }

  #finish(rawJson: string): Response {
    const isWithheld = this.#isWithheld;
    if (!this.#hasMessage && !isWithheld) throw answerMissing(this.#facts);
    this.#start();
    this.#message.end(this.#answer.sources, this.#answer.isStopped);
    const { hasToolCalls } = this.#message;
    const hasRefusal = this.#message.hasRefusal || isWithheld;
    return this.#writer.finish(this.#answer.end({ hasToolCalls, hasRefusal }, rawJson));
  }
}

/** Fields of a chunk that say the same whenever they are repeated. */
const REPEATED: ReadonlySet<string> = new Set([
  "choices",
  "created",
  "id",
  "model",
  "object",
  "service_tier",
  "system_fingerprint",
] satisfies (keyof CompletionChunk)[]);

/** Returns the text of a chunk that adds nothing else to the answer; undefined for any other chunk. */
function getOnlyContent(chunk: Untrusted<AnyCompletion>): string | undefined {
  const { choices } = chunk;
  const choice = Array.isArray(choices) && choices.length === 1 ? objectIn(choices[0]) : {};
  const { delta, index, ...rest } = choice;
  const { content, role: _, ...additions } = objectIn(delta);
  const isPlain =
    index === 0 &&
    Object.keys(chunk).every((name) => REPEATED.has(name) || chunk[name as keyof typeof chunk] === null) &&
    [...Object.values(rest), ...Object.values(additions)].every((value) => value === null);
  return isPlain ? asString(content) : undefined;
}

/** Returns the message of a whole answer. Perplexity has an empty delta alongside it. */
function toMessage({ delta, message }: Untrusted<AnyChoice>): Untrusted<AnyMessage> | undefined {
  return asObject<AnyMessage>(message) ?? asObject<AnyMessage>(delta);
}
