/**
 * An independent reading of the Chat Completions API, written against its documentation and
 * sharing no code with the adapter: turns a recording into the one message that it amounts to.
 */
import type { ContentPart } from "../../../src/gen/outrigger/v1/message_pb.ts";

// Recordings are what servers sent; their fields are read without types.
export type Wire = Record<string, unknown>;

/** A recording as the body of a whole answer. */
export interface Reading {
  readonly body: Wire;
  /** The chunks of a stream that are JSON. */
  readonly chunks: readonly Wire[];
}

/** The content of one part of an answer. */
export type PartContent = Readonly<Record<string, unknown>>;

/** The message of a whole answer's first choice. */
export function toMessage(body: Wire): Wire {
  return (list(body.choices)[0]?.message ?? {}) as Wire;
}

/** Joins the chunks of a stream to a whole answer. */
export function readStream(bytes: Buffer): Reading {
  const chunks = toData(bytes);
  const choices = chunks.flatMap(({ choices: all }) => list(all));
  const indices = [...new Set(choices.map(({ index }) => index ?? 0))];
  const first = (key: string) => chunks.map((chunk) => chunk[key]).find(Boolean);
  const usage = chunks
    .map((chunk) => chunk.usage ?? (chunk.x_groq as Wire | undefined)?.usage)
    .filter(Boolean);
  const body = {
    ...joinMembers(chunks, ["choices", "usage", "obfuscation", "p"]),
    id: first("id"),
    model: first("model"),
    choices: indices.map((index) => joinedChoice(choices.filter((choice) => (choice.index ?? 0) === index))),
    usage: usage.at(-1),
  };
  return { body, chunks };
}

function joinedChoice(choices: readonly Wire[]): Wire {
  const logprobs = choices.map((choice) => choice.logprobs).filter(Boolean) as Wire[];
  return {
    ...joinMembers(choices, ["delta", "message", "finish_reason", "logprobs", "usage"]),
    index: choices[0]?.index ?? 0,
    message: choices.map(({ delta }) => (delta ?? {}) as Wire).reduce(addDelta, { role: "assistant" }),
    finish_reason: choices.map((choice) => choice.finish_reason).find(Boolean),
    ...(logprobs.length === 0 ? {} : { logprobs: joinedLogprobs(logprobs) }),
  };
}

/** The last value of each member; objects are joined. */
function joinMembers(all: readonly Wire[], others: readonly string[]): Wire {
  const joined: Wire = {};
  for (const [name, value] of all.flatMap((each) => Object.entries(each))) {
    const known = joined[name];
    const isJoined = isPlain(known) && isPlain(value);
    if (!others.includes(name) && value !== null) joined[name] = isJoined ? { ...known, ...value } : value;
  }
  return joined;
}

function isPlain(value: unknown): value is Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function joinedLogprobs(all: readonly Wire[]): Wire {
  const join = (key: string) => all.flatMap((each) => list(each[key]));
  return { content: join("content"), refusal: join("refusal") };
}

function addDelta(message: Wire, delta: Wire): Wire {
  const result: Wire = { ...message };
  for (const key of ["reasoning_content", "reasoning", "refusal"]) {
    if (typeof delta[key] === "string") result[key] = `${result[key] ?? ""}${delta[key]}`;
  }
  if (Array.isArray(delta.content)) result.content = addChunks(result.content, list(delta.content));
  else if (typeof delta.content === "string") result.content = addText(result.content, delta.content);
  if (delta.reasoning_details)
    result.reasoning_details = list(delta.reasoning_details).reduce(
      addDetail,
      list(result.reasoning_details),
    );
  if (delta.tool_calls) result.tool_calls = addCalls(list(result.tool_calls), list(delta.tool_calls));
  return result;
}

function addText(content: unknown, text: string): unknown {
  if (Array.isArray(content)) return text === "" ? content : addChunks(content, [{ type: "text", text }]);
  return `${content ?? ""}${text}`;
}

