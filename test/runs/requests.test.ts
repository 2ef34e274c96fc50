/** Tests of requests that the engine accepts or refuses, and of the fields that it names. */
import { create } from "@bufbuild/protobuf";
import { functionTool, textOf, userMessage } from "outrigger";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import {
  ListRunsRequestSchema,
  SubmitToolResultsRequestSchema,
} from "../../src/gen/outrigger/v1/run_service_pb.ts";
import type { RunEngine } from "../../src/runs/run-engine.ts";
import { FakeServerTools, toolServer } from "./support/fake-server-tools.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  run,
  runRequest,
  start,
  type TestEngine,
} from "./support/test-engine.ts";

let made: TestEngine;
let engine: RunEngine;
const fake = new FakeServerTools(["risky"]);

beforeAll(async () => {
  made = await createTestEngine([(request) => (request.tools.length > 0 ? [{ name: "ask" }] : "hello")], {
    serverTools: fake.serverTools,
  });
  engine = made.engine;
});

afterAll(() => engine.close());

/** The fields that an error names, with their descriptions. */
async function violations(call: Promise<unknown>): Promise<string[]> {
  const error = (await call.then(
    () => ({ violations: [] }),
    (thrown: unknown) => thrown,
  )) as { violations?: readonly { field: string; description: string }[] };
  return (error.violations ?? []).map(({ field, description }) => `${field}: ${description}`);
}

const NONE_UNSTORED =
  "expected none with store: false, since such a run is not stored and cannot continue another";

describe("the labels of a run and of a thread", () => {
  const labels = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`label_${index}`, "x"]));
  const accepted = [{}, labels(16), { ["k".repeat(64)]: "v".repeat(512) }];
  const refused: readonly (readonly [Record<string, string>, string[]])[] = [
    [labels(17), ["metadata: expected at most 16 labels, found 17"]],
    [{ ["k".repeat(65)]: "x" }, ["metadata: expected keys of at most 64 characters, found 65"]],
    [{ a: "v".repeat(513) }, ['metadata["a"]: expected at most 512 characters, found 513']],
  ];

  it("are accepted up to their limits", async () => {
    for (const metadata of accepted) {
      expect((await run(engine, runRequest("hi", { metadata }))).metadata).toEqual(metadata);
      const thread = await engine.threads.createThread("", { metadata: {}, messages: [] });
      expect((await engine.threads.updateThread("", thread.id, metadata)).metadata).toEqual(metadata);
    }
  });

  it.each(refused)("are refused beyond them: %o", async (metadata, expected) => {
    expect(await violations(start(engine, runRequest("hi", { metadata })))).toEqual(expected);
    expect(await violations(engine.threads.createThread("", { metadata, messages: [] }))).toEqual(expected);
    const thread = await engine.threads.createThread("", { metadata: {}, messages: [] });
    expect(await violations(engine.threads.updateThread("", thread.id, metadata))).toEqual(expected);
  });
});

