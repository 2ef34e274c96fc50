/**
 * An independent reading of generateContent, written against its documentation and sharing no
 * code with the adapter: what a recording says, in the simplest form in which it can be
 * compared with what the adapter made of it.
 */
import type { ContentPart } from "../../../src/gen/outrigger/v1/message_pb.ts";

// Recordings are what servers sent; their fields are looked at as they come.
export type Wire = Record<string, unknown>;

/** What one part of an answer says. */
export type Said = Readonly<Record<string, unknown>>;

/** An answer put together from one or several GenerateContentResponses. */
export interface Reading {
  /** The parts as the API would want them back. */
  readonly parts: readonly Wire[];
  /** What the candidate said beside its parts, in the order in which it came. */
  readonly asides: readonly Wire[];
  /** Entries of citation lists. */
  readonly cited: readonly Wire[];
  readonly finishReason: unknown;
  readonly blocked: Wire | undefined;
  readonly usage: Wire | undefined;
  readonly model: unknown;
  readonly id: unknown;
}

/** Reads a stream's events, or the one event that a whole answer is. */
export function read(events: readonly Wire[]): Reading {
  const candidates = events.map(first).filter((candidate) => candidate !== undefined);
  const blocks = events.map(({ promptFeedback }) => object(promptFeedback)).filter(isBlock);
  return {
    parts: joinParts(candidates.map(({ content }) => list(object(content).parts))),
    asides: candidates.flatMap(asidesOf),
    cited: candidates.flatMap(({ citationMetadata: said }) => [
      ...list(object(said).citationSources),
      ...list(object(said).citations),
    ]),
    finishReason: candidates
      .map(({ finishReason }) => finishReason)
      .findLast((reason) => reason !== undefined),
    blocked: candidates.length === 0 ? blocks.at(-1) : undefined,
    usage: events
      .map(({ usageMetadata }) => object(usageMetadata))
      .findLast((counts) => Object.keys(counts).some((name) => name.endsWith("TokenCount"))),
    model: events.map(({ modelVersion }) => modelVersion).findLast((model) => model !== undefined),
    id: events.map(({ responseId }) => responseId).findLast((id) => id !== undefined),
  };
}

/** Whether a stream that ends behind these events is at its end. */
export function isFinished(events: readonly Wire[]): boolean {
  if (read(events).blocked !== undefined) return true;
  const sayings = events.map(first).filter((candidate) => candidate !== undefined && saysAnything(candidate));
  const last = sayings.at(-1);
  if (last?.finishReason === undefined) return false;
  // The API gives a reason to stop with code that it is about to run.
  const code = list(object(sayings.findLast(hasParts)?.content).parts).at(-1)?.executableCode;
  return !(last.finishReason === "STOP" && code !== undefined);
}

/** The events of a stream's bytes. */
export function eventsOf(bytes: Buffer): Wire[] {
  return bytes
    .toString("utf8")
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => JSON.parse(line.slice(5)));
}

/** What a part as the API has it says. */
export function saidBy(part: Wire): Said {
  const signature = part.thoughtSignature;
  const image = object(part.inlineData);
  if (typeof part.text === "string") return { [part.thought ? "thought" : "text"]: part.text, signature };
  if (part.functionCall !== undefined) {
    const { name, args, id } = object(part.functionCall);
    return { call: name, args: args ?? {}, id, signature };
  }
  if (String(image.mimeType).startsWith("image/") && part.thought !== true)
    return { image: image.data, mediaType: image.mimeType, signature };
  return { native: part };
}

/** What our parts say, in the same form; what was said of the answer as a whole stands apart. */
export function readParts(parts: readonly ContentPart[]): { said: Said[]; asides: Wire[] } {
  const asides = parts
    .filter(isAside)
    .map(({ part }) => JSON.parse((part.value as { dataJson: string }).dataJson));
  return { said: parts.filter((part) => !isAside(part)).map(saidByOurs), asides };
}

