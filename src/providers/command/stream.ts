/** Their output -> our events: synchronous state machines, one for each form of output. */
import type { CallFacts } from "../../kit/call/call-facts.ts";
import type { CreateParser, StreamDecoder } from "../../kit/stream/decode-stream.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamWriter, TextBlock } from "../../kit/stream/stream-writer.ts";
import { parseLines, parseText } from "../../kit/stream/text-parsers.ts";
import { toAnswer } from "./answer.ts";
import { CodexDecoder } from "./codex.ts";
import { JsonLinesDecoder } from "./json-lines.ts";
import type { CommandFormat } from "./settings.ts";

/** How the output of a format is split. */
export function getParser(format: CommandFormat): CreateParser {
  return format === "text" ? parseText : parseLines;
}

/** Creates the decoder of one answer. */
export function createDecoder(format: CommandFormat, facts: CallFacts, writer: StreamWriter): StreamDecoder {
  switch (format) {
    case "text":
      return new PlainTextDecoder(writer);
    case "json-lines":
      return new JsonLinesDecoder(facts, writer);
    case "codex":
      return new CodexDecoder(facts, writer);
  }
}

/** Output that is the answer itself. It ends with the program. */
class PlainTextDecoder implements StreamDecoder {
  readonly #writer: StreamWriter;
  #text: TextBlock | undefined;

  constructor(writer: StreamWriter) {
    this.#writer = writer;
  }

  push({ data }: SseEvent): void {
    this.#writer.start("");
    this.#text ??= this.#writer.startText();
    this.#text.append(data);
  }

  end(): void {
    this.#writer.start("");
    this.#writer.finish(toAnswer("exit status 0", undefined));
  }
}
