/**
 * An independent reading of the Responses API, written against its documentation and sharing
 * no code with the adapter: what a recording says, in the simplest form in which it can be
 * compared with what the adapter made of it.
 */
import type { ContentPart } from "../../../src/gen/outrigger/v1/message_pb.ts";

/** What one part of an answer says. */
export type Said = Readonly<Record<string, unknown>>;

// Recordings are what servers sent; their fields are looked at as they come.
type Wire = Record<string, unknown>;

/** The parts of the items of an `output` list. */
export function readOutput(output: unknown): Said[] {
  return list(output).flatMap(readItem);
}

/** The parts of a stream, from its deltas and from the items that end in it. */
export function readStream(bytes: Buffer): { said: Said[]; terminal: Wire; response: Wire; events: Wire[] } {
  const events = dataOf(bytes);
  const items = new Map<number, Wire>();
  let last = -1;
  for (const event of events) {
    if (event.type === "response.output_item.added") last = Number(event.output_index ?? last + 1);
    if (event.type === "response.output_item.done")
      items.set(Number(event.output_index ?? last), event.item as Wire);
  }
  const said = [...items]
    .sort(([a], [b]) => a - b)
    .flatMap(([index, item]) => readItem(withDeltas(item, index, events)));
  const terminal = events.find(({ type }) => TERMINAL.has(String(type))) ?? {};
  return { said, terminal, response: (terminal.response ?? {}) as Wire, events };
}

const TERMINAL = new Set(["response.completed", "response.incomplete", "response.failed", "error"]);

/** What our parts say, in the same form. */
export function readParts(parts: readonly ContentPart[]): Said[] {
  return parts.map(({ part, citations }) => {
    switch (part.case) {
      case "text":
        return { text: part.value, citations: citations.map(({ rawJson }) => JSON.parse(rawJson)) };
      case "reasoning":
        return { reasoning: part.value.text };
      case "toolCall":
        return {
          call: part.value.name,
          id: part.value.id,
          input: part.value.input.value,
          type: part.value.input.case === "text" ? "custom" : "function",
        };
      case "image":
        return { image: Buffer.from(part.value.source.value as Uint8Array).toString("base64") };
      case "native":
        return { native: JSON.parse(part.value.dataJson) };
      default:
        throw new Error(`a ${part.case} part cannot come from the Responses API`);
    }
  });
}

// The authors of some recordings shortened pictures; what is left is no base64.
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function readItem(item: Wire): Said[] {
  switch (item.type) {
    case "message":
      return readMessage(item);
    case "reasoning":
      return [
        {
          reasoning: [...list(item.summary), ...list(item.content)]
            .map(({ text }) => text)
            .filter(Boolean)
            .join("\n\n"),
        },
      ];
    case "function_call":
      return [{ call: item.name, id: item.call_id, input: item.arguments, type: "function" }];
    case "custom_tool_call":
      return [{ call: item.name, id: item.call_id, input: item.input, type: "custom" }];
    case "image_generation_call":
      return [BASE64.test(String(item.result)) ? { image: item.result } : { native: item }];
    default:
      return [{ native: item }];
  }
}

function readMessage(item: Wire): Said[] {
  const parts = list(item.content);
  if (parts.length === 0) return [{ text: "", citations: [] }];
  return parts.map((part) => ({
    text: part.type === "refusal" ? part.refusal : part.text,
    citations: list(part.annotations),
  }));
}

/**
 * Puts the joined deltas of a stream in the place of what the finished item says, unless the
 * item only says more: the authors of some recordings left deltas out.
 */
function withDeltas(item: Wire, index: number, events: readonly Wire[]): Wire {
  const joined = (type: string, final: unknown, place?: number) => {
    const own = events.filter((event) => event.type === type && event.output_index === index);
    const deltas = own
      .filter((event) => place === undefined || event.content_index === place)
      .map(({ delta }) => delta);
    return String(final).startsWith(deltas.join("")) ? final : deltas.join("");
  };
  switch (item.type) {
    case "function_call":
      return { ...item, arguments: joined("response.function_call_arguments.delta", item.arguments) };
    case "custom_tool_call":
      return { ...item, input: joined("response.custom_tool_call_input.delta", item.input) };
    case "message":
      return { ...item, content: list(item.content).map((part, place) => joinedPart(part, place)) };
    default:
      return item;
  }

  function joinedPart(part: Wire, place: number): Wire {
    if (part.type === "refusal")
      return { ...part, refusal: joined("response.refusal.delta", part.refusal, place) };
    return { ...part, text: joined("response.output_text.delta", part.text, place) };
  }
}

function dataOf(bytes: Buffer): Wire[] {
  return bytes
    .toString("utf8")
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trim())
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));
}

function list(value: unknown): Wire[] {
  return Array.isArray(value) ? value : [];
}
