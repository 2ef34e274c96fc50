import { clone, create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  ContentPartSchema,
  MessageSchema,
  type ProviderState,
  Role,
} from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse } from "../gen/outrigger/v1/request_pb.ts";
import { type Response, ResponseSchema } from "../gen/outrigger/v1/response_pb.ts";
import {
  type ReasoningEnd,
  type StreamEvent,
  type StreamStart,
  type TextEnd,
  type ToolCallEnd,
  type ToolCallStart,
  ToolCallStart_InputKind,
} from "../gen/outrigger/v1/stream_event_pb.ts";
import { errorFromProto, type SDKError, StreamError } from "./errors.ts";
import { LawChecker } from "./laws.ts";
import type { PartInput } from "./parts.ts";
import { GrowingText } from "./text.ts";

/** Collects the events of a stream into the Response that Complete would return, and checks that they obey the laws. */
export class StreamAccumulator {
  readonly #laws = new LawChecker();
  readonly #parts = new Map<number, ContentPart>();
  /** The deltas of the parts. */
  readonly #texts = new Map<number, GrowingText>();
  readonly #partial = create(ResponseSchema, { message: { role: Role.ASSISTANT } });
  #final: Response | undefined;
  #error: SDKError | undefined;
  /** False if the caller asked for the content only once, as deltas. */
  #endsHaveText = true;

  /** Takes the next event. Throws StreamError if it violates a law of the stream. */
  process(event: StreamEvent): void {
    this.#laws.check(event);
    const { event: step } = event;
    switch (step.case) {
      case "streamStart":
        this.#start(step.value);
        break;
      case "textStart":
        this.#set(step.value.partIndex, { part: { case: "text", value: "" }, refusal: step.value.refusal });
        break;
      case "textEnd":
        this.#endText(step.value);
        break;
      case "reasoningStart":
        this.#set(step.value.partIndex, { part: { case: "reasoning", value: {} } });
        break;
      case "reasoningEnd":
        this.#endReasoning(step.value);
        break;
      case "toolCallStart":
        this.#startToolCall(step.value);
        break;
      case "toolCallEnd":
        this.#endToolCall(step.value);
        break;
      case "textDelta":
      case "reasoningDelta":
      case "toolCallDelta":
        this.#append(step.value.partIndex, step.value.delta);
        break;
      case "partAdded":
        this.#set(step.value.partIndex, step.value.part ?? {});
        break;
      case "finish":
        if (step.value.response !== undefined) this.#final = this.#withParts(step.value.response);
        break;
      case "error":
        this.#error = errorFromProto(step.value);
        break;
      default:
        break;
    }
  }

  /**
   * Returns the whole response. Throws the stream's error if it failed, and StreamError if it has not ended: a cut
   * stream never looks finished.
   */
  response(): Response {
    if (this.#error !== undefined) throw this.#error;
    if (this.#final === undefined) throw new StreamError("the stream has not finished");
    return this.#final;
  }

  /** Returns a copy of the response as far as it has arrived. */
  partialResponse(): Response {
    const partial = this.#final ?? this.#withParts(this.#partial);
    return clone(ResponseSchema, partial);
  }

  #start({ inferenceId, model, provider, warnings, startedAt, finalResponse }: StreamStart): void {
    Object.assign(this.#partial, { inferenceId, model, provider, warnings });
    if (startedAt !== undefined) this.#partial.createdAt = startedAt;
    this.#endsHaveText = finalResponse !== FinalResponse.WITHOUT_CONTENT;
  }

  #endText({ partIndex, text, citations, providerState }: TextEnd): void {
    const value = this.#endsHaveText ? text : this.#textOf(partIndex);
    const refusal = this.#parts.get(partIndex)?.refusal ?? false;
    this.#set(partIndex, { part: { case: "text", value }, citations, refusal, ...toState(providerState) });
  }

  #endReasoning({ partIndex, text, redacted, providerState }: ReasoningEnd): void {
    const value = { text: this.#endsHaveText ? text : this.#textOf(partIndex), redacted };
    this.#set(partIndex, { part: { case: "reasoning", value }, ...toState(providerState) });
  }

  #startToolCall({ partIndex, id, name, inputKind }: ToolCallStart): void {
    const kind = inputKind === ToolCallStart_InputKind.TEXT ? "text" : "argumentsJson";
    const input = { case: kind, value: "" } as const;
    this.#set(partIndex, { part: { case: "toolCall", value: { id, name, input } } });
  }

  #endToolCall({ partIndex, toolCall, providerState }: ToolCallEnd): void {
    this.#set(partIndex, { part: { case: "toolCall", value: toolCall ?? {} }, ...toState(providerState) });
  }

  /** Returns the response with the content that the stream itself carried. */
  #withParts(response: Response): Response {
    const content = [...this.#parts].sort(([left], [right]) => left - right).map(([, part]) => part);
    return { ...response, message: create(MessageSchema, { role: Role.ASSISTANT, content }) };
  }

  /** Returns the joined deltas of a text or reasoning part so far. */
  #textOf(index: number): string {
    const part = this.#parts.get(index)?.part;
    if (part?.case === "text") return part.value;
    return part?.case === "reasoning" ? part.value.text : "";
  }

  #set(index: number, part: PartInput): void {
    this.#parts.set(index, create(ContentPartSchema, part));
  }

  #append(index: number, delta: string): void {
    const part = this.#parts.get(index)?.part;
    const text = this.#texts.get(index) ?? new GrowingText();
    text.append(delta);
    this.#texts.set(index, text);
    if (part?.case === "text") part.value = text.value;
    else if (part?.case === "reasoning") part.value.text = text.value;
    else if (part?.case === "toolCall") part.value.input.value = text.value;
  }
}

function toState(providerState: ProviderState | undefined): PartInput {
  return providerState === undefined ? {} : { providerState };
}

/** Reads a stream to its end. Returns the whole response, or throws the stream's error. */
export async function accumulate(events: AsyncIterable<StreamEvent>): Promise<Response> {
  const accumulator = new StreamAccumulator();
  for await (const event of events) accumulator.process(event);
  return accumulator.response();
}
