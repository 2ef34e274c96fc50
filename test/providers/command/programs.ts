/** Programs for tests: Node scripts that are started as a provider's program would be. */
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";
import { LawChecker } from "../../../src/core/laws.ts";
import { userMessage } from "../../../src/core/message.ts";
import { type Request, RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { CommandAdapter, type CommandAdapterOptions } from "../../../src/providers/command/adapter.ts";

/** A folder that is removed after the test. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "outrigger-program-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** An adapter for a script; closed after the test. The script has `print(text)` and a promise `input`. */
export async function getAdapter(
  script: string,
  options: Partial<CommandAdapterOptions> = {},
): Promise<CommandAdapter> {
  const path = join(await testFolder(), "program.mjs");
  const prelude = `
    import { existsSync, readFileSync, writeFileSync } from "node:fs";
    import { spawn } from "node:child_process";
    const print = (text) => process.stdout.write(text);
    const input = () => readFileSync(0, "utf8");
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  `;
  await writeFile(path, prelude + script);
  await chmod(path, 0o600);
  const command = [process.execPath, path, ...(options.command ?? [])];
  const adapter = new CommandAdapter({ format: "text", name: "local", ...options, command });
  onTestFinished(() => adapter.close());
  return adapter;
}

/** A request with one question. */
export function toRequest(fields: MessageInitShape<typeof RequestSchema> = {}): Request {
  return create(RequestSchema, { model: "m-1", messages: [userMessage("Say hello.")], ...fields });
}

/** All events of a successful stream, checked against the laws. */
export async function getEvents(
  adapter: CommandAdapter,
  request: Request = toRequest(),
): Promise<StreamEvent[]> {
  const laws = new LawChecker();
  const events: StreamEvent[] = [];
  for await (const event of adapter.stream(request)) {
    laws.check(event);
    events.push(event);
  }
  if (events.at(-1)?.event.case !== "finish") throw new Error("the stream has no finish");
  return events;
}

/** The kinds of events, and the error of a failed stream. */
export async function failedStream(
  adapter: CommandAdapter,
  request: Request = toRequest(),
  signal?: AbortSignal,
): Promise<{ cases: (string | undefined)[]; error: unknown }> {
  const cases: (string | undefined)[] = [];
  try {
    for await (const { event } of adapter.stream(request, { signal })) cases.push(event.case);
  } catch (error) {
    return { cases, error };
  }
  throw new Error("the stream did not fail");
}

/** Whether a process runs. An ended process may wait for its parent to reap it. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
