/**
 * An independent reading of the Responses API, written against its documentation and sharing no code with the adapter:
 * the content of a recording, in a simple form, to compare it with the result of the adapter.
 */
import type { ContentPart } from "../../../src/gen/outrigger/v1/message_pb.ts";

/** The content of one part of an answer. */
export type PartContent = Readonly<Record<string, unknown>>;

// Recordings are not validated.
type Wire = Record<string, unknown>;

/** The parts of a whole answer: its items, after reasoning that some servers give alongside them. */
export function readOutput({ output, reasoning }: Wire): PartContent[] {
  const beside = typeof reasoning === "string" && reasoning !== "" ? [{ reasoning }] : [];
  return [...beside, ...list(output).flatMap(readItem)];
}

/** The parts of a stream, from its deltas and from the items that end in it. */
export function readStream(bytes: Buffer): {
  parts: PartContent[];
  terminal: Wire;
  response: Wire;
  events: Wire[];
} {
  const events = toData(bytes);
  const items = new Map<number, Wire>();
  let last = -1;
  for (const event of events) {
    if (event.type === "response.output_item.added") last = Number(event.output_index ?? last + 1);
    if (event.type === "response.output_item.done")
      items.set(Number(event.output_index ?? last), event.item as Wire);
  }
  const parts = [...items]
    .sort(([a], [b]) => a - b)
    .flatMap(([index, item]) => readItem(withDeltas(item, index, events)));
  const terminal = events.find(({ type }) => TERMINAL.has(String(type))) ?? {};
  return { parts, terminal, response: (terminal.response ?? {}) as Wire, events };
}

const TERMINAL = new Set(["response.completed", "response.incomplete", "response.failed", "error"]);

/** The content of our parts, in the same form. */
export function readParts(parts: readonly ContentPart[]): PartContent[] {
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

// The authors of some recordings shortened images, which are no longer valid base64.
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function readItem(item: Wire): PartContent[] {
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
      // xAI has run calls with such an id itself.
      if (String(item.call_id).startsWith("xs_call_")) return [{ native: item }];
      return [{ call: item.name, id: item.call_id, input: item.input, type: "custom" }];
    case "image_generation_call":
      return [BASE64.test(String(item.result)) ? { image: item.result } : { native: item }];
    default:
      return [{ native: item }];
  }
}

function readMessage(item: Wire): PartContent[] {
  const parts = list(item.content);
  if (parts.length === 0) return [{ text: "", citations: [] }];
  return parts.map((part) => ({
    text: part.type === "refusal" ? part.refusal : part.text,
    citations: list(part.annotations),
  }));
}

/**
 * Replaces the text of a finished item by the joined deltas of the stream, unless the item's text only
 * adds to them: the authors of some recordings left deltas out.
 */
function withDeltas(item: Wire, index: number, events: readonly Wire[]): Wire {
  const joined = (type: string, final: unknown, place?: number) => {
    const matching = events.filter((event) => event.type === type && event.output_index === index);
    const deltas = matching
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

function toData(bytes: Buffer): Wire[] {
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
