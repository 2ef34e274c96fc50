import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Client, userMessage } from "outrigger";
import type { Batches } from "../../../src/core/batches.ts";
import type { Run, RunEvent } from "../../../src/gen/outrigger/v1/run_pb.ts";
import {
  type CreateRunRequest,
  CreateRunRequestSchema,
} from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import type { StartedRun } from "../../../src/runs/engine.ts";
import { RunEngine, type RunEngineOptions } from "../../../src/runs/run-engine.ts";
import type { RunStore } from "../../../src/runs/store.ts";
import { ScriptedModel, type Turn } from "../../generation/support/scripted-model.ts";
import { openMemory } from "../store/sqlite/open-store.ts";

/** An engine whose models follow a script. */
export interface TestEngine {
  readonly engine: RunEngine;
  readonly model: ScriptedModel;
  readonly store: RunStore;
}

/** Creates an engine, by default over a new store in memory. */
export async function createTestEngine(
  turns: readonly Turn[],
  options: Partial<RunEngineOptions> = {},
): Promise<TestEngine> {
  const model = new ScriptedModel(turns);
  const client = new Client({ providers: { scripted: model }, fieldPaths: "contract" });
  const store = options.store ?? (await openMemory());
  return { engine: new RunEngine({ client, ...options, store }), model, store };
}

/** A signal that is never aborted. */
export const NEVER: AbortSignal = new AbortController().signal;

type Fields = Exclude<MessageInitShape<typeof CreateRunRequestSchema>, CreateRunRequest>;

/** A request with one user message, and other fields. */
export function runRequest(text: string, fields: Fields = {}): CreateRunRequest {
  const options = { request: { model: "m", messages: [userMessage(text)] } };
  return create(CreateRunRequestSchema, { ...fields, options: fields.options ?? options });
}

/** Starts a run for a caller that stays. */
export function start(engine: RunEngine, request: CreateRunRequest, owner = ""): Promise<StartedRun> {
  return engine.createRun({ request }, { owner, signal: NEVER });
}

/** Creates a run and waits until it ends. */
export async function run(engine: RunEngine, request: CreateRunRequest, owner = ""): Promise<Run> {
  return (await start(engine, request, owner)).result();
}

/** All events. */
export async function getEvents(batches: Batches<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const batch of batches) events.push(...batch);
  return events;
}

/** The events of a stored run after a sequence number. */
export function replay(engine: RunEngine, runId: string, after = -1, owner = ""): Promise<RunEvent[]> {
  return getEvents(engine.streamRun(owner, runId, after, NEVER));
}

/** Waits as a model that answers nothing until its call is aborted. */
export function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