function addChunks(content: unknown, chunks: readonly Wire[]): Wire[] {
  const result = Array.isArray(content) ? [...content] : [];
  for (const chunk of chunks) {
    const last = result.at(-1);
    if (last?.type !== chunk.type) result.push(chunk);
    else if (chunk.type === "text")
      result[result.length - 1] = { ...last, text: `${last.text}${chunk.text}` };
    else
      result[result.length - 1] = {
        ...last,
        thinking: [{ type: "text", text: getThinking(last) + getThinking(chunk) }],
      };
  }
  return result;
}

function getThinking({ thinking }: Wire): string {
  return list(thinking)
    .map(({ text }) => text)
    .join("");
}

function addDetail(details: readonly Wire[], detail: Wire): Wire[] {
  const at = details.findIndex(({ type, index }) => type === detail.type && index === detail.index);
  if (at < 0) return [...details, detail];
  const known = details[at] as Wire;
  const text = detail.text === undefined ? known.text : `${known.text ?? ""}${detail.text}`;
  return details.with(at, { ...known, ...detail, text });
}

function addCalls(calls: readonly Wire[], deltas: readonly Wire[]): Wire[] {
  const result = [...calls];
  for (const [position, delta] of deltas.entries()) {
    const index = delta.index ?? position;
    const at = result.findIndex((call) => call.index === index);
    const added = delta.function as Wire;
    if (at < 0) {
      result.push({ ...delta, index, function: { ...added } });
      continue;
    }
    const known = result[at] as Wire & { function: Wire };
    const name = known.function.name || added.name;
    const text = `${known.function.arguments ?? ""}${added.arguments ?? ""}`;
    result[at] = { ...known, id: known.id || delta.id, function: { name, arguments: text } };
  }
  return result;
}

/** The parts of a whole answer. */
export function readBody(body: Wire): PartContent[] {
  const message = toMessage(body);
  const details = list(message.reasoning_details);
  const reasoning = message.reasoning_content || message.reasoning || "";
  const parts: PartContent[] = [];
  if (reasoning !== "" || details.length > 0) parts.push({ reasoning });
  if (Array.isArray(message.content)) parts.push(...list(message.content).map(readChunk));
  else if (message.content) parts.push({ text: message.content, citations: getSources(body) });
  if (message.refusal) parts.push({ text: message.refusal, citations: [] });
  const calls = list(message.tool_calls).map(readCall);
  return [...parts, ...calls.map((call) => (call === calls.at(-1) && isCut(body) ? markedCall(call) : call))];
}

function readChunk(chunk: Wire): PartContent {
  return chunk.type === "thinking" ? { reasoning: getThinking(chunk) } : { text: chunk.text, citations: [] };
}

function readCall({ id, function: called }: Wire): PartContent {
  const { name, arguments: input } = called as Wire;
  return { call: name, id, input: input === "" ? "{}" : input };
}

/** Whether a limit stopped the answer. */
function isCut(body: Wire): boolean {
  return list(body.choices)[0]?.finish_reason === "length";
}

/** A call at which the answer was cut: without any arguments it must not pass for one that needs none. */
function markedCall(call: PartContent): PartContent {
  return call.input === "{}" ? { ...call, input: "" } : call;
}

/** Returns the sources that are listed alongside the text: search results if there are any, otherwise URLs. */
function getSources({ citations, search_results: results }: Wire): unknown[] {
  const found = list(results);
  return found.length > 0 ? found : Array.isArray(citations) ? citations : [];
}

/** The content of our parts, in the same form. */
export function readParts(parts: readonly ContentPart[]): PartContent[] {
  return parts.map(({ part, citations }) => {
    switch (part.case) {
      case "text":
        return { text: part.value, citations: citations.map(({ rawJson }) => JSON.parse(rawJson)) };
      case "reasoning":
        return { reasoning: part.value.text };
      case "toolCall":
        return { call: part.value.name, id: part.value.id, input: part.value.input.value };
      default:
        throw new Error(`none of the recordings holds a ${part.case} part`);
    }
  });
}

/** The JSON of a stream's events. */
export function toData(bytes: Buffer): Wire[] {
  return bytes
    .toString("utf8")
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trim())
    .filter((data) => data !== "[DONE]" && data !== "{unparsable}")
    .map((data) => JSON.parse(data));
}

/** The list, or none. */
export function list(value: unknown): Wire[] {
  return Array.isArray(value) ? value : [];
}
