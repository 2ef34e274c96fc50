/** The stored conversation that a request continues, or whose items it refers to. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { NotFoundError } from "../../../src/core/errors.ts";
import { textOf, userMessage } from "../../../src/core/message.ts";
import { EarlierMessages } from "../../../src/endpoints/answers/earlier-messages.ts";
import { readEnd, readHistory } from "../../../src/endpoints/responses/read-history.ts";
import { defaultSettings, getOrigin } from "../../../src/endpoints/responses/settings.ts";
import { readUnstoredHistory } from "../../../src/endpoints/responses/unstored-continuation.ts";
import { RunSchema, RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { ThreadMessageSchema } from "../../../src/gen/outrigger/v1/thread_pb.ts";
import type { MessageQuery } from "../../../src/runs/store.ts";

/** A store with one thread of messages `0`, `1`, ..., two for each run. Pages end early after `pageSize` messages. */
function createEngine(count: number, pageSize = Number.POSITIVE_INFINITY) {
  const all = Array.from({ length: count }, (_, index) =>
    create(ThreadMessageSchema, {
      id: `msg_${index}`,
      runId: `run_${Math.floor(index / 2)}`,
      message: userMessage(String(index)),
    }),
  );
  const queries: MessageQuery[] = [];
  const listMessages = async (owner: string, query: MessageQuery) => {
    queries.push(query);
    if (owner !== "key" || query.threadId !== "thread_1") throw new NotFoundError("there is no thread");
    const ordered = query.order === "oldest first" ? all : all.toReversed();
    const start = query.after === "" ? 0 : ordered.findIndex(({ id }) => id === query.after) + 1;
    const elements = ordered.slice(start, start + Math.min(query.limit, pageSize));
    return { elements, hasMore: start + elements.length < ordered.length };
  };
  return { engine: { threads: { listMessages } }, queries };
}

describe("readHistory()", () => {
  it("reads nothing if nothing is continued", async () => {
    const { engine, queries } = createEngine(3);
    expect(await readHistory(engine, "key", undefined, "")).toEqual([]);
    expect(queries).toEqual([]);
  });

  it("reads a thread page by page, in order", async () => {
    const { engine, queries } = createEngine(250);
    const messages = await readHistory(engine, "key", undefined, "thread_1");
    expect(messages.map(textOf)).toEqual(Array.from({ length: 250 }, (_, index) => String(index)));
    expect(queries.map(({ after, limit, order }) => [after, limit, order])).toEqual([
      ["", 100, "oldest first"],
      ["msg_99", 100, "oldest first"],
      ["msg_199", 100, "oldest first"],
    ]);
  });

  it("reads the thread of a run up to that run", async () => {
    const { engine } = createEngine(6);
    const previous = create(RunSchema, { id: "run_1", threadId: "thread_1" });
    const messages = await readHistory(engine, "key", previous, "");
    expect(messages.map(textOf)).toEqual(["0", "1", "2", "3"]);
  });

  it("refuses a conversation of more than 10,000 messages", async () => {
    const { engine } = createEngine(10_000);
    expect(await readHistory(engine, "key", undefined, "thread_1")).toHaveLength(10_000);
    await expect(readHistory(createEngine(10_101).engine, "key", undefined, "thread_1")).rejects.toThrow(
      "expected a conversation of at most 10000 messages, found more",
    );
  });
});

