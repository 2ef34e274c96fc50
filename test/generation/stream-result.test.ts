/** Programs read the text and the result of a streamed generation alongside its events. */
import {
  AbortError,
  Client,
  EventStream,
  functionTool,
  type GenerationEvent,
  OpenAIAdapter,
  ServerError,
  stream,
  textOf,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { startSimulator } from "../../simulator/index.ts";
import { ScriptedModel, type Turn } from "./support/scripted-model.ts";

const tools = [functionTool({ name: "a", execute: () => "fine" })];

function open(turns: readonly Turn[] = [[{ name: "a" }], "hello"]) {
  const model = new ScriptedModel(turns);
  const client = new Client({ providers: { scripted: model } });
  return { model, result: stream({ model: "m", prompt: "hi", client, tools, maxRetries: 0 }) };
}

async function readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe("StreamResult", () => {
  it("sends nothing before it is read", async () => {
    const { model, result } = open();
    await new Promise(setImmediate);
    expect(model.requests).toEqual([]);
    expect(await readAll(result)).not.toEqual([]);
  });

  it("gives all events of all steps, with an event at the end of each step", async () => {
    const { result } = open();
    const cases = (await readAll(result)).map(({ event }) => event.case);
    expect(cases).toEqual([
      ...["streamStart", "toolCallStart", "toolCallDelta", "toolCallEnd", "finish", "stepFinish"],
      ...["streamStart", "textStart", "textDelta", "textEnd", "finish", "stepFinish"],
    ]);
  });

  it("gives the results of a step's tools with its end", async () => {
    const { result } = open();
    const ends = (await readAll(result)).flatMap(({ event }) =>
      event.case === "stepFinish" ? [event.value] : [],
    );
    expect(ends.map(({ step }) => step)).toEqual([1, 2]);
    expect(ends.map((end) => end.result.toolResults.length)).toEqual([1, 0]);
    expect(ends.map((end) => end.result.text)).toEqual(["", "hello"]);
  });

  it("can be read by its batches", async () => {
    const batches: (readonly GenerationEvent[])[] = await readAll(open().result.batches());
    expect(batches.flat()).toHaveLength(12);
  });

  it("can be read only once", async () => {
    const { result } = open();
    await readAll(result.textStream);
    await expect(readAll(result)).rejects.toThrow("can be read only once");
  });

  it("is read to its end if only the result or the response is asked for", async () => {
    const { model, result } = open();
    expect(textOf(await result.response())).toBe("hello");
    expect((await result.result()).steps).toHaveLength(2);
    expect(model.requests).toHaveLength(2);
  });

  it("resolves the result that is awaited while a loop reads the events", async () => {
    const { result } = open();
    const loop = result[Symbol.asyncIterator]();
    await loop.next();
    const whole = result.result();
    for await (const _event of loop);
    expect((await whole).text).toBe("hello");
  });

  it("has the part of the current step that has arrived", async () => {
    const { result } = open();
    const arrived: string[] = [];
    for await (const { event } of result)
      if (event.case === "textDelta" || event.case === "finish") arrived.push(textOf(result.partialResponse));
    expect(arrived).toEqual(["", "hello", "hello"]);
    expect(result.partialResponse).toBe(await result.response());
  });

  it("has nothing of earlier steps in that part, also if it is first asked for in a later one", async () => {
    const { result } = open();
    let [steps, text] = [0, ""];
    for await (const { event } of result) {
      if (event.case === "stepFinish") steps += 1;
      if (steps === 1 && event.case === "textDelta") text = textOf(result.partialResponse);
    }
    expect([steps, text]).toEqual([2, "hello"]);
  });

  it("has the part of a long answer that has arrived, at any time", async () => {
    const simulator = await startSimulator();
    const provider = new OpenAIAdapter({ apiKey: "any", baseUrl: simulator.openaiBaseUrl });
    const client = new Client({ providers: { openai: provider } });
    const result = stream({ client, model: "sim-long:tokens=3000,rate=20000", prompt: "hi" });
    let text = "";
    let asked = 0;
    for await (const { event } of result) {
      if (event.case !== "textDelta") continue;
      text += event.value.delta;
      asked += 1;
      if (asked % 700 === 0) expect(textOf(result.partialResponse).startsWith(text)).toBe(true);
    }
    expect(asked).toBeGreaterThan(1400);
    expect(textOf(await result.response())).toBe(text);
    await client.close();
    await simulator.close();
  });

  it("throws the error of a failed generation from the loop and from every promise", async () => {
    const { result } = open([[{ name: "a" }], new ServerError("overloaded")]);
    await expect(readAll(result.textStream)).rejects.toThrow("overloaded");
    await expect(result.result()).rejects.toThrow("overloaded");
    await expect(result.response()).rejects.toMatchObject({ usage: { totalTokens: 15 } });
  });

  it("throws invalid options when it is read", async () => {
    const result = stream({ model: "m" });
    await expect(readAll(result)).rejects.toThrow("expected one of prompt and messages");
    await expect(result.result()).rejects.toThrow("expected one of prompt and messages");
    await expect(stream({ model: "m" }).result()).rejects.toThrow("expected one of prompt and messages");
  });

  it("cancels the call when the loop breaks early, and rejects the awaited result", async () => {
    const { model, result } = open(["hello"]);
    const whole = result.result.bind(result);
    for await (const { event } of result) if (event.case === "textDelta") break;
    expect(model.open).toBe(0);
    await expect(whole()).rejects.toBeInstanceOf(AbortError);
  });

  it("waits until the call is closed when the loop breaks early", async () => {
    const { model, result } = open(["hello"]);
    const streamed = model.stream.bind(model);
    let isClosed = false;
    model.stream = (request, options) => {
      async function* batches() {
        try {
          yield* streamed(request, options).batches();
        } finally {
          await new Promise((resolve) => setImmediate(resolve));
          isClosed = true;
        }
      }
      return new EventStream(batches());
    };
    for await (const { event } of result) if (event.case === "textDelta") break;
    expect(isClosed).toBe(true);
  });

  it("cancels a pending read if the iterator is closed", async () => {
    const { model, result } = open(["hello"]);
    model.beforeAnswer = (signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const batches = result.batches()[Symbol.asyncIterator]();
    const read = batches.next();
    const rejected = expect(read).rejects.toBeInstanceOf(AbortError);
    await batches.return?.();
    await rejected;
    expect(model.open).toBe(0);
    expect(await batches.next()).toEqual({ done: true, value: undefined });
  });
});
