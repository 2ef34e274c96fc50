import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { assistantMessage, Client, systemMessage, textOf, toolResult, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { BadRequestSchema } from "../../../src/gen/google/rpc/error_details_pb.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { RunService } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import type { ThreadMessage } from "../../../src/gen/outrigger/v1/thread_pb.ts";
import { ThreadService } from "../../../src/gen/outrigger/v1/thread_service_pb.ts";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { createRunService, createThreadService } from "../../../src/server/services/run-service.ts";
import { startApi } from "../../endpoints/support/api-server.ts";
import { ScriptedModel, type Turn } from "../../generation/support/scripted-model.ts";
import { createTestEngine } from "../../runs/support/test-engine.ts";
import { accessKey } from "../support/access-keys.ts";
import { TRANSPORTS } from "../support/clients.ts";
import { type TestServer, type TestServerOptions, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

const UNKNOWN = `thread_${"0".repeat(32)}`;

/** A server with ThreadService and RunService over an engine whose model follows a script. */
async function start(turns: readonly Turn[] = [], options: TestServerOptions = {}): Promise<TestServer> {
  const client = new Client({ providers: { scripted: new ScriptedModel(turns) }, fieldPaths: "contract" });
  const { engine } = await createTestEngine([], { client });
  const services = [createThreadService(engine, client), createRunService(engine, client)];
  const server = await servers.start({}, { ...options, services });
  servers.onEnd(() => engine.close());
  return server;
}

function createClients(transport: Transport) {
  return { threads: createClient(ThreadService, transport), runs: createClient(RunService, transport) };
}

function texts(messages: readonly ThreadMessage[]): string[] {
  return messages.map(({ message }) => textOf(message));
}

async function toFailure(call: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error("the call did not fail");
  return error;
}

function getViolations(error: ConnectError): string[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field));
}