describe("a request to create a run", () => {
  it("names one conversation", async () => {
    const request = runRequest("hi", { previousRunId: "run_x", threadId: "thread_x" });
    expect(await violations(start(engine, request))).toEqual([
      "thread_id: expected none together with previous_run_id",
    ]);
  });

  it("names no conversation if the run is not stored, and is not in the background", async () => {
    const request = runRequest("hi", { store: false, previousRunId: "run_x", background: true });
    expect(await violations(start(engine, request))).toEqual([
      `previous_run_id: ${NONE_UNSTORED}`,
      `background: ${NONE_UNSTORED}`,
    ]);
    const threadId = runRequest("hi", { store: false, threadId: "thread_x" });
    expect(await violations(start(engine, threadId))).toEqual([`thread_id: ${NONE_UNSTORED}`]);
  });

  it("has at most 16 MCP servers", async () => {
    const servers = (count: number) => Array.from({ length: count }, () => toolServer);
    const create = (count: number) => start(engine, runRequest("hi", { mcpServers: servers(count) }));
    expect(await violations(create(17))).toEqual(["mcp_servers: expected at most 16, found 17"]);
    await (await create(16)).result();
  });

  it("needs messages, unless it has approvals or an API gives its input", async () => {
    const options = { request: { model: "m" } };
    expect(await violations(start(engine, runRequest("", { options })))).not.toEqual([]);
    const input = [{ message: userMessage("from the API"), originJson: "" }];
    const request = runRequest("", { options });
    const given = await engine.createRun({ request, input }, { owner: "", signal: NEVER });
    expect(await given.result()).toMatchObject({ status: RunStatus.COMPLETED });
    expect(made.model.requests.at(-1)?.messages.map((message) => textOf(message))).toEqual(["from the API"]);
    const nothing = engine.createRun({ request, input: [] }, { owner: "", signal: NEVER });
    expect(await violations(nothing)).not.toEqual([]);
  });

  it("needs no messages if it continues a conversation", async () => {
    const { id, threadId } = await run(engine, runRequest("Hello"));
    const options = { request: { model: "m" } };
    for (const continued of [{ previousRunId: id }, { threadId }]) {
      const { status } = await run(engine, runRequest("", { ...continued, options }));
      expect(status).toBe(RunStatus.COMPLETED);
      expect(
        made.model.requests
          .at(-1)
          ?.messages.map((message) => textOf(message))
          .slice(0, 2),
      ).toEqual(["Hello", "hello"]);
    }
  });

  it("is refused with the path of the message that is wrong, as its caller knows it", async () => {
    const wrong = { role: 3 as const, toolCallId: "call_x", content: [] };
    const messages = [userMessage("hi"), wrong];
    const options = { system: "be brief", request: { model: "m", messages } };
    const [first] = await violations(start(engine, runRequest("", { options })));
    expect(first).toMatch(/^options\.request\.messages\[1\]/);
    const input = messages.map((message) => ({ message: message as never, originJson: "" }));
    const request = runRequest("", { options: { request: { model: "m" } } });
    const [given] = await violations(engine.createRun({ request, input }, { owner: "", signal: NEVER }));
    expect(given).toMatch(/^input\[1\]/);
  });

  it.each(["previousRunId", "threadId"] as const)("names a conversation that exists: %s", async (field) => {
    const what = field === "threadId" ? "thread" : "run";
    const name = field === "threadId" ? "thread_id" : "previous_run_id";
    const id = `${what}_x`;
    const request = runRequest("hi", { [field]: id });
    expect(await violations(start(engine, request))).toEqual([`${name}: the ${what} "${id}" does not exist`]);
    const inherits = runRequest("hi", { [field]: id, inheritTools: true });
    expect(await violations(start(engine, inherits))).toEqual([
      `${name}: the ${what} "${id}" does not exist`,
    ]);
  });
});

describe("a request for a run that does not exist", () => {
  it("is refused by every method", async () => {
    const missing = { kindName: "NOT_FOUND", message: 'the run "run_x" does not exist', violations: [] };
    await expect(engine.getRun("", "run_x")).rejects.toMatchObject(missing);
    await expect(engine.cancelRun("", "run_x")).rejects.toMatchObject(missing);
    await expect(engine.deleteRun("", "run_x")).rejects.toMatchObject(missing);
    await expect(getEvents(engine.streamRun("", "run_x", -1, NEVER))).rejects.toMatchObject(missing);
    const submission = create(SubmitToolResultsRequestSchema, { runId: "run_x" });
    expect(await violations(engine.submitToolResults(submission, { owner: "", signal: NEVER }))).toEqual([
      'run_id: the run "run_x" does not exist',
    ]);
    const input = { inputRunId: "run_x", order: "oldest first", after: "", limit: 1 } as const;
    await expect(engine.threads.listMessages("", input)).rejects.toMatchObject(missing);
  });

  it("is refused if it is for events before the first one", async () => {
    const { id } = await run(engine, runRequest("hi"));
    expect(await violations(getEvents(engine.streamRun("", id, -2, NEVER)))).toEqual([
      "after_sequence: expected a number from -1, found -2",
    ]);
    expect((await getEvents(engine.streamRun("", id, 0, NEVER)))[0]?.sequence).toBe(1);
  });
});

