/** A caller of RunTools, whose messages in both directions are checked for their order. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import type { GenerateResult } from "../../../../../src/gen/outrigger/v1/generation_pb.ts";
import {
  type ExecuteTool,
  GenerationService,
  type RejectedOutput,
  type RunToolsRequest,
  RunToolsRequestSchema,
  type RunToolsResponse,
  type RunToolsStartSchema,
  type ToolOutputSchema,
} from "../../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import { MessageOrder } from "./message-order.ts";

type Start = MessageInitShape<typeof RunToolsStartSchema>;
type Output = MessageInitShape<typeof ToolOutputSchema>;
type Outcome = NonNullable<Exclude<Output, { $typeName: string }>["output"]>;

/** How a call of RunTools ended. */
export interface RunOutcome {
  readonly messages: RunToolsResponse[];
  readonly executes: ExecuteTool[];
  readonly rejected: RejectedOutput[];
  readonly result: GenerateResult | undefined;
  readonly error: ConnectError | undefined;
}

/** One call of RunTools. */
export class ToolCaller {
  readonly #queue: (RunToolsRequest | undefined)[] = [];
  readonly #order = new MessageOrder();
  readonly #controller = new AbortController();
  readonly messages: RunToolsResponse[] = [];
  #wake = Promise.withResolvers<void>();
  #isEnded = false;
  #onMessage: (message: RunToolsResponse) => void;
  readonly #isChecked: boolean;

  /** @param onMessage Called with each message of the sidecar; may send. */
  constructor(onMessage: (message: RunToolsResponse) => void = () => {}, { isChecked = true } = {}) {
    this.#onMessage = onMessage;
    this.#isChecked = isChecked;
  }

  start(start: Start): this {
    return this.send({ message: { case: "start", value: start } });
  }

  /** Answers a call. */
  answer(toolCallId: string, output: Outcome): this {
    return this.send({ message: { case: "output", value: { toolCallId, output } } });
  }

  send(init: MessageInitShape<typeof RunToolsRequestSchema>): this {
    const message = create(RunToolsRequestSchema, init);
    if (this.#isEnded) return this;
    if (this.#isChecked) this.#order.request(message);
    this.#queue.push(message);
    this.#wake.resolve();
    return this;
  }

  /** Half-closes. */
  end(): this {
    this.#isEnded = true;
    this.#queue.push(undefined);
    this.#wake.resolve();
    return this;
  }

  disconnect(): void {
    this.#isEnded = true;
    this.#controller.abort();
  }

  /** Makes the call, and reads it to its end. */
  async run(transport: Transport): Promise<RunOutcome> {
    const { signal } = this.#controller;
    let error: ConnectError | undefined;
    try {
      const client = createClient(GenerationService, transport);
      for await (const message of client.runTools(this.#requests(), { signal })) {
        if (this.#isChecked) this.#order.response(message);
        this.messages.push(message);
        this.#onMessage(message);
      }
    } catch (thrown) {
      if (!(thrown instanceof ConnectError)) throw thrown;
      error = thrown;
    }
    if (this.#isChecked && !signal.aborted) this.#order.end(error === undefined);
    this.end();
    return this.#outcome(error);
  }

  #outcome(error: ConnectError | undefined): RunOutcome {
    const of = this.messages.map(({ message }) => message);
    return {
      messages: this.messages,
      executes: of.flatMap((message) => (message.case === "execute" ? [message.value] : [])),
      rejected: of.flatMap((message) => (message.case === "rejectedOutput" ? [message.value] : [])),
      result: of.flatMap((message) => (message.case === "result" ? [message.value] : []))[0],
      error,
    };
  }

  async *#requests(): AsyncGenerator<RunToolsRequest> {
    for (;;) {
      while (this.#queue.length > 0) {
        const message = this.#queue.shift();
        if (message === undefined) return;
        yield message;
      }
      this.#wake = Promise.withResolvers();
      await this.#wake.promise;
    }
  }
}

/** A text as the result of a tool. */
export function textResult(text: string): Outcome {
  return { case: "result", value: { content: [{ part: { case: "text", value: text } }] } };
}

/** Calls `answer` with each `execute`. */
export function onExecute(answer: (execute: ExecuteTool, id: string) => void) {
  return ({ message }: RunToolsResponse): void => {
    if (message.case === "execute") answer(message.value, message.value.toolCall?.id ?? "");
  };
}
