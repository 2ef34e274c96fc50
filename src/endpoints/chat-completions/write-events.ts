/** Events of a stream -> chunks of a chat completion ("The chat completion chunk object"). */
import type { SDKError } from "../../core/errors.ts";
import {
  type Finish,
  type StreamEvent,
  type TextEnd,
  type ToolCallEnd,
  type ToolCallStart,
  ToolCallStart_InputKind,
} from "../../gen/outrigger/v1/stream_event_pb.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import { isEmpty, type JsonObject } from "../../kit/json/json.ts";
import { END_OF_STREAM } from "../../wire/openai-chat/stream.ts";
import { toErrorObject } from "../openai/errors.ts";
import { encodeOtherParts } from "../responses/provider-state.ts";
import { createPart } from "../responses/read-content.ts";
import { countCodePoints } from "../responses/write-annotations.ts";
import { BatchWriter } from "../stateless/batch-writer.ts";
import { createPartWithState } from "../stateless/part-with-state.ts";
import { createDetail, encodeReasoningState, writeCallExtras } from "./provider-state.ts";
import {
  getCustomInput,
  readLogprobs,
  readMetadata,
  writeExplanation,
  writeFinish,
  writeHead,
  writeImage,
  writeTextAnnotations,
  writeUsage,
} from "./write-response.ts";

const CHUNK = "chat.completion.chunk";

/** A piece of the input of a call. */
interface CallInput {
  readonly partIndex: number;
  readonly delta: string;
}

/** Writes the chunks of one stream. */
export class ChunkWriter extends BatchWriter {
  readonly #includesUsage: boolean;
  readonly #customTools: ReadonlySet<string>;
  /** The fields before the choices of every chunk, as JSON text without the closing brace. */
  #head = "";
  /** Numbers of the calls, by the indices of their parts. */
  readonly #calls = new Map<number, number>();
  /** Indices of the parts that are calls of custom tools. */
  readonly #customCalls = new Set<number>();
  /** Custom calls that are function calls of the provider: their input is known only when its JSON is complete. */
  readonly #heldCalls = new Set<number>();
  readonly #refusals = new Set<number>();
  /** Code points of the content before each text, by the indices of the parts. */
  readonly #offsets = new Map<number, number>();
  /** Code points of the content so far. */
  #contentPoints = 0;
  #details = 0;
  #hasReasoning = false;
  /** The latest input of a call, until the next event of the batch shows whether the call ends with more fields. */
  #input: CallInput | undefined;

  /** @param customTools Names of the custom tools of the request. */
  constructor(includesUsage: boolean, customTools: ReadonlySet<string>) {
    super();
    this.#includesUsage = includesUsage;
    this.#customTools = customTools;
  }

  override write(batch: readonly StreamEvent[]): string {
    for (const { event } of batch) this.push(event);
    this.#writeInput();
    return this.take();
  }

  /** Returns the event that ends a failed stream. The official SDKs throw its error. */
  fail(error: SDKError): string {
    this.#writeInput();
    this.text += `data: ${JSON.stringify({ error: toErrorObject(error) })}\n\n`;
    return this.take();
  }

  /** @throws ServerError if the answer ended with an error. */
  protected push(event: StreamEvent["event"]): void {
    if (event.case !== "toolCallEnd") this.#writeInput();
    switch (event.case) {
      case "streamStart": {
        const { inferenceId, model, startedAt } = event.value;
        const created = Number(startedAt?.seconds ?? 0);
        this.#head = JSON.stringify(writeHead(CHUNK, { inferenceId, model, created })).slice(0, -1);
        return this.#delta({ role: "assistant", content: "" });
      }
      case "textStart":
        if (event.value.refusal) this.#refusals.add(event.value.partIndex);
        else this.#offsets.set(event.value.partIndex, this.#contentPoints);
        return;
      case "textDelta":
        return this.#writeText(event.value.partIndex, event.value.delta);
      case "textEnd":
        return this.#endText(event.value);
      case "reasoningStart":
        // As in a whole answer, a blank line separates the texts of several reasoning parts.
        if (this.#hasReasoning) this.#delta({ reasoning_content: "\n\n" });
        return;
      case "reasoningDelta":
        this.#hasReasoning = true;
        return this.#writeDelta(`"reasoning_content":${JSON.stringify(event.value.delta)}`);
      case "reasoningEnd": {
        const { text, redacted, providerState } = event.value;
        const part = createPartWithState({ case: "reasoning", value: { text, redacted } }, providerState);
        return this.#writeState(encodeReasoningState(part));
      }
      case "toolCallStart":
        return this.#startCall(event.value);
      case "toolCallDelta":
        if (!this.#heldCalls.has(event.value.partIndex)) this.#input = event.value;
        return;
      case "toolCallEnd":
        return this.#endCall(event.value);
      case "partAdded": {
        const part = event.value.part?.part;
        if (part?.case === "image") this.#delta({ images: [writeImage(part.value)] });
        return;
      }
      case "finish":
        return this.#finish(event.value);
      default:
        // An error event is followed by the failure of the stream, which `fail` writes.
        return;
    }
  }

  #writeText(partIndex: number, delta: string): void {
    const field = this.#refusals.has(partIndex) ? "refusal" : "content";
    if (field === "content") this.#contentPoints += countCodePoints(delta);
    this.#writeDelta(`"${field}":${JSON.stringify(delta)}`);
  }

  #endText({ partIndex, text, citations, providerState }: TextEnd): void {
    const logprobs = readLogprobs(dataOfState(providerState));
    const part = createPart({ part: { case: "text", value: text }, citations });
    const annotations = writeTextAnnotations(part, this.#offsets.get(partIndex) ?? 0);
    if (logprobs.length > 0) this.#choice({ delta: {}, logprobs: { content: logprobs, refusal: null } });
    if (annotations.length > 0) this.#delta({ annotations });
  }

  #startCall({ partIndex, id, name, inputKind }: ToolCallStart): void {
    const index = this.#calls.size;
    this.#calls.set(partIndex, index);
    const isText = inputKind === ToolCallStart_InputKind.TEXT;
    const isCustom = isText || this.#customTools.has(name);
    const called = isCustom
      ? { type: "custom", custom: { name, input: "" } }
      : { type: "function", function: { name, arguments: "" } };
    if (isCustom) this.#customCalls.add(partIndex);
    if (isCustom && !isText) this.#heldCalls.add(partIndex);
    this.#delta({ tool_calls: [{ index, id, ...called }] });
  }

