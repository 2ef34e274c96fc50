import { equals } from "@bufbuild/protobuf";
import { type ContentPart, ContentPartSchema, type ToolCall } from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse } from "../gen/outrigger/v1/request_pb.ts";
import type { Finish, StreamEvent, ToolCallEnd } from "../gen/outrigger/v1/stream_event_pb.ts";
import { StreamError } from "./errors.ts";
import { GrowingText } from "./text.ts";
import { toolInputOf } from "./tools.ts";

type BlockKind = "text" | "reasoning" | "toolCall";

/** The state of a part while its stream runs. */
interface Block {
  readonly kind: BlockKind | "whole";
  open: boolean;
  /** The joined deltas so far. Empty for a part that arrives whole. */
  readonly text: GrowingText;
  /** Id of a tool call. Empty for other parts. */
  readonly id: string;
  /** The part, if it arrived whole. */
  readonly part: ContentPart | undefined;
}

/**
 * Checks that one stream obeys the laws at `StreamEvent` in the contract: laws 1 to 5, 9 and 10. Laws 6 to 8 need more
 * than the events and have separate tests. One instance per stream.
 */
export class LawChecker {
  #next = 0;
  #terminal = false;
  /** Whether the end of the stream repeats no content: FINAL_RESPONSE_WITHOUT_CONTENT. */
  #isContentSentOnce = false;
  readonly #blocks = new Map<number, Block>();
  readonly #toolCallIds = new Set<string>();

  /** Takes the next event. Throws StreamError naming the law that the event violates. */
  check(event: StreamEvent): void {
    this.#checkEnvelope(event);
    const { event: step } = event;
    switch (step.case) {
      case "streamStart":
        this.#isContentSentOnce = step.value.finalResponse === FinalResponse.WITHOUT_CONTENT;
        break;
      case "textStart":
      case "reasoningStart":
        this.#start(step.value.partIndex, step.case === "textStart" ? "text" : "reasoning");
        break;
      case "toolCallStart":
        this.#takeToolCallId(step.value.id);
        this.#start(step.value.partIndex, "toolCall", { id: step.value.id });
        break;
      case "textDelta":
        this.#delta(step.value.partIndex, "text", step.value.delta);
        break;
      case "reasoningDelta":
        this.#delta(step.value.partIndex, "reasoning", step.value.delta);
        break;
      case "toolCallDelta":
        this.#delta(step.value.partIndex, "toolCall", step.value.delta);
        break;
      case "textEnd":
        this.#endText(step.value.partIndex, "text", step.value.text);
        break;
      case "reasoningEnd":
        this.#endText(step.value.partIndex, "reasoning", step.value.text);
        break;
      case "toolCallEnd":
        this.#endToolCall(step.value);
        break;
      case "partAdded":
        this.#add(step.value.partIndex, step.value.part);
        break;
      case "finish":
        this.#terminal = true;
        this.#finish(step.value);
        break;
      case "error":
        this.#terminal = true;
        break;
      default:
        break;
    }
  }

  /** Called once after the last event. Throws StreamError if the terminal event is missing. */
  end(): void {
    if (!this.#terminal) broken(1, "the stream ended without finish or error");
  }

  #checkEnvelope({ sequence, event }: StreamEvent): void {
    if (this.#terminal) broken(1, `${event.case} came after the terminal event`);
    if (sequence !== this.#next) broken(2, `sequence is ${sequence}, expected ${this.#next}`);
    if ((event.case === "streamStart") !== (sequence === 0))
      broken(1, `${event.case} has sequence ${sequence}`);
    this.#next += 1;
  }

  #takeToolCallId(id: string): void {
    if (id === "" || this.#toolCallIds.has(id)) broken(5, `tool call id "${id}" is empty or used twice`);
    this.#toolCallIds.add(id);
  }

  #start(index: number, kind: Block["kind"], facts: { id?: string; part?: ContentPart } = {}): void {
    if (this.#blocks.has(index)) broken(3, `part ${index} starts twice`);
    const { id = "", part } = facts;
    this.#blocks.set(index, { kind, open: kind !== "whole", text: new GrowingText(), id, part });
  }

  #delta(index: number, kind: BlockKind, delta: string): void {
    const block = this.#openBlock(index, kind);
    if (delta === "") broken(3, `part ${index} has an empty delta`);
    if (!delta.isWellFormed()) broken(10, `part ${index} has half of a surrogate pair`);
    block.text.append(delta);
  }

  #end(index: number, kind: BlockKind, text: string): Block {
    const block = this.#openBlock(index, kind);
    if (block.text.value !== text) broken(4, `part ${index} ends with a text that differs from its deltas`);
    block.open = false;
    return block;
  }

