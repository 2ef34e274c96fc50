/**
 * Their events -> our events. Every event is a GenerateContentResponse with the parts that are
 * new (provider documentation: "streamGenerateContent"); `#addPart` is the table of contents
 * of the parts. A whole answer is a stream of one event and goes the same way.
 */

import { type SDKError, StreamError } from "../../core/errors.ts";
import type { Citation } from "../../gen/outrigger/v1/message_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import {
  asObject,
  hasOnly,
  isObject,
  objectIn,
  objectsIn,
  textIn,
  tryParseJson,
  without,
} from "../../kit/json/json.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type {
  ReasoningBlock,
  StreamWriter,
  TextBlock,
  ToolCallBlock,
} from "../../kit/stream/stream-writer.ts";
import { AnswerFacts } from "./answer-facts.ts";
import { citationsOf } from "./citations.ts";
import { reportedError } from "./error.ts";
import { PartialArguments } from "./partial-args.ts";
import { answerPart, wholePart } from "./parts.ts";
import { argumentsIn, partsOf, type SpelledPart } from "./source.ts";
import { StateWriter } from "./state.ts";
import { type Candidate, type Chunk, isEmpty, kindOf, type Part } from "./wire.ts";

/** A part whose end has not come yet. */
type OpenPart = OpenText | OpenThought | OpenCall;

/** Text of the answer. */
interface OpenText {
  readonly kind: "text";
  readonly block: TextBlock;
  /** The wire part without its text. */
  readonly rest: Part;
  readonly citations: Citation[];
}

/** Text of the thoughts. */
interface OpenThought {
  readonly kind: "thought";
  readonly block: ReasoningBlock;
  readonly rest: Part;
}

/** A call whose arguments still come. */
interface OpenCall {
  readonly kind: "call";
  readonly block: ToolCallBlock;
  readonly args: PartialArguments;
  /** The wire part without the call's name and arguments. */
  rest: Part;
}

