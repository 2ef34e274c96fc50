/** Invented events of runs, for tests of the events that are written for them. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { withoutContent } from "../../../../src/client/final-response.ts";
import { addUsage } from "../../../../src/core/usage.ts";
import { type StepResult, StepResultSchema } from "../../../../src/gen/outrigger/v1/generation_pb.ts";
import type { Response } from "../../../../src/gen/outrigger/v1/response_pb.ts";
import {
  type Run,
  type RunEvent,
  RunEventSchema,
  RunSchema,
  RunStatus,
} from "../../../../src/gen/outrigger/v1/run_pb.ts";
import type { StreamEvent } from "../../../../src/gen/outrigger/v1/stream_event_pb.ts";

/** Id of the run. */
export const RUN_ID = "run_0123456789abcdef0123456789abcdef";

/** A run as it is created. */
export function toRun(init: MessageInitShape<typeof RunSchema> = {}): Run {
  return create(RunSchema, {
    id: RUN_ID,
    status: RunStatus.IN_PROGRESS,
    createdAt: create(TimestampSchema, { seconds: 1_700_000_000n }),
    model: "asked-model",
    stored: true,
    ...init,
  });
}

/** A run that has ended, and its events. */
export interface EndedRun {
  readonly run: Run;
  readonly events: readonly RunEvent[];
}

/** The course of a run. */
export interface RunStory {
  /** The run as it is created. */
  readonly created?: Run;
  /** The events of its model calls. One that ends in an error fails the run. */
  readonly calls: readonly (readonly StreamEvent[])[];
  /** The end of the run if no call failed. COMPLETED by default. */
  readonly end?: MessageInitShape<typeof RunSchema>;
}

/** The events of a run, in the form in which the engine writes them. */
export function createRunEvents({
  created = toRun(),
  calls,
  end = { status: RunStatus.COMPLETED },
}: RunStory): EndedRun {
  const events: RunEvent[] = [];
  const add = (step: number, event: RunEvent["event"]) =>
    events.push(create(RunEventSchema, { sequence: events.length, step, event }));
  const steps: StepResult[] = [];
  let last: MessageInitShape<typeof RunSchema> = end;
  add(0, { case: "run", value: created });
  for (const [index, call] of calls.entries()) {
    for (const event of call) add(index + 1, { case: "modelEvent", value: withoutContent(event) });
    const { event } = call.at(-1) ?? { event: { case: undefined } };
    if (event.case === "error") last = { status: RunStatus.FAILED, error: event.value };
    if (event.case !== "finish" || event.value.response === undefined) continue;
    const result = create(StepResultSchema, { response: event.value.response });
    steps.push(result);
    const told = create(StepResultSchema, { response: withoutMessage(event.value.response) });
    add(index + 1, { case: "stepFinish", value: { $typeName: "outrigger.v1.StepFinish", result: told } });
  }
  const usages = steps.flatMap(({ response }) => response?.usage ?? []);
  const endedAt = create(TimestampSchema, { seconds: 1_700_000_009n });
  const run = create(RunSchema, { ...last, endedAt });
  const ended: Run = { ...created, endedAt, status: run.status };
  if (run.error !== undefined) ended.error = run.error;
  ended.incompleteReason = run.incompleteReason;
  if (usages.length > 0) ended.usage = usages.reduce(addUsage);
  add(0, { case: "run", value: ended });
  return { run: { ...ended, steps }, events };
}

function withoutMessage(response: Response): Response {
  return { ...response, ...(response.message && { message: { ...response.message, content: [] } }) };
}