  #endText(index: number, kind: "text" | "reasoning", text: string): void {
    if (!this.#isContentSentOnce) this.#end(index, kind, text);
    else if (text === "") this.#openBlock(index, kind).open = false;
    else broken(4, `part ${index} ends with text, which the caller requested only once`);
  }

  #endToolCall({ partIndex, toolCall }: ToolCallEnd): void {
    const { id } = this.#end(partIndex, "toolCall", toolCall === undefined ? "" : toolInputOf(toolCall));
    if (toolCall?.id !== id) broken(5, `tool call "${id}" ends with the id "${toolCall?.id}"`);
    if (toolCall.argumentsInvalid !== hasInvalidArguments(toolCall))
      broken(
        5,
        `tool call "${id}" is marked wrongly: its arguments ${toolCall.argumentsInvalid ? "" : "do not "}parse`,
      );
  }

  #add(index: number, part: ContentPart | undefined): void {
    if (part?.part.case === undefined) broken(3, `part ${index} was added empty`);
    this.#start(index, "whole", { part });
  }

  #openBlock(index: number, kind: BlockKind): Block {
    const block = this.#blocks.get(index);
    if (block?.kind !== kind || !block.open) broken(3, `part ${index} has no open ${kind} block`);
    return block;
  }

  #finish({ response }: Finish): void {
    if (response === undefined) broken(4, "finish has no response");
    const content = response.message?.content ?? [];
    for (const [index, block] of this.#blocks) {
      if (block.open) broken(3, `part ${index} is open at finish`);
    }
    if (this.#isContentSentOnce) {
      if (content.length > 0) broken(4, "the response has content, which the caller requested only once");
      return;
    }
    if (content.length !== this.#blocks.size) {
      broken(3, `the response has ${content.length} parts, the stream had ${this.#blocks.size}`);
    }
    content.forEach((part, index) => {
      this.#comparePart(index, part);
    });
  }

  #comparePart(index: number, whole: ContentPart): void {
    const block = this.#blocks.get(index);
    if (block === undefined) broken(3, `part ${index} of the response was never sent`);
    const { part } = whole;
    if (block.part === undefined ? !matchesPart(block, part) : !isSame(block.part, whole))
      broken(4, `part ${index} differs between stream and response`);
    if (part.case === "toolCall" && block.part === undefined && part.value.id !== block.id)
      broken(5, `tool call "${block.id}" has the id "${part.value.id}" in the response`);
  }
}

function matchesPart({ kind, text }: Block, part: ContentPart["part"]): boolean {
  return kind === (part.case === "reasoning" ? "reasoning" : part.case) && text.value === finalText(part);
}

function isSame(added: ContentPart, final: ContentPart): boolean {
  return added === final || equals(ContentPartSchema, added, final);
}

/** Reports whether arguments that should be JSON cannot be parsed. The input of a custom tool is free text. */
function hasInvalidArguments({ input }: ToolCall): boolean {
  if (input.case !== "argumentsJson") return false;
  try {
    JSON.parse(input.value);
    return false;
  } catch {
    return true;
  }
}

function finalText(part: ContentPart["part"]): string {
  switch (part.case) {
    case "text":
      return part.value;
    case "reasoning":
      return part.value.text;
    case "toolCall":
      return toolInputOf(part.value);
    default:
      return "";
  }
}

function broken(law: number, what: string): never {
  throw new StreamError(`law ${law} of a stream is broken: ${what}`);
}