  /** Writes the latest input of a call. @param extras Further fields of the call. */
  #writeInput(extras: JsonObject = {}): void {
    if (this.#input === undefined) return;
    const { partIndex, delta } = this.#input;
    this.#input = undefined;
    const index = this.#calls.get(partIndex) ?? 0;
    const [kind, field] = this.#customCalls.has(partIndex) ? ["custom", "input"] : ["function", "arguments"];
    const called = `"${kind}":{"${field}":${JSON.stringify(delta)}}`;
    const further = isEmpty(extras) ? "" : `,${JSON.stringify(extras).slice(1, -1)}`;
    this.#writeDelta(`"tool_calls":[{"index":${index},${called}${further}}]`);
  }

  /**
   * The state of a call is in the last piece of its input. LangChain needs the input in every piece, and LangChainGo
   * takes a piece with an empty input for another call.
   */
  #endCall({ partIndex, toolCall, providerState }: ToolCallEnd): void {
    if (this.#heldCalls.has(partIndex) && toolCall !== undefined)
      this.#input = { partIndex, delta: getCustomInput(toolCall) };
    if (this.#input !== undefined && this.#input.partIndex !== partIndex) this.#writeInput();
    const extras = writeCallExtras(providerState);
    if (!isEmpty(extras)) this.#input ??= { partIndex, delta: "" };
    this.#writeInput(extras);
  }

  #finish({ response, usage }: Finish): void {
    if (response === undefined) return;
    this.#writeState(encodeOtherParts(response.message?.content ?? []));
    const metadata = readMetadata(response);
    const explanation = writeExplanation(response, metadata);
    if (!isEmpty(explanation)) this.#delta(explanation);
    const choice = { delta: {}, logprobs: null, ...writeFinish(response), ...metadata.choice };
    this.#choice(choice, metadata.answer);
    if (this.#includesUsage) {
      const counts = usage === undefined ? null : writeUsage(usage, metadata.usage);
      this.text += `data: ${this.#head},"choices":[],"usage":${JSON.stringify(counts)}}\n\n`;
    }
    this.text += `data: ${END_OF_STREAM}\n\n`;
  }

  #writeState(data: string | null): void {
    if (data === null) return;
    this.#delta({ reasoning_details: [createDetail(data, this.#details)] });
    this.#details += 1;
  }

  #delta(delta: JsonObject): void {
    this.#choice({ delta });
  }

  /** @param further Fields alongside the choices. */
  #choice(rest: JsonObject, further: JsonObject = {}): void {
    const fields = JSON.stringify({ finish_reason: null, ...rest }).slice(1, -1);
    this.#emit(`"index":0,${fields}`, isEmpty(further) ? "" : `,${JSON.stringify(further).slice(1, -1)}`);
  }

  /** Writes a delta that has one field. @param field Its JSON text: nothing but the new text is serialized. */
  #writeDelta(field: string): void {
    this.#emit(`"index":0,"finish_reason":null,"delta":{${field}}`);
  }

  #emit(choice: string, further = ""): void {
    const usage = this.#includesUsage ? ',"usage":null' : "";
    this.text += `data: ${this.#head},"choices":[{${choice}}]${usage}${further}}\n\n`;
  }
}