/** Decodes one answer of generateContent or streamGenerateContent. */
export class GeminiDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  readonly #answer: AnswerFacts;
  readonly #raw: string[] = [];
  #states: StateWriter;
  #open: OpenPart | undefined;

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
    this.#answer = new AnswerFacts(facts);
    this.#states = new StateWriter(facts, "");
  }

  push({ data }: SseEvent): void {
    const chunk = tryParseJson(data);
    if (isObject(chunk)) return this.#pushJson(chunk, data);
    const lines = data.split("\n");
    if (lines.length === 1) throw new StreamError("an event of the provider's stream is no JSON object");
    // Proxies that drop empty lines make one event of many.
    for (const line of lines) this.push({ type: "", data: line });
  }

  #pushJson(chunk: Chunk, json: string): void {
    this.pushChunk(chunk, json);
    const { includeRaw } = this.#facts.request;
    if (includeRaw) this.#raw.push(json);
    if (includeRaw || holdsUnknown(chunk)) this.#writer.providerEvent("", json);
  }

  /** Takes one GenerateContentResponse. Throws the failure that it reports. @param json Its text. */
  pushChunk(chunk: Chunk, json: string): void {
    if (asObject(chunk.error) !== undefined) throw this.#failure(chunk);
    this.#start(chunk);
    const first = this.#answer.read(chunk);
    this.#writer.usage = this.#answer.usage;
    if (first !== undefined) this.#addCandidate(first.candidate, partsOf(first.candidate, first.place, json));
  }

  /**
   * The end of the stream is the only end marker, and it counts after a reason to stop alone.
   * @param stray Vertex writes an error into a stream as it is, in no event.
   */
  end(stray: string): void {
    const written = tryParseJson(stray);
    const holder = objectIn(Array.isArray(written) ? written[0] : written);
    if (asObject(holder.error) !== undefined) throw this.#failure(holder);
    if (this.#answer.isComplete) this.#finish(this.#raw.length === 0 ? "" : `[${this.#raw.join(",\n")}]`);
  }

  /** Ends a whole answer, which needs no reason to stop. Undefined where it says nothing. @param rawJson Its body. */
  endWhole(rawJson: string): Response | undefined {
    return this.#answer.isAnswer ? this.#finish(rawJson) : undefined;
  }

  #finish(rawJson: string): Response {
    this.#close(this.#answer.isCutOff);
    for (const { kind, block } of this.#answer.blocks)
      this.#writer.addPart(answerPart(kind, block, this.#states));
    this.#facts.warnings.push(...this.#answer.warnings());
    return this.#writer.finish(this.#answer.toAnswer(rawJson));
  }

  #failure(holder: Chunk): SDKError {
    return reportedError(holder, { ...this.#facts, providerRequestId: this.#answer.id });
  }

  #start({ modelVersion }: Chunk): void {
    if (this.#writer.started) return;
    this.#states = new StateWriter(this.#facts, textIn(modelVersion));
    this.#writer.start(textIn(modelVersion));
  }

  /** Adds what one event brings of the answer. */
  #addCandidate(candidate: Candidate, all: readonly SpelledPart[]): void {
    const parts = all.filter(({ part }) => !isBlank(part));
    // What an event cites belongs to its last text, else to the text that it finds open.
    const cited = parts.findLastIndex(({ part }) => isAnswerText(part));
    if (cited < 0) this.#cite(candidate);
    for (const [index, part] of parts.entries()) {
      this.#addPart(part, index === 0);
      if (index === cited) this.#cite(candidate);
    }
    this.#answer.sawFinish(candidate);
  }

  #cite(candidate: Candidate): void {
    if (this.#open?.kind === "text") this.#open.citations.push(...citationsOf(candidate));
    else this.#answer.keep("citationMetadata", candidate.citationMetadata);
  }

  /** @param continues Whether the part may go on where the event before it ended. */
  #addPart(spelled: SpelledPart, continues: boolean): void {
    const kind = kindOf(spelled.part);
    switch (kind) {
      case "text":
        this.#addText(spelled.part, continues);
        break;
      case "functionCall":
        this.#addCall(spelled);
        break;
      default:
        this.#addWhole(kind, spelled);
    }
    this.#answer.sawPart(kind);
  }

  /** An image, or what has no unified form. */
  #addWhole(kind: string, spelled: SpelledPart): void {
    this.#close();
    this.#writer.addPart(wholePart(kind, spelled, this.#states));
  }

  /** Text grows until another kind of part comes. A part that carries a signature stands alone: the signature is its own. */
  #addText(part: Part, continues: boolean): void {
    const kind = part.thought === true ? "thought" : "text";
    const open = this.#open;
    const isPlain = hasOnly(part, "text", "thought");
    const goesOn = continues && isPlain && open?.kind === kind && hasOnly(open.rest, "thought");
    const { block } = goesOn ? open : this.#beginText(kind, part);
    block.append(textIn(part.text));
  }

  #beginText(kind: "text" | "thought", part: Part): OpenText | OpenThought {
    this.#close();
    const open: OpenText | OpenThought =
      kind === "text"
        ? { kind, rest: without(part, "text", "thought"), block: this.#writer.startText(), citations: [] }
        : { kind, rest: without(part, "text"), block: this.#writer.startReasoning() };
    this.#open = open;
    return open;
  }

  /** A call comes whole, or begins with its name and brings its arguments value by value. */
  #addCall(spelled: SpelledPart): void {
    const { part } = spelled;
    const call = objectIn(part.functionCall);
    const name = textIn(call.name);
    if (name !== "") this.#beginCall(name, part, call);
    else if (this.#open?.kind !== "call") return this.#addNameless(spelled, call);
    else this.#open.rest = joinRests(this.#open.rest, callRest(part, call));
    this.#growCall(call, spelled);
  }

  #beginCall(name: string, part: Part, call: Part): void {
    this.#close();
    this.#answer.sawToolCall();
    const block = this.#writer.startToolCall({ id: textIn(call.id), name });
    this.#open = { kind: "call", block, args: new PartialArguments(), rest: callRest(part, call) };
  }

  #growCall({ args, partialArgs, willContinue }: Part, { spell }: SpelledPart): void {
    if (this.#open?.kind !== "call") return;
    if (args !== undefined) this.#open.block.append(argumentsIn(spell()));
    for (const entry of objectsIn(partialArgs)) this.#open.block.append(this.#open.args.add(entry));
    if (willContinue !== true) this.#close();
  }

  /** The end of a call that has ended already, or a call without a name, which nobody can run. */
  #addNameless(spelled: SpelledPart, call: Part): void {
    const isEnd = isEmpty(call) && hasOnly(spelled.part, "functionCall", "thought");
    if (!isEnd) this.#addWhole("functionCall", spelled);
  }

  /** @param isCutOff A call that a limit cut off is not made to look whole: its arguments stay broken, and are marked. */
  #close(isCutOff = false): void {
    const open = this.#open;
    this.#open = undefined;
    switch (open?.kind) {
      case "text":
        return open.block.end({ citations: open.citations, ...this.#stateOf(open.rest) });
      case "thought":
        return open.block.end({
          redacted: open.block.text === "",
          providerState: this.#states.of(open.rest),
        });
      case "call":
        open.block.append(isCutOff ? unfinished(open.block.text) : open.args.close());
        return open.block.end({ providerState: this.#states.of(open.rest) });
    }
  }

  /** Plain text needs nothing back. */
  #stateOf(rest: Part) {
    return isEmpty(rest) ? {} : { providerState: this.#states.of(rest) };
  }
}

/** What a wire part of a call says beside the name and arguments. */
function callRest(part: Part, call: Part): Part {
  return { ...part, functionCall: without(call, "name", "args", "partialArgs", "willContinue") };
}

function joinRests(earlier: Part, later: Part): Part {
  const functionCall = { ...objectIn(earlier.functionCall), ...objectIn(later.functionCall) };
  return { ...earlier, ...later, functionCall };
}

/** What leaves arguments broken that were cut off; none at all would count as an empty object. */
function unfinished(args: string): string {
  return args === "" ? "{" : "";
}

/** A part without anything to say or to send back: the API ends streams with empty texts. */
function isBlank(part: Part): boolean {
  return textIn(part.text) === "" && hasOnly(part, "text", "thought");
}

function isAnswerText(part: Part): boolean {
  return kindOf(part) === "text" && part.thought !== true && textIn(part.text) !== "";
}

/** Keys of an event that are read, or that say nothing which a caller has to keep. */
const CHUNK_KEYS: ReadonlySet<string> = new Set([
  "candidates",
  "promptFeedback",
  "usageMetadata",
  "modelVersion",
  "responseId",
  "createTime",
]);

function holdsUnknown(chunk: Chunk): boolean {
  return Object.keys(chunk).some((key) => !CHUNK_KEYS.has(key));
}