describe("a request for a thread or a message that does not exist", () => {
  it("is refused by every method", async () => {
    const { threads } = engine;
    const thread = { kindName: "NOT_FOUND", message: 'the thread "thread_x" does not exist' };
    const query = { threadId: "thread_x", order: "oldest first", after: "", limit: 1 } as const;
    await expect(threads.getThread("", "thread_x")).rejects.toMatchObject(thread);
    await expect(threads.updateThread("", "thread_x", {})).rejects.toMatchObject(thread);
    await expect(threads.deleteThread("", "thread_x")).rejects.toMatchObject(thread);
    await expect(threads.appendMessages("", "thread_x", [])).rejects.toMatchObject(thread);
    await expect(threads.listMessages("", query)).rejects.toMatchObject(thread);
    await expect(threads.deleteMessage("", "thread_x", "msg_x")).rejects.toMatchObject(thread);
    const message = { kindName: "NOT_FOUND", message: 'the message "msg_x" does not exist' };
    await expect(threads.getMessage("", "msg_x")).rejects.toMatchObject(message);
    const { id } = await threads.createThread("", { metadata: {}, messages: [] });
    await expect(threads.deleteMessage("", id, "msg_x")).rejects.toMatchObject(message);
    expect(await threads.findCall("", "call_x")).toBeUndefined();
  });
});

describe("results of a run", () => {
  const options = {
    request: { model: "m", messages: [userMessage("hi")], tools: [functionTool({ name: "ask" })] },
  };

  it("are one for each call that waits, and no others", async () => {
    const waiting = await run(engine, runRequest("", { options }));
    const [id = ""] = waiting.requiredResults.map((call) => call.id);
    const submit = (...toolCallIds: string[]) => {
      const results = toolCallIds.map((toolCallId) => ({ toolCallId }));
      const submission = create(SubmitToolResultsRequestSchema, { runId: waiting.id, results });
      return engine.submitToolResults(submission, { owner: "", signal: NEVER });
    };
    expect(await violations(submit())).toEqual([`results: expected one for the call "${id}"`]);
    expect(await violations(submit("call_x"))).toEqual([
      'results[0].tool_call_id: "call_x" is not a call of the run that waits for a result',
      `results: expected one for the call "${id}"`,
    ]);
    expect(await violations(submit(id, id))).toEqual([
      `results[1].tool_call_id: "${id}" is not a call of the run that waits for a result`,
    ]);
    await engine.cancelRun("", waiting.id);
    expect(await violations(submit(id))).toEqual([
      `run_id: the run ${waiting.id} is CANCELLED, expected one that requires action`,
    ]);
  });

  it("are taken once if they are submitted twice at the same time", async () => {
    const waiting = await run(engine, runRequest("", { options }));
    const results = waiting.requiredResults.map(({ id }) => ({ toolCallId: id }));
    const submission = create(SubmitToolResultsRequestSchema, { runId: waiting.id, results });
    const submit = () => engine.submitToolResults(submission, { owner: "", signal: NEVER });
    const settled = await Promise.allSettled([submit(), submit()]);
    const [taken] = settled.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    const refused = settled.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(refused).toMatchObject([{ name: "RunStateError", violations: [{ field: "run_id" }] }]);
    await taken?.result();
  });
});

describe("a list of runs", () => {
  it("has 20 of them by default, 100 at most, and a token if there are more", async () => {
    const owner = "lists";
    const ids: string[] = [];
    for (let count = 0; count < 22; count += 1)
      ids.unshift((await run(engine, runRequest("hi", { metadata: { count: `${count}` } }), owner)).id);
    const list = async (fields: { pageSize?: number; pageToken?: string }) => {
      const { runs, nextPageToken } = await engine.listRuns(owner, create(ListRunsRequestSchema, fields));
      return { ids: runs.map(({ id }) => id), nextPageToken };
    };
    expect(await list({})).toEqual({ ids: ids.slice(0, 20), nextPageToken: ids[19] });
    expect(await list({ pageToken: ids[19] ?? "" })).toEqual({ ids: ids.slice(20), nextPageToken: "" });
    expect(await list({ pageSize: 1 })).toEqual({ ids: ids.slice(0, 1), nextPageToken: ids[0] });
    expect(await list({ pageSize: 22 })).toEqual({ ids, nextPageToken: "" });
    expect(await list({ pageSize: 100 })).toEqual({ ids, nextPageToken: "" });
  });

  it("is refused with every field that is wrong", async () => {
    const list = (fields: object) => engine.listRuns("", create(ListRunsRequestSchema, fields));
    expect(await violations(list({ pageSize: 101, statuses: [RunStatus.COMPLETED, 99] }))).toEqual([
      "page_size: expected a number from 1 to 100, found 101",
      expect.stringMatching(/^statuses\[1\]: /),
    ]);
    expect(await violations(list({ pageSize: -1 }))).toEqual([
      "page_size: expected a number from 1 to 100, found -1",
    ]);
  });
});