describe.each(Object.entries(TRANSPORTS))("ThreadService over %s", (_name, transportTo) => {
  it("creates, reads, relabels and deletes threads", async () => {
    const { threads } = createClients(transportTo((await start()).url));
    const thread = await threads.createThread({ metadata: { team: "a" } });
    expect(thread).toMatchObject({ metadata: { team: "a" }, conversation: true });
    expect(thread.id).toMatch(/^thread_[0-9a-f]{32}$/);
    expect(await threads.getThread({ threadId: thread.id })).toEqual(thread);
    const updated = await threads.updateThread({ threadId: thread.id, metadata: { topic: "b" } });
    expect(updated).toEqual({ ...thread, metadata: { topic: "b" } });
    expect(await threads.getThread({ threadId: thread.id })).toEqual(updated);
    await threads.deleteThread({ threadId: thread.id });
    expect((await toFailure(threads.getThread({ threadId: thread.id }))).code).toBe(Code.NotFound);
  });

  it("appends, lists, reads and deletes messages", async () => {
    const { threads } = createClients(transportTo((await start()).url));
    const { id: threadId } = await threads.createThread({ messages: [userMessage("one")] });
    const { messages: added } = await threads.appendMessages({
      threadId,
      messages: [assistantMessage("two"), userMessage("three")],
    });
    expect(texts(added)).toEqual(["two", "three"]);
    expect(added).toMatchObject([{ runId: "", output: false }, {}]);
    const first = await threads.listMessages({ threadId, pageSize: 2 });
    expect(texts(first.messages)).toEqual(["one", "two"]);
    const rest = await threads.listMessages({ threadId, pageSize: 2, pageToken: first.nextPageToken });
    expect([texts(rest.messages), rest.nextPageToken]).toEqual([["three"], ""]);
    const newest = await threads.listMessages({ threadId, pageSize: 1, newestFirst: true });
    expect(texts(newest.messages)).toEqual(["three"]);
    const [two] = added;
    if (two === undefined) throw new Error("expected a message");
    expect(await threads.getMessage({ messageId: two.id })).toEqual(two);
    await threads.deleteMessage({ threadId, messageId: two.id });
    const { messages: left } = await threads.listMessages({ threadId });
    expect(texts(left)).toEqual(["one", "three"]);
  });

  it("creates threads that runs continue, and reads those that runs create", async () => {
    const { threads, runs } = createClients(transportTo((await start(["hello", "again"])).url));
    const thread = await threads.createThread({ messages: [systemMessage("Be brief.")] });
    const options = { request: { model: "m", messages: [userMessage("hi")] } };
    const run = await runs.createRun({ options, threadId: thread.id });
    expect(run.status).toBe(RunStatus.COMPLETED);
    const { messages } = await threads.listMessages({ threadId: thread.id });
    expect(texts(messages)).toEqual(["Be brief.", "hi", "hello"]);
    expect(messages.map(({ runId, output }) => [runId, output])).toEqual([
      ["", false],
      [run.id, false],
      [run.id, true],
    ]);
    const other = await runs.createRun({ options });
    expect(await threads.getThread({ threadId: other.threadId })).toMatchObject({ conversation: false });
    expect(texts((await threads.listMessages({ threadId: other.threadId })).messages)).toEqual([
      "hi",
      "again",
    ]);
  });

  it("names the fields that are wrong", async () => {
    const { threads } = createClients(transportTo((await start()).url));
    const { id: threadId } = await threads.createThread({});
    const many = Array.from({ length: 101 }, () => userMessage("x"));
    const wrong: [() => Promise<unknown>, string[]][] = [
      [() => threads.createThread({ messages: many }), ["messages"]],
      [() => threads.createThread({ messages: [{ role: Role.USER }] }), ["messages[0].content"]],
      [() => threads.createThread({ metadata: { ["k".repeat(65)]: "" } }), ["metadata"]],
      [() => threads.getThread({}), ["thread_id"]],
      [() => threads.updateThread({}), ["thread_id"]],
      [() => threads.updateThread({ threadId, metadata: { k: "v".repeat(513) } }), ['metadata["k"]']],
      [() => threads.deleteThread({}), ["thread_id"]],
      [() => threads.appendMessages({ messages: [userMessage("x")] }), ["thread_id"]],
      [() => threads.appendMessages({ threadId }), ["messages"]],
      [() => threads.appendMessages({ threadId, messages: many }), ["messages"]],
      [() => threads.appendMessages({ threadId, messages: [{}] }), ["messages[0].role"]],
      [() => threads.listMessages({}), ["thread_id"]],
      [() => threads.listMessages({ threadId, pageSize: 101 }), ["page_size"]],
      [() => threads.listMessages({ threadId, pageToken: "msg_none" }), ["page_token"]],
      [() => threads.getMessage({}), ["message_id"]],
      [() => threads.deleteMessage({ messageId: "msg_x" }), ["thread_id"]],
      [() => threads.deleteMessage({ threadId }), ["message_id"]],
    ];
    for (const [call, fields] of wrong) {
      const error = await toFailure(call());
      expect([error.code, getViolations(error)], String(call)).toEqual([Code.InvalidArgument, fields]);
    }
    for (const call of [
      () => threads.getThread({ threadId: UNKNOWN }),
      () => threads.updateThread({ threadId: UNKNOWN }),
      () => threads.deleteThread({ threadId: UNKNOWN }),
      () => threads.appendMessages({ threadId: UNKNOWN, messages: [userMessage("x")] }),
      () => threads.listMessages({ threadId: UNKNOWN }),
      () => threads.getMessage({ messageId: "msg_x" }),
      () => threads.deleteMessage({ threadId, messageId: "msg_x" }),
    ])
      expect((await toFailure(call())).code, String(call)).toBe(Code.NotFound);
  });
});

describe("the messages that are appended to a thread", () => {
  it("may call tools whose results come later, or come from before", async () => {
    const { threads } = createClients(TRANSPORTS.gRPC?.((await start()).url) as Transport);
    const call = { part: { case: "toolCall" as const, value: { id: "c", name: "f" } } };
    const { id: threadId } = await threads.createThread({
      messages: [userMessage("hi"), { role: Role.ASSISTANT, content: [call] }],
    });
    await threads.appendMessages({ threadId, messages: [toolResult("c", "42")] });
    expect((await threads.listMessages({ threadId })).messages).toHaveLength(3);
  });
});

