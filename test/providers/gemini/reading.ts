/**
 * A reference reader of generateContent, written from its documentation and without code of the adapter. It reduces a
 * recording to the simplest form that can be compared with the adapter's result.
 */
import type { ContentPart } from "../../../src/gen/outrigger/v1/message_pb.ts";

/** A JSON object of a recording, whose fields are not checked. */
export type Wire = Record<string, unknown>;

/** The content of one part, for comparison. */
export type PartSummary = Readonly<Record<string, unknown>>;

/** An answer put together from one or several GenerateContentResponses. */
export interface ReferenceAnswer {
  /** The parts in the form in which they are sent back. */
  readonly parts: readonly Wire[];
  /** The candidate's fields besides its parts, in the order of the events. */
  readonly candidateData: readonly Wire[];
  /** Entries of citation lists. */
  readonly cited: readonly Wire[];
  readonly finishReason: unknown;
  readonly blocked: Wire | undefined;
  readonly usage: Wire | undefined;
  readonly model: unknown;
  readonly id: unknown;
}

/** Reads a stream's events, or the one event that a whole answer is. */
export function read(events: readonly Wire[]): ReferenceAnswer {
  const candidates = events.map(first).filter((candidate) => candidate !== undefined);
  const blocks = events.map(({ promptFeedback }) => object(promptFeedback)).filter(isBlock);
  return {
    parts: joinParts(candidates.map(({ content }) => list(object(content).parts))),
    candidateData: candidates.flatMap(getCandidateData),
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

/** Whether a stream that ends after these events is complete. */
export function isFinished(events: readonly Wire[]): boolean {
  if (read(events).blocked !== undefined) return true;
  const shares = events.map(first).filter((candidate) => candidate !== undefined && hasContent(candidate));
  const last = shares.at(-1);
  if (last?.finishReason === undefined) return false;
  // The API sends a finish reason with code that it is about to run.
  const code = list(object(shares.findLast(hasParts)?.content).parts).at(-1)?.executableCode;
  return !(last.finishReason === "STOP" && code !== undefined);
}

/** The events of a stream's bytes. */
export function getEvents(bytes: Buffer): Wire[] {
  return bytes
    .toString("utf8")
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => JSON.parse(line.slice(5)));
}

/** The content of a wire part. */
export function summaryOfWire(part: Wire): PartSummary {
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

/** The content of our parts in the same form; data of the answer as a whole is separate. */
export function readParts(parts: readonly ContentPart[]): { said: PartSummary[]; candidateData: Wire[] } {
  const candidateData = parts
    .filter(isCandidateData)
    .map(({ part }) => JSON.parse((part.value as { dataJson: string }).dataJson));
  return { said: parts.filter((part) => !isCandidateData(part)).map(summaryOfPart), candidateData };
}

function summaryOfPart({ part, providerState }: ContentPart): PartSummary {
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

function isCandidateData({ part, providerState }: ContentPart): boolean {
  return part.case === "native" && JSON.parse(providerState?.dataJson ?? "{}").of_answer === true;
}

/** Joins texts of one kind without a signature, and arguments that arrive value by value. */
function joinParts(shares: readonly (readonly Wire[])[]): Wire[] {
  const joined: Wire[] = [];
  for (const share of shares) {
    const contentParts = share.filter((part) => !isBlank(part));
    for (const [index, part] of contentParts.entries()) {
      const last = joined.at(-1);
      if (part.functionCall !== undefined && object(part.functionCall).name === undefined)
        growCall(last, part);
      else if (index === 0 && last !== undefined && continuesText(part, last))
        last.text = `${last.text}${part.text}`;
      else joined.push(structuredClone(part.functionCall === undefined ? part : startedCall(part)));
    }
  }
  return joined;
}

function continuesText(part: Wire, last: Wire): boolean {
  const isPlain = ({ text, thoughtSignature }: Wire) =>
    typeof text === "string" && thoughtSignature === undefined;
  return isPlain(part) && isPlain(last) && part.thought === last.thought;
}

function startedCall(part: Wire): Wire {
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

const READ_ELSEWHERE = new Set([
  "content",
  "finishReason",
  "finishMessage",
  "index",
  "citationMetadata",
  "safetyRatings",
  "avgLogprobs",
]);

function getCandidateData(candidate: Wire): Wire[] {
  return Object.entries(candidate)
    .filter(([key, value]) => !READ_ELSEWHERE.has(key) && Object.keys(object(value)).length > 0)
    .map(([key, value]) => ({ [key]: value }));
}

function first({ candidates }: Wire): Wire | undefined {
  return list(candidates).find(({ index }) => index === undefined || index === 0);
}

function hasContent(candidate: Wire): boolean {
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
