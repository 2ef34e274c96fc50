import { create } from "@bufbuild/protobuf";
import { ContentPartSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import { asJson, asObject, asString, objectsIn, textIn, tryParseJson } from "../../kit/json/json.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { ReasoningBlock, StreamWriter, TextBlock } from "../../kit/stream/stream-writer.ts";
import type { JsonLine } from "../../wire/command/json-lines.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toAnswer } from "./answer.ts";
import { reportedError } from "./error.ts";
import { toUsage } from "./usage.ts";

/** Longest name of a kind of line, in characters. */
const MAX_KIND_CHARS = 128;

/**
 * Lines of JSON. The text of an object (`text`, or else `content`) is a piece of the answer, and so is a whole line
 * that is not an object. The answer ends when the program exits.
 */
export class JsonLinesDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  #text: TextBlock | undefined;
  #reasoning: ReasoningBlock | undefined;
  #usage: Usage | undefined;

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
    writer.readUsage = () => this.#usage;
  }

  push({ data }: SseEvent): void {
    const line = asObject<JsonLine>(tryParseJson(data));
    if (line === undefined) this.#appendText(data);
    else this.#readLine(line);
  }

  end(): void {
    this.#writer.start("");
    this.#endReasoning();
    this.#writer.finish(toAnswer("exit status 0", this.#usage));
  }

  #readLine(line: Untrusted<JsonLine>): void {
    const { error, usage, reasoning } = line;
    if (error !== undefined && error !== null && error !== "") throw reportedError(error, this.#facts);
    this.#writer.start("");
    const counts = toUsage(usage, this.#facts.request.includeRaw);
    const text = asString(line.text) ?? toContentText(line.content);
    this.#usage = counts ?? this.#usage;
    if (asString(reasoning) !== undefined) this.#appendReasoning(textIn(reasoning));
    if (text !== undefined) this.#appendText(text);
    else if (counts === undefined && asString(reasoning) === undefined) this.#addActivity(line);
  }

  #appendText(text: string): void {
    if (text === "") return;
    this.#writer.start("");
    this.#endReasoning();
    this.#text ??= this.#writer.startText();
    this.#text.append(text);
  }

  #appendReasoning(text: string): void {
    this.#endText();
    this.#reasoning ??= this.#writer.startReasoning();
    this.#reasoning.append(text);
  }

  /** Keeps a line that has no unified form unchanged. */
  #addActivity(line: Untrusted<JsonLine>): void {
    this.#endText();
    this.#endReasoning();
    const kind = (asString(line.type) ?? "line").slice(0, MAX_KIND_CHARS).toWellFormed();
    const dataJson = stringifyJson(asJson(line));
    const value = { provider: this.#facts.provider, kind, dataJson };
    this.#writer.addPart(create(ContentPartSchema, { part: { case: "native", value } }));
  }

  #endText(): void {
    this.#text?.end();
    this.#text = undefined;
  }

  #endReasoning(): void {
    this.#reasoning?.end();
    this.#reasoning = undefined;
  }
}

/** Returns the text of a list of blocks, or of a content that is a text. Undefined if there is none. */
function toContentText(content: unknown): string | undefined {
  if (!Array.isArray(content)) return asString(content);
  const texts = objectsIn(content).flatMap(({ text }) => asString(text) ?? []);
  return texts.length === 0 ? undefined : texts.join("");
}