describe("threads of callers with access keys", () => {
  it("belong to the key that made them, and do not exist for others", async () => {
    const keys = [accessKey("a", ["a-key"]), accessKey("b", ["b-key"])];
    const server = await start([], { access: new AccessControl({ current: () => keys }) });
    const threadsWith = (key: string) =>
      createClients(
        createConnectTransport({
          baseUrl: server.url,
          httpVersion: "2",
          interceptors: [
            (next) => (request) => {
              request.header.set("authorization", `Bearer ${key}`);
              return next(request);
            },
          ],
        }),
      ).threads;
    const owner = threadsWith("a-key");
    const { id: threadId } = await owner.createThread({ messages: [userMessage("a secret")] });
    const [message] = (await owner.listMessages({ threadId })).messages;
    const messageId = message?.id ?? "";
    const other = threadsWith("b-key");
    for (const call of [
      () => other.getThread({ threadId }),
      () => other.updateThread({ threadId, metadata: {} }),
      () => other.deleteThread({ threadId }),
      () => other.appendMessages({ threadId, messages: [userMessage("x")] }),
      () => other.listMessages({ threadId }),
      () => other.getMessage({ messageId }),
      () => other.deleteMessage({ threadId, messageId }),
    ]) {
      const error = await toFailure(call());
      expect(error.code, String(call)).toBe(Code.NotFound);
      expect(error.message).not.toContain("secret");
    }
    expect(texts((await owner.listMessages({ threadId })).messages)).toEqual(["a secret"]);
    expect((await toFailure(threadsWith("no-key").getThread({ threadId }))).code).toBe(Code.Unauthenticated);
  });
});

describe("a conversation", () => {
  async function open() {
    const { server, openai } = await startApi(servers);
    return { openai, ...createClients(TRANSPORTS.gRPC?.(server.url) as Transport) };
  }

  it("made over /v1 is read, appended to and continued over gRPC", async () => {
    const { openai, threads, runs } = await open();
    const screenshot = { type: "computer_screenshot", file_id: "f" } as const;
    const { id } = await openai.conversations.create({
      metadata: { team: "a" },
      items: [
        { role: "user", content: "hi" },
        { type: "computer_call_output", call_id: "k", output: screenshot },
      ],
    });
    const threadId = id.replace("conv_", "thread_");
    expect(await threads.getThread({ threadId })).toMatchObject({
      metadata: { team: "a" },
      conversation: true,
    });
    const { messages } = await threads.listMessages({ threadId });
    expect(messages[1]?.message?.content[0]?.part.case).toBe("native");
    // The form in which the API received the item is internal to the store.
    expect(Object.keys(messages[1] ?? {})).not.toContain("originJson");
    await threads.deleteMessage({ threadId, messageId: messages[1]?.id ?? "" });
    await threads.appendMessages({ threadId, messages: [assistantMessage("hello"), userMessage("what?")] });
    const options = { request: { model: "sim-text", messages: [userMessage("go on")] } };
    const run = await runs.createRun({ options, threadId });
    expect(run.status).toBe(RunStatus.COMPLETED);
    const { data } = await openai.conversations.items.list(id, { order: "asc" });
    expect(data.map((item) => "role" in item && item.role)).toEqual([
      "user",
      "assistant",
      "user",
      "user",
      "assistant",
    ]);
    const answer = await openai.responses.create({ model: "sim-text", input: "and?", conversation: id });
    expect(answer.status).toBe("completed");
    expect((await threads.listMessages({ threadId })).messages).toHaveLength(7);
  });

  it("made over gRPC is read, appended to and continued over /v1", async () => {
    const { openai, threads, runs } = await open();
    const messages = [userMessage("hi"), assistantMessage("hello")];
    const { id: threadId } = await threads.createThread({ messages, metadata: { team: "a" } });
    const id = threadId.replace("thread_", "conv_");
    expect(await openai.conversations.retrieve(id)).toMatchObject({ id, metadata: { team: "a" } });
    const { data } = await openai.conversations.items.list(id, { order: "asc" });
    expect(data).toMatchObject([
      { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "hello" }] },
    ]);
    await openai.conversations.items.create(id, { items: [{ role: "user", content: "more" }] });
    const answer = await openai.responses.create({ model: "sim-text", input: "and?", conversation: id });
    expect(answer.conversation).toEqual({ id });
    const { messages: all } = await threads.listMessages({ threadId });
    expect(texts(all).slice(0, 4)).toEqual(["hi", "hello", "more", "and?"]);
    const run = await runs.getRun({ runId: answer.id.replace("resp_", "run_") });
    expect(all.at(-1)).toMatchObject({ runId: run.id, output: true });
  });
});