function saidByOurs({ part, providerState }: ContentPart): Said {
  const state = object(object(JSON.parse(providerState?.dataJson ?? "{}")).part);
  const signature = state.thoughtSignature;
  switch (part.case) {
    case "text":
      return { text: part.value, signature };
    case "reasoning":
      return { thought: part.value.text, signature };
    case "toolCall":
      return {
        call: part.value.name,
        args: JSON.parse(part.value.input.value ?? ""),
        id: object(state.functionCall).id,
        signature,
      };
    case "image":
      return {
        image: Buffer.from(part.value.source.value as Uint8Array).toString("base64"),
        mediaType: part.value.mediaType,
        signature,
      };
    case "native":
      return { native: JSON.parse(part.value.dataJson) };
    default:
      throw new Error(`a ${part.case} part cannot come from the Gemini API`);
  }
}

function isAside({ part, providerState }: ContentPart): boolean {
  return part.case === "native" && JSON.parse(providerState?.dataJson ?? "{}").of_answer === true;
}

/** Joins what grew over several events: texts of one kind without a signature, and arguments that came value by value. */
function joinParts(shares: readonly (readonly Wire[])[]): Wire[] {
  const joined: Wire[] = [];
  for (const share of shares) {
    const telling = share.filter((part) => !isBlank(part));
    for (const [index, part] of telling.entries()) {
      const last = joined.at(-1);
      if (part.functionCall !== undefined && object(part.functionCall).name === undefined)
        growCall(last, part);
      else if (index === 0 && last !== undefined && isMore(part, last))
        last.text = `${last.text}${part.text}`;
      else joined.push(structuredClone(part.functionCall === undefined ? part : begunCall(part)));
    }
  }
  return joined;
}

function isMore(part: Wire, last: Wire): boolean {
  const isPlain = ({ text, thoughtSignature }: Wire) =>
    typeof text === "string" && thoughtSignature === undefined;
  return isPlain(part) && isPlain(last) && part.thought === last.thought;
}

function begunCall(part: Wire): Wire {
  const { willContinue: _, ...call } = object(part.functionCall);
  return { ...part, functionCall: call };
}

function growCall(call: Wire | undefined, { functionCall }: Wire): void {
  for (const { jsonPath, stringValue, numberValue, boolValue } of list(object(functionCall).partialArgs)) {
    const target = object(call?.functionCall);
    target.args ??= {};
    const steps = String(jsonPath).match(/[^.[\]$]+/g) ?? [];
    setIn(target.args as Wire, steps, stringValue ?? numberValue ?? boolValue ?? null);
  }
}

function setIn(target: Wire, [step = "", ...deeper]: readonly string[], value: unknown): void {
  if (deeper.length === 0) {
    const before = target[step];
    target[step] = typeof before === "string" ? `${before}${value}` : value;
    return;
  }
  target[step] ??= /^\d+$/.test(deeper[0] ?? "") ? [] : {};
  setIn(target[step] as Wire, deeper, value);
}

const BESIDE = new Set([
  "content",
  "finishReason",
  "finishMessage",
  "index",
  "citationMetadata",
  "safetyRatings",
  "avgLogprobs",
]);

function asidesOf(candidate: Wire): Wire[] {
  return Object.entries(candidate)
    .filter(([key, value]) => !BESIDE.has(key) && Object.keys(object(value)).length > 0)
    .map(([key, value]) => ({ [key]: value }));
}

function first({ candidates }: Wire): Wire | undefined {
  return list(candidates).find(({ index }) => index === undefined || index === 0);
}

function saysAnything(candidate: Wire): boolean {
  return candidate.finishReason !== undefined || hasParts(candidate);
}

function hasParts(candidate: Wire | undefined): boolean {
  return list(object(candidate?.content).parts).some((part) => !isBlank(part));
}

function isBlank({ thought: _, ...part }: Wire): boolean {
  return Object.entries(part).every(([key, value]) => key === "text" && value === "");
}

function isBlock(feedback: Wire): boolean {
  return "blockReason" in feedback || "blockReasonMessage" in feedback;
}

function list(value: unknown): Wire[] {
  return Array.isArray(value) ? value : [];
}

function object(value: unknown): Wire {
  return (value ?? {}) as Wire;
}
