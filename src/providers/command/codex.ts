import { create } from "@bufbuild/protobuf";
import { StreamError } from "../../core/errors.ts";
import { ContentPartSchema } from "../../gen/outrigger/v1/message_pb.ts";
import { repeatableMessage } from "../../kit/adapter/classify.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import { boundedId } from "../../kit/call/call-facts.ts";
import { warning } from "../../kit/call/loss-report.ts";
import { asJson, asObject, textIn, tryParseJson } from "../../kit/json/json.ts";
import { stringifyJson } from "../../kit/json/json-source.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { ReasoningBlock, StreamWriter, TextBlock } from "../../kit/stream/stream-writer.ts";
import type { CodexEvent, CodexItem } from "../../wire/command/codex.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toAnswer } from "./answer.ts";
import { reportedError } from "./error.ts";
import { toUsage } from "./usage.ts";

/** Maximum number of messages of the program that become warnings; further ones are left out. */
const MAX_MESSAGES = 16;

/** Longest name of a kind of item, in characters. */
const MAX_KIND_CHARS = 128;

/**
 * The events of `codex exec --json`. Messages and reasoning arrive when they end, or grow by updates; other activities
 * of the agent (commands, file changes, tool calls, searches) become native parts. `turn.completed` ends the answer.
 */
export class CodexDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  /** Messages and reasoning that have begun, by the ids of their items. */
  readonly #open = new Map<string, TextBlock | ReasoningBlock>();
  #threadId = "";
  #messages = 0;

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
  }

  push({ data }: SseEvent): void {
    if (data.trim() === "") return;
    const event = asObject<CodexEvent>(tryParseJson(data));
    // A wrapper around the program may write other lines.
    if (event === undefined) this.#note(data);
    else this.#readEvent(event);
  }

  end(): void {
    throw new StreamError("the program ended without the event turn.completed");
  }

  #readEvent(event: Untrusted<CodexEvent>): void {
    switch (event.type) {
      case "thread.started":
        this.#threadId = boundedId(textIn(event.thread_id));
        break;
      case "item.started":
      case "item.updated":
        this.#readItem(event.item, false);
        break;
      case "item.completed":
        this.#readItem(event.item, true);
        break;
      case "turn.completed":
        this.#finish(event.usage);
        break;
      case "turn.failed":
        throw reportedError(event.error, this.#facts);
      case "error":
        // Another attempt may follow; if none does, the turn fails.
        this.#note(textIn(event.message));
        break;
      default:
    }
    if (this.#facts.request.includeRaw && !this.#writer.ended)
      this.#started().providerEvent(getKind(event.type), stringifyJson(asJson(event)));
  }

  #readItem(found: unknown, isComplete: boolean): void {
    const item = asObject<CodexItem>(found);
    if (item === undefined) return;
    switch (item.type) {
      case "agent_message":
      case "reasoning":
        this.#readText(item, isComplete);
        break;
      case "error":
        this.#note(textIn(item.message));
        break;
      default:
        if (isComplete) this.#addActivity(item);
    }
  }

  /** Adds a message or reasoning, whose text is whole each time. */
  #readText(item: Untrusted<CodexItem>, isComplete: boolean): void {
    const [id, text] = [textIn(item.id), textIn(item.text)];
    const started = this.#open.get(id);
    if (started === undefined && text === "") return;
    const block = started ?? this.#begin(item.type === "reasoning");
    block.complete(text);
    if (!isComplete) this.#open.set(id, block);
    else {
      block.end();
      this.#open.delete(id);
    }
  }

  #begin(isReasoning: boolean): TextBlock | ReasoningBlock {
    return isReasoning ? this.#started().startReasoning() : this.#started().startText();
  }

  /** Starts the stream with the first output, so that an earlier failure is not preceded by events. */
  #started(): StreamWriter {
    this.#writer.start("");
    return this.#writer;
  }

  #addActivity(item: Untrusted<CodexItem>): void {
    const dataJson = stringifyJson(asJson(item));
    const value = { provider: this.#facts.provider, kind: getKind(item.type), dataJson };
    this.#started().addPart(create(ContentPartSchema, { part: { case: "native", value } }));
  }

  #note(message: string): void {
    this.#messages += 1;
    if (this.#messages > MAX_MESSAGES) return;
    const { request, withoutKeys = (text) => text } = this.#facts;
    const text = repeatableMessage(withoutKeys(message), request);
    if (text !== "") this.#facts.warnings.push(warning("", "provider_message", text));
  }

  #finish(usage: unknown): void {
    const { includeRaw } = this.#facts.request;
    this.#started().finish(toAnswer("turn.completed", toUsage(usage, includeRaw), this.#threadId));
  }
}

function getKind(type: unknown): string {
  return textIn(type).slice(0, MAX_KIND_CHARS).toWellFormed();
}
