import { LawChecker } from "../../../../../src/core/laws.ts";
import { toolCallsOf } from "../../../../../src/core/message.ts";
import type { GenerateResult, StepResult } from "../../../../../src/gen/outrigger/v1/generation_pb.ts";
import type {
  ExecuteTool,
  RejectedOutput,
  RunToolsRequest,
  RunToolsResponse,
  ToolOutput,
} from "../../../../../src/gen/outrigger/v1/generation_service_pb.ts";
import type { StreamEvent } from "../../../../../src/gen/outrigger/v1/stream_event_pb.ts";

/** The purpose of an announced call. */
type Wanted = "execution" | "repair";

/**
 * Checks that the messages of one RunTools call follow the state machine in the comment of RunTools in the contract,
 * from the point of view of the caller: its outputs may cross messages of the sidecar. One instance per call.
 */
export class MessageOrder {
  #state: "OPENING" | "MODEL" | "TOOLS" | "FINISHED" | "ENDED" = "OPENING";
  #next = 0;
  #step = 1;
  #laws: LawChecker | undefined;
  /** The calls announced in the step, in their order. */
  #announced: string[] = [];
  /** The most recent purpose of each call of the loop. */
  readonly #wanted = new Map<string, Wanted>();
  readonly #sent: ToolOutput[] = [];
  readonly #steps: StepResult[] = [];

  /** Takes a message of the caller. Throws if the message is not allowed. */
  request({ message }: RunToolsRequest): void {
    const isFirst = this.#state === "OPENING";
    if (message.case === "start" && !isFirst) violate("a second start");
    if (message.case !== "start" && isFirst) violate("a first message that is no start");
    if (message.case === "start") this.#state = "MODEL";
    if (message.case === "output") {
      if (message.value.toolCallId === "") violate("an output without an id");
      this.#sent.push(message.value);
    }
  }

  /** Takes a message of the sidecar. Throws if the message is not allowed. */
  response({ sequence, step, message }: RunToolsResponse): void {
    if (this.#state === "OPENING" || this.#state === "ENDED") violate(`${message.case} while ${this.#state}`);
    if (sequence !== this.#next) violate(`sequence ${sequence} instead of ${this.#next}`);
    this.#next += 1;
    this.#checkStep(step);
    switch (message.case) {
      case "event":
        return this.#event(message.value);
      case "execute":
        return this.#execute(message.value);
      case "stepFinish":
        return this.#stepFinish(message.value.result);
      case "result":
        return this.#result(message.value);
      case "rejectedOutput":
        return this.#rejected(message.value);
      case "error":
        this.#state = "ENDED";
        return;
      default:
        violate("a message of no kind");
    }
  }

  /** Takes the end of the call. Throws if the call must not end in this way. @param isOk Whether its status is OK. */
  end(isOk: boolean): void {
    if (isOk && this.#state !== "ENDED") violate(`status OK while ${this.#state}`);
    if (!isOk && this.#next > 0 && this.#state !== "ENDED") violate("a status without an error before it");
  }

  #checkStep(step: number): void {
    const isNext = this.#state === "FINISHED" && step === this.#step + 1;
    if (step !== this.#step && !isNext) violate(`step ${step} while ${this.#state} of step ${this.#step}`);
    if (!isNext) return;
    this.#step = step;
    this.#state = "MODEL";
    this.#announced = [];
    this.#laws = undefined;
  }

  #event(event: StreamEvent): void {
    if (this.#state !== "MODEL") violate(`an event while ${this.#state}`);
    this.#laws ??= new LawChecker();
    this.#laws.check(event);
  }

  #execute({ toolCall, problem }: ExecuteTool): void {
    if (this.#state === "MODEL") this.#laws?.end();
    else if (this.#state !== "TOOLS") violate(`an execute while ${this.#state}`);
    this.#state = "TOOLS";
    const id = toolCall?.id ?? "";
    const wanted = this.#wanted.get(id);
    const isRepaired = this.#sent.some(
      ({ toolCallId, output }) => toolCallId === id && output.case === "repairedCall",
    );
    if (wanted === "repair" && (problem !== "" || !isRepaired)) violate(`a second execute for ${id}`);
    if (wanted === "execution") violate(`a second execute for ${id}`);
    if (wanted === undefined) this.#announced.push(id);
    this.#wanted.set(id, problem === "" ? "execution" : "repair");
  }

  #stepFinish(result: StepResult | undefined): void {
    if (this.#state === "FINISHED") violate("a second step_finish");
    if (this.#state === "MODEL") this.#laws?.end();
    if (result === undefined) return violate("a step_finish without a result");
    const calls = toolCallsOf(result.response).map(({ id }) => id);
    const results = result.toolResults.map(({ toolCallId }) => toolCallId);
    if (!isWithin(this.#announced, calls)) violate("calls that are not announced in their order");
    if (!isWithin(results, calls)) violate("results that are not in the order of the calls");
    for (const id of this.#announced) if (!results.includes(id)) violate(`no result for ${id}`);
    this.#steps.push(result);
    this.#state = "FINISHED";
  }

  #result({ steps }: GenerateResult): void {
    if (this.#state !== "FINISHED") violate(`a result while ${this.#state}`);
    if (steps.length < this.#steps.length) violate("a result without all steps");
    this.#state = "ENDED";
  }

  #rejected({ toolCallId }: RejectedOutput): void {
    if (!this.#sent.some((output) => output.toolCallId.startsWith(toolCallId)))
      violate("a rejected_output for an output that was not sent");
  }
}

/** Whether a list has the given members in their order, each once. */
function isWithin(members: readonly string[], list: readonly string[]): boolean {
  let from = 0;
  return members.every((member) => {
    from = list.indexOf(member, from) + 1;
    return from > 0;
  });
}

function violate(found: string): never {
  throw new Error(`the order of messages is violated: ${found}`);
}
