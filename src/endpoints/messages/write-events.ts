/** Events of a stream -> events of Anthropic's API ("Streaming messages"). */
import type { SDKError } from "../../core/errors.ts";
import {
  type Finish,
  type ReasoningEnd,
  type StreamEvent,
  type TextEnd,
  type ToolCallEnd,
  type ToolCallStart,
  ToolCallStart_InputKind,
} from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { readAnswerMetadata } from "../answers/answer-metadata.ts";
import { encodeOtherParts } from "../responses/provider-state.ts";
import { BatchWriter } from "../stateless/batch-writer.ts";
import { createPartWithState } from "../stateless/part-with-state.ts";
import { toErrorBody } from "./errors.ts";
import { writeCarried, writeThinking } from "./provider-state.ts";
import {
  writeBlock,
  writeCitations,
  writeContainer,
  writeFurther,
  writeHead,
  writeStop,
  writeUsage,
} from "./write-response.ts";

/** A block that has begun. The API has one open block at a time, so the others wait for their turn. */
interface Block {
  /** Functions that write its waiting events, once the index of the block is known. */
  readonly events: ((index: number) => string)[];
  /** Whether its start was added. A text starts with its first delta, since the API has no empty text blocks. */
  hasStarted: boolean;
  hasEnded: boolean;
}

/** Writes the events of one stream. */
export class MessageWriter extends BatchWriter {
  readonly #anthropic: string;
  /** Index of the block that is being written. */
  #index = 0;
  /** The blocks that have not been written completely, in the order of their beginning. */
  readonly #blocks: Block[] = [];
  /** The blocks of the open parts, by the indices of the parts. */
  readonly #openBlocks = new Map<number, Block>();
  /** Indices of the parts that are calls of custom tools. */
  readonly #customCalls = new Set<number>();

  /**
   * @param anthropic Name of the provider whose native parts are blocks of this API. Empty if it speaks another API.
   */
  constructor(anthropic: string) {
    super();
    this.#anthropic = anthropic;
  }

  fail(error: SDKError): string {
    this.text += toEvent("error", toErrorBody(error));
    return this.take();
  }

  protected push(event: StreamEvent["event"]): void {
    switch (event.case) {
      case "streamStart": {
        const { inferenceId, model } = event.value;
        const head = {
          ...writeHead(inferenceId, model),
          content: [],
          stop_reason: null,
          stop_sequence: null,
          stop_details: null,
        };
        const message = { ...head, usage: writeUsage(undefined) };
        this.text += toEvent("message_start", { type: "message_start", message });
        return;
      }
      case "textStart":
        this.#open(event.value.partIndex);
        return;
      case "textDelta":
        return this.#delta(event.value.partIndex, "text_delta", "text", event.value.delta);
      case "textEnd":
        return this.#endText(event.value);
      case "reasoningDelta": {
        const { partIndex, delta } = event.value;
        if (!this.#openBlocks.has(partIndex))
          this.#begin(partIndex, { type: "thinking", thinking: "", signature: "" });
        return this.#delta(partIndex, "thinking_delta", "thinking", delta);
      }
      case "reasoningEnd":
        return this.#endReasoning(event.value);
      case "toolCallStart":
        return this.#beginCall(event.value);
      case "toolCallDelta": {
        const { partIndex, delta } = event.value;
        if (this.#customCalls.has(partIndex)) return;
        return this.#delta(partIndex, "input_json_delta", "partial_json", delta);
      }
      case "toolCallEnd":
        return this.#endCall(event.value);
      case "partAdded": {
        const { part, partIndex } = event.value;
        const block = part && writeBlock(part, this.#anthropic);
        return block && this.#addWhole(partIndex, block);
      }
      case "finish":
        return this.#finish(event.value);
      default:
        // A reasoning part begins with its first delta. An error event is followed by the failure, which `fail` writes.
        return;
    }
  }

  #endText({ partIndex, citations }: TextEnd): void {
    const { citations: written = [] } = writeCitations({ citations });
    for (const citation of Array.isArray(written) ? written : [])
      this.#emitDelta(partIndex, { type: "citations_delta", citation });
    this.#end(partIndex);
  }

  /** A block without visible text is written at its end, when it is known whether the provider redacted it. */
  #endReasoning({ partIndex, text, redacted, providerState }: ReasoningEnd): void {
    const part = createPartWithState({ case: "reasoning", value: { text, redacted } }, providerState);
    const block = writeThinking(part);
    if (block.type === "redacted_thinking") return this.#addWhole(partIndex, block);
    if (!this.#openBlocks.has(partIndex))
      this.#begin(partIndex, { type: "thinking", thinking: "", signature: "" });
    this.#emitDelta(partIndex, { type: "signature_delta", signature: block.signature ?? "" });
    this.#end(partIndex);
  }

  #beginCall({ partIndex, id, name, inputKind }: ToolCallStart): void {
    if (inputKind === ToolCallStart_InputKind.TEXT) this.#customCalls.add(partIndex);
    this.#begin(partIndex, { type: "tool_use", id, name, input: {} });
  }

  #endCall({ partIndex, toolCall }: ToolCallEnd): void {
    // In this API, the inputs of all tools are objects.
    if (this.#customCalls.has(partIndex)) {
      const json = JSON.stringify({ input: toolCall?.input.value ?? "" });
      this.#delta(partIndex, "input_json_delta", "partial_json", json);
    }
    this.#end(partIndex);
  }

