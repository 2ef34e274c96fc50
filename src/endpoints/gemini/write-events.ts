/** Events of a stream -> events of the Gemini API ("streamGenerateContent"). */
import type { SDKError } from "../../core/errors.ts";
import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import type {
  Finish,
  ReasoningEnd,
  StreamEvent,
  TextEnd,
  ToolCallEnd,
} from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import { readAnswerMetadata } from "../answers/answer-metadata.ts";
import { BatchWriter } from "../stateless/batch-writer.ts";
import { createPartWithState } from "../stateless/part-with-state.ts";
import { toErrorBody } from "./errors.ts";
import { StateFields } from "./provider-state.ts";
import {
  type AnswerForm,
  hasState,
  writeEnd,
  writeFurther,
  writeHead,
  writePart,
  writeUsage,
} from "./write-response.ts";

/** The form of a stream: server-sent events, with `?alt=sse`, or the elements of one JSON list. */
export type StreamForm = "events" | "list";

/** Writes the events of one stream. */
export class GenerationWriter extends BatchWriter {
  readonly contentType: string;
  /** Google's clients for Python and Go take a comment for a broken event, and skip empty lines. */
  readonly keepAlive = "\r\n";
  readonly #answers: AnswerForm;
  readonly #form: StreamForm;
  readonly #states: StateFields;
  /** The fields after the candidates of every event, as JSON text with the closing brace. */
  #tail = "}";
  #hasBegun = false;

  constructor(answers: AnswerForm, form: StreamForm) {
    super();
    this.#answers = answers;
    this.#states = new StateFields(!answers.includeThoughts);
    this.#form = form;
    this.contentType = form === "list" ? "application/json" : "text/event-stream";
  }

  fail(error: SDKError): string {
    const body = JSON.stringify(toErrorBody(error));
    this.#emit(body);
    // Older versions of Google's clients, and the one for Go, recognize a failure only if it is not an event.
    this.text += this.#form === "list" ? "]" : body;
    return this.take();
  }

  protected push(event: StreamEvent["event"]): void {
    switch (event.case) {
      case "streamStart": {
        const { inferenceId, model } = event.value;
        this.#tail = `,${JSON.stringify(writeHead(inferenceId, model)).slice(1)}`;
        return;
      }
      case "textDelta":
        return this.#addPart(`{"text":${JSON.stringify(event.value.delta)}}`);
      case "textEnd":
        return this.#endText(event.value);
      case "reasoningDelta":
        return this.#addThought(event.value.delta);
      case "reasoningEnd":
        return this.#endReasoning(event.value);
      case "toolCallEnd":
        return this.#endCall(event.value);
      case "partAdded":
        return event.value.part && this.#addWhole(event.value.part);
      case "finish":
        return this.#finish(event.value);
      default:
        // The API sends calls whole. An error event is followed by the failure of the stream, which `fail` writes.
        return;
    }
  }

  #addThought(delta: string): void {
    if (this.#answers.includeThoughts) this.#addPart(`{"text":${JSON.stringify(delta)},"thought":true}`);
  }

  #endText({ text, providerState }: TextEnd): void {
    this.#endWith(createPartWithState({ case: "text", value: text }, providerState), {});
  }

  #endReasoning({ text, redacted, providerState }: ReasoningEnd): void {
    const part = createPartWithState({ case: "reasoning", value: { text, redacted } }, providerState);
    this.#endWith(part, { thought: true });
  }

  /** Sends the state of a text that was sent already, with an empty text, as Gemini does. */
  #endWith(part: ContentPart, attributes: JsonObject): void {
    const fields = this.#states.write(part);
    if (hasState(fields)) this.#addPart(JSON.stringify({ text: "", ...attributes, ...fields }));
  }

  #endCall({ toolCall, providerState }: ToolCallEnd): void {
    if (toolCall === undefined) return;
    this.#addWhole(createPartWithState({ case: "toolCall", value: toolCall }, providerState));
  }

  #addWhole(part: ContentPart): void {
    const written = writePart(part, this.#states, this.#answers);
    if (written !== undefined) this.#addPart(JSON.stringify(written));
  }

  #finish({ response, usage }: Finish): void {
    if (response === undefined) return;
    const state = this.#states.end();
    if (state !== undefined) this.#addPart(JSON.stringify(state));
    const content = { parts: [{ text: "" }], role: "model" };
    const metadata = readAnswerMetadata(response);
    const candidate = { content, ...writeEnd(response, metadata, this.#answers.gemini) };
    const event = { ...writeFurther(metadata), candidates: [candidate], ...writeUsage(usage, metadata) };
    this.#emit(JSON.stringify(event).slice(0, -1) + this.#tail);
    if (this.#form === "list") this.text += "]";
  }

  /** @param part Its JSON text: nothing but the new text is serialized. */
  #addPart(part: string): void {
    this.#emit(`{"candidates":[{"content":{"parts":[${part}],"role":"model"},"index":0}]${this.#tail}`);
  }

  #emit(json: string): void {
    if (this.#form === "events") this.text += `data: ${json}\r\n\r\n`;
    else this.text += `${this.#hasBegun ? ",\r\n" : "["}${json}`;
    this.#hasBegun = true;
  }
}
