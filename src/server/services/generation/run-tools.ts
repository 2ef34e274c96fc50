import { setImmediate } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { Violations } from "../../../client/violations.ts";
import type { Batches } from "../../../core/batches.ts";
import { AbortError, invalidField } from "../../../core/errors.ts";
import { type GenerateResult, GenerateResultSchema } from "../../../gen/outrigger/v1/generation_pb.ts";
import type {
  RejectedOutput_Reason,
  RunToolsRequest,
  RunToolsResponseSchema,
  ToolOutput,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import { type LoopItem, runToolLoop } from "../../../generation/loop/tool-loop.ts";
import { CallerTools } from "./caller-tools.ts";
import type { CallFailure, GenerationCall } from "./generation-call.ts";
import { StreamMessages } from "./stream-messages.ts";
import { checkOutput } from "./tool-outputs.ts";
import { readStart } from "./tools-start.ts";

/** A message of the sidecar in RunTools. */
export type RunToolsMessage = MessageInitShape<typeof RunToolsResponseSchema>;

/** Serves RunTools. */
export function runTools(
  call: GenerationCall,
  requests: AsyncIterable<RunToolsRequest>,
): Batches<RunToolsMessage> {
  const run = new ToolRun(call, requests[Symbol.asyncIterator]());
  return { [Symbol.asyncIterator]: () => run };
}

type Batch = readonly RunToolsMessage[];

/** Outputs are not read while this many messages wait for the caller, since each output may produce another message. */
const MAX_WAITING_MESSAGES = 64;

/** Longest id in a `rejected_output`, in characters. */
const MAX_ID_LENGTH = 256;

/**
 * One call of RunTools: the messages of the loop, and the messages that the caller's outputs cause. The loop advances
 * only while the transport asks for messages; the outputs are read concurrently.
 */
class ToolRun implements AsyncIterator<Batch> {
  readonly #call: GenerationCall;
  readonly #requests: AsyncIterator<RunToolsRequest>;
  readonly #messages = new StreamMessages();
  readonly #outbox = new Outbox<RunToolsMessage>(MAX_WAITING_MESSAGES);
  #tools: CallerTools | undefined;
  #loop: AsyncGenerator<LoopItem, GenerateResult> | undefined;
  #isAdvancing = false;
  /** The failure if the caller's messages end the call. */
  #fault: CallFailure | undefined;
  #end: { readonly status: ConnectError | undefined } | undefined;

  constructor(call: GenerationCall, requests: AsyncIterator<RunToolsRequest>) {
    this.#call = call;
    this.#requests = requests;
  }

  async next(): Promise<IteratorResult<Batch>> {
    for (;;) {
      const batch = this.#outbox.take();
      if (batch !== undefined) return { done: false, value: batch };
      if (this.#end !== undefined) {
        this.#call.end();
        if (this.#end.status !== undefined) throw this.#end.status;
        return { done: true, value: undefined };
      }
      if (!this.#isAdvancing) void this.#advance();
      await this.#outbox.changed();
    }
  }

  /** The caller has disconnected, or stops reading. */
  async return(): Promise<IteratorResult<Batch>> {
    this.#call.abort(new AbortError("the caller disconnected"));
    this.#tools?.stop();
    await this.#loop?.return(create(GenerateResultSchema));
    this.#call.end();
    return { done: true, value: undefined };
  }

  /** Advances the loop until it yields a message. Never rejects. */
  async #advance(): Promise<void> {
    this.#isAdvancing = true;
    try {
      this.#loop ??= await this.#open();
      const item = await this.#loop.next();
      if (item.done === true) this.#finish([this.#messages.ofResult(item.value)]);
      else this.#send(item.value);
    } catch (thrown) {
      const failure = this.#fault ?? this.#call.toFailure(thrown);
      this.#finish(this.#messages.ofFailure(failure), failure.status);
    }
    this.#isAdvancing = false;
  }

  async #open(): Promise<AsyncGenerator<LoopItem, GenerateResult>> {
    const { done, value } = await this.#requests.next();
    if (done === true || value.message.case !== "start")
      throw invalidField("start", "is missing, expected it in the first message");
    const start = value.message.value;
    this.#call.keep(start);
    const { generation, ...toolOptions } = await readStart(this.#call, start);
    this.#tools = new CallerTools({
      ...toolOptions,
      onExecution: ({ id, name }, step) => this.#call.served.recorder.tool({ id, name, step }),
      announce: (value, step) => this.#outbox.push([this.#messages.at(step, { case: "execute", value })]),
    });
    void this.#readOutputs(this.#tools);
    const isStreamed = !start.omitEvents;
    return runToolLoop({ ...this.#call.loopOptions(generation), executor: this.#tools, isStreamed });
  }

  /** Reads the caller's messages until it closes its side. Never rejects. */
  async #readOutputs(tools: CallerTools): Promise<void> {
    try {
      for (;;) {
        await this.#outbox.room();
        const { done, value } = await this.#requests.next();
        // Some clients end their side before they reset a stream that they cancel; both arrive together.
        if (done === true) await setImmediate();
        if (this.#isOver) return;
        if (done === true) return tools.close();
        this.#addOutput(tools, toOutput(value));
      }
    } catch (thrown) {
      if (!this.#isOver) this.#fail(thrown);
    }
  }

  #addOutput(tools: CallerTools, output: ToolOutput): void {
    const reason = tools.take(output);
    if (reason === undefined) this.#call.keep(output);
    else this.#outbox.push([this.#messages.of({ case: "rejectedOutput", value: rejected(output, reason) })]);
  }

  #send(item: LoopItem): void {
    this.#outbox.push(this.#messages.ofItem(item));
    // The memory of its tool results was counted when they arrived.
    if (item.case === "stepFinish") this.#call.keep(item.result.response);
  }

  /** Ends the call because of a message of the caller. */
  #fail(thrown: unknown): void {
    this.#fault = this.#call.toFailure(thrown);
    this.#call.abort(this.#fault.error);
  }

  #finish(last: Batch, status?: ConnectError): void {
    this.#tools?.stop();
    this.#end = { status };
    this.#outbox.push(last);
  }

  /** Whether the outcome of the call is decided, so that further outputs change nothing. */
  get #isOver(): boolean {
    return this.#end !== undefined || this.#call.signal.aborted;
  }
}