  #finish({ response, usage }: Finish): void {
    if (response === undefined) return;
    const { content = [] } = response.message ?? {};
    const carried = encodeOtherParts(content);
    if (carried !== null) this.#addWhole(Number.POSITIVE_INFINITY, writeCarried(carried));
    const metadata = readAnswerMetadata(response);
    const delta = { ...writeStop(response, metadata), ...writeContainer(content, this.#anthropic) };
    const data = { delta, usage: writeUsage(usage, metadata), ...writeFurther(metadata) };
    this.text += toEvent("message_delta", { type: "message_delta", ...data });
    this.text += toEvent("message_stop", { type: "message_stop" });
  }

  #addWhole(partIndex: number, block: JsonObject): void {
    this.#begin(partIndex, block);
    this.#end(partIndex);
  }

  #begin(partIndex: number, content: JsonObject): void {
    this.#start(this.#open(partIndex), content);
  }

  #open(partIndex: number): Block {
    const block: Block = { events: [], hasStarted: false, hasEnded: false };
    this.#openBlocks.set(partIndex, block);
    this.#blocks.push(block);
    return block;
  }

  #start(block: Block, content: JsonObject): void {
    block.hasStarted = true;
    const json = JSON.stringify(content);
    this.#add(block, (index) => blockEvent("content_block_start", index, `"content_block":${json}`));
  }

  #delta(partIndex: number, type: string, field: string, delta: string): void {
    this.#addDelta(partIndex, `{"type":"${type}","${field}":${JSON.stringify(delta)}}`);
  }

  #emitDelta(partIndex: number, delta: JsonObject): void {
    this.#addDelta(partIndex, JSON.stringify(delta));
  }

  #addDelta(partIndex: number, json: string): void {
    const block = this.#openBlocks.get(partIndex);
    if (block === undefined) return;
    if (!block.hasStarted) this.#start(block, { type: "text", text: "" });
    this.#add(block, (index) => blockEvent("content_block_delta", index, `"delta":${json}`));
  }

  #end(partIndex: number): void {
    const block = this.#openBlocks.get(partIndex);
    if (block === undefined) return;
    this.#openBlocks.delete(partIndex);
    if (block.hasStarted) this.#add(block, (index) => blockEvent("content_block_stop", index, ""));
    block.hasEnded = true;
    while (this.#blocks[0]?.hasEnded === true) this.#advance();
  }

  #add(block: Block, write: (index: number) => string): void {
    if (block === this.#blocks[0]) this.text += write(this.#index);
    else block.events.push(write);
  }

  /** Continues with the next block, which may have waited. */
  #advance(): void {
    if (this.#blocks.shift()?.hasStarted === true) this.#index += 1;
    const [next] = this.#blocks;
    for (const write of next?.events.splice(0) ?? []) this.text += write(this.#index);
  }
}

function blockEvent(type: string, index: number, member: string): string {
  return `event: ${type}\ndata: {"type":"${type}","index":${index}${member === "" ? "" : `,${member}`}}\n\n`;
}

function toEvent(type: string, data: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