describe("readEnd()", () => {
  const find = async (count: number, lastRunId: string, ids: string[], before: number, pageSize?: number) => {
    const { engine, queries } = createEngine(count, pageSize);
    const range = { ids: new Set(ids), before };
    const end = await readEnd(engine.threads, "key", { threadId: "thread_1", lastRunId }, range);
    return { ids: end.map(({ id }) => id), queries };
  };

  it("reads the messages up to a run, oldest first", async () => {
    expect((await find(6, "run_1", ["msg_2"], 1)).ids).toEqual(["msg_0", "msg_1", "msg_2", "msg_3"]);
    expect((await find(4, "", ["msg_2"], 1)).ids).toEqual(["msg_0", "msg_1", "msg_2", "msg_3"]);
  });

  it("reads no further page than the messages before those that it looks for", async () => {
    expect((await find(250, "", ["msg_249"], 10)).queries).toHaveLength(1);
    expect((await find(250, "", ["msg_249", "msg_150"], 0)).queries).toHaveLength(1);
    expect((await find(250, "", ["msg_249", "msg_150"], 1)).queries).toHaveLength(2);
    expect((await find(250, "", ["msg_249", "msg_149"], 0)).queries.map(({ after }) => after)).toEqual([
      "",
      "msg_150",
    ]);
  });

  it("looks through 1,000 messages at most", async () => {
    const { ids, queries } = await find(2000, "", ["msg_0"], 0);
    expect([ids.length, queries.length]).toEqual([1000, 10]);
  });

  it("reads no further page after 32 MiB", async () => {
    const text = "x".repeat(2 ** 20);
    const elements = Array.from({ length: 33 }, (_, index) => ({
      id: `msg_${index}`,
      message: userMessage(text),
      runId: "",
    }));
    const listMessages = vi.fn(async () => ({ elements, hasMore: true }) as never);
    const range = { ids: new Set(["msg_none"]), before: 0 };
    const end = await readEnd({ listMessages }, "key", { threadId: "thread_1", lastRunId: "" }, range);
    expect([end.length, listMessages.mock.calls.length]).toEqual([33, 1]);
  });

  it("finds nothing in a conversation that does not exist", async () => {
    const { engine } = createEngine(3);
    const range = { ids: new Set(["msg_0"]), before: 0 };
    expect(await readEnd(engine.threads, "key", { threadId: "thread_2", lastRunId: "" }, range)).toEqual([]);
    const broken = { listMessages: () => Promise.reject(new Error("the disk is gone")) };
    await expect(readEnd(broken, "key", { threadId: "thread_1", lastRunId: "" }, range)).rejects.toThrow(
      "disk",
    );
  });
});

describe("readUnstoredHistory()", () => {
  const reading = { engine: createEngine(4).engine, owner: "key" };
  const previous = (status: RunStatus) => ({
    ...create(RunSchema, { id: "run_0", threadId: "thread_1", status }),
    origin: getOrigin(defaultSettings),
  });

  it("refuses to continue a response that is in progress", async () => {
    const messages = await readUnstoredHistory(reading, "", previous(RunStatus.COMPLETED));
    expect(messages.map(textOf)).toEqual(["0", "1"]);
    for (const status of [RunStatus.QUEUED, RunStatus.IN_PROGRESS])
      await expect(readUnstoredHistory(reading, "", previous(status))).rejects.toMatchObject({
        errorCode: "invalid_value",
        message: "previous_response_id: is in progress, expected a response that has ended",
      });
  });

  it("names the conversation that does not exist", async () => {
    const missing = `thread_${"0".repeat(32)}`;
    await expect(readUnstoredHistory(reading, missing, undefined)).rejects.toMatchObject({
      name: "NotFoundError",
      violations: [{ field: "conversation" }],
    });
  });
});

describe("EarlierMessages", () => {
  const place = (index: number) => ({ messageId: `msg_${index}`, part: 0 });

  it("looks each message up once, and 256 at most", async () => {
    let count = 0;
    const kept = new EarlierMessages({
      getMessage: async (id) => {
        count += 1;
        return { id, message: userMessage(id) };
      },
      findCall: async () => undefined,
    });
    for (let index = 0; index < 256; index += 1) await kept.withId(`msg_${index}`);
    expect(textOf(await kept.find(place(7), "x", "path"))).toBe("msg_7");
    expect(count).toBe(256);
    expect(await kept.withId("msg_256")).toBeUndefined();
    expect(await kept.withCall("call_1")).toBeUndefined();
    await expect(kept.find(place(300), "msg_x", "input[0].id")).rejects.toMatchObject({
      message: 'input[0].id: "msg_x" is not the id of a stored item',
      errorCode: "invalid_value",
    });
  });

  it("reads no more than 32 MiB", async () => {
    const message = userMessage("x".repeat(17 * 1024 * 1024));
    const kept = new EarlierMessages({
      getMessage: async (id) => ({ id, message }),
      findCall: async () => undefined,
    });
    const found = [await kept.withId("1"), await kept.withId("2"), await kept.withId("3")];
    expect(found.map((each) => each?.id)).toEqual(["1", "2", undefined]);
  });

  it("finds calls, and passes on failures of the store", async () => {
    const message = userMessage("hi");
    const kept = new EarlierMessages({
      getMessage: (id) =>
        Promise.reject(id === "msg_0" ? new NotFoundError("no") : new Error("the disk is gone")),
      findCall: async (id) => (id === "call_1" ? { id: "msg_9", message } : undefined),
    });
    expect(await kept.withCall("call_1")).toEqual({ id: "msg_9", message });
    expect([await kept.withCall("call_2"), await kept.withId("msg_0")]).toEqual([undefined, undefined]);
    await expect(kept.withId("msg_1")).rejects.toThrow("the disk is gone");
  });
});