/** @throws InvalidRequestError for a message that is not an output, or a malformed one. */
function toOutput({ message }: RunToolsRequest): ToolOutput {
  if (message.case === "start") throw invalidField("start", "was sent twice, expected it once");
  if (message.case === undefined) throw invalidField("message", "is missing, expected an output");
  const violations = new Violations();
  checkOutput(message.value, "output", violations);
  violations.throwIfAny();
  return message.value;
}

function rejected({ toolCallId }: ToolOutput, reason: RejectedOutput_Reason) {
  return { toolCallId: toolCallId.slice(0, MAX_ID_LENGTH).toWellFormed(), reason };
}

/** Messages that wait for the transport, which takes all waiting messages at once. For one reader and one writer. */
class Outbox<Message> {
  readonly #max: number;
  #messages: Message[] = [];
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;

  /** @param max A writer that asks for room waits while this many messages wait. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Adds messages. */
  push(messages: readonly Message[]): void {
    for (const message of messages) this.#messages.push(message);
    this.wake();
  }

  /** Takes all messages. Undefined if there are none. */
  take(): readonly Message[] | undefined {
    if (this.#messages.length === 0) return undefined;
    const messages = this.#messages;
    this.#messages = [];
    const wake = this.#wakeWriter;
    this.#wakeWriter = undefined;
    wake?.();
    return messages;
  }

  /** Resolves when there is work for the reader. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeReader = resolve;
    });
  }

  /** Wakes the reader. */
  wake(): void {
    const wake = this.#wakeReader;
    this.#wakeReader = undefined;
    wake?.();
  }

  /** Resolves when fewer messages than the maximum wait. */
  async room(): Promise<void> {
    while (this.#messages.length >= this.#max)
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
  }
}
