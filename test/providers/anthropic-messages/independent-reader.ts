/**
 * Reads recordings of the Messages API independently of the adapter, written from the API's
 * documentation and sharing no code with it, in a simple form that can be compared with the
 * adapter's result.
 */
import type { ContentPart } from "../../../src/gen/outrigger/v1/message_pb.ts";

/** The content of one part of an answer. */
export type PartContent = Readonly<Record<string, unknown>>;

// The fields of recordings are not typed: they are read as the servers sent them.
type Wire = Record<string, unknown>;

/** A stream, read as a whole. */
export interface StreamReading {
  /** The message that the events add up to, or undefined if it never started. */
  readonly message: Wire | undefined;
  /** All events. */
  readonly events: readonly Wire[];
  /** The failure that the stream reports. */
  readonly error: Wire | undefined;
}

/** Accumulates a stream as the documentation of its events describes. */
export function readStream(bytes: Buffer): StreamReading {
  const events = toData(bytes);
  const started = events.find(({ type }) => type === "message_start")?.message as Wire | undefined;
  const error = events.find(({ type }) => type === "error");
  if (started === undefined) return { message: undefined, events, error };
  const usage = { ...(started.usage as Wire) };
  const message: Wire = { ...started, usage, content: [...list(started.content), ...readBlocks(events)] };
  for (const event of events.filter(({ type }) => type === "message_delta")) {
    const { type: _, delta, usage: __, ...rest } = event;
    Object.assign(message, withoutNulls(rest), withoutNulls(delta as Wire));
    Object.assign(usage, withoutNulls((event.usage ?? {}) as Wire));
  }
  const served = list(message.content).findLast(({ type }) => type === "fallback")?.to as Wire | undefined;
  return { message: { ...message, ...served }, events, error };
}

function readBlocks(events: readonly Wire[]): Wire[] {
  const starts = events.filter(({ type }) => type === "content_block_start");
  return starts.map(({ index, content_block: block }) => {
    const deltaEvents = events.filter(
      (event) => event.type === "content_block_delta" && event.index === index,
    );
    return readBlock(
      block as Wire,
      deltaEvents.map(({ delta }) => delta as Wire),
    );
  });
}

function readBlock(start: Wire, deltas: readonly Wire[]): Wire {
  const block = structuredClone(start);
  const json = deltas.map(({ partial_json: text }) => text ?? "").join("");
  if (json !== "") block.input = block.type === "tool_use" ? { json } : JSON.parse(json);
  for (const delta of deltas) {
    if (delta.type === "text_delta") block.text = `${block.text}${delta.text}`;
    if (delta.type === "thinking_delta") block.thinking = `${block.thinking}${delta.thinking}`;
    if (delta.type === "signature_delta") block.signature = delta.signature;
    if (delta.type === "citations_delta") block.citations = [...list(block.citations), delta.citation];
    if (delta.type === "compaction_delta") Object.assign(block, { ...delta, type: block.type });
  }
  return block;
}

/** The content of a message's blocks. Arguments are compared as text if they were streamed. */
export function readContent({ content, container }: Wire): PartContent[] {
  const blocks = list(content);
  const contents = blocks.map((block): PartContent => {
    switch (block.type) {
      case "text":
        return { text: block.text, citations: block.citations ?? [] };
      case "thinking":
        return { thinking: block.thinking, signature: block.signature, redacted: undefined };
      case "redacted_thinking":
        return { thinking: "", signature: undefined, redacted: block.data };
      case "tool_use":
        return { call: block.name, id: block.id, ...readInput(block.input as Wire), caller: block.caller };
      default:
        return { native: block };
    }
  });
  return container === null || container === undefined ? contents : [...contents, { native: container }];
}

function readInput(input: Wire): Wire {
  const isText = typeof input.json === "string" && Object.keys(input).length === 1;
  return isText ? { json: input.json, input: parsed(String(input.json)) } : { json: undefined, input };
}

/** The content of our parts, in the same form; arguments are text only if they are compared as text. */
export function readParts(parts: readonly ContentPart[], expected: readonly PartContent[]): PartContent[] {
  return parts.map(({ part, citations, providerState }, index) => {
    const block = providerState === undefined ? {} : (JSON.parse(providerState.dataJson).block as Wire);
    switch (part.case) {
      case "text":
        return { text: part.value, citations: citations.map(({ rawJson }) => JSON.parse(rawJson)) };
      case "reasoning":
        return { thinking: part.value.text, signature: block.signature, redacted: block.data };
      case "toolCall": {
        const { id, name, input } = part.value;
        const argumentsJson = input.value ?? "";
        const json = expected[index]?.json === undefined ? undefined : argumentsJson;
        return { call: name, id, json, input: parsed(argumentsJson), caller: block.caller };
      }
      case "native":
        return { native: JSON.parse(part.value.dataJson) };
      default:
        throw new Error(`a ${part.case} part cannot come from the Messages API`);
    }
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function withoutNulls(wire: Wire): Wire {
  return Object.fromEntries(Object.entries(wire).filter(([, value]) => value !== null));
}

function toData(bytes: Buffer): Wire[] {
  return bytes
    .toString("utf8")
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => JSON.parse(line.slice(5)));
}

/** The objects of a list; none if the value is not a list. */
export function list(value: unknown): Wire[] {
  return Array.isArray(value) ? value : [];
}
