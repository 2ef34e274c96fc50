/** Programs read the text of a stream, and the response at its end, alongside its events. */
import {
  AbortError,
  Client,
  FinalResponse,
  FinishReason_Reason,
  StreamError,
  textOf,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { type Script, ScriptedAdapter } from "./support/scripted-adapter.ts";

const request = { model: "m-1", messages: [userMessage("hi")] };

function open(script: Script = {}, finalResponse: FinalResponse = FinalResponse.FULL) {
  const adapter = new ScriptedAdapter("one", script);
  const stream = new Client({ providers: { one: adapter } }).stream({ ...request, finalResponse });
  return { adapter, stream };
}

async function splitPieces(text: AsyncIterable<string>): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of text) pieces.push(piece);
  return pieces;
}

describe("EventStream.text()", () => {
  it("yields the text as it arrives", async () => {
    expect(await splitPieces(open().stream.text())).toEqual(["one", " ", "m-1"]);
  });

  it("cancels the call when the loop breaks early", async () => {
    const { adapter, stream } = open();
    for await (const _piece of stream.text()) break;
    expect([adapter.started, adapter.ended]).toEqual([1, 1]);
  });

  it("throws the stream's error", async () => {
    const { stream } = open({ breaksWith: new StreamError("cut") });
    await expect(splitPieces(stream.text())).rejects.toThrow("cut");
  });
});

describe("EventStream.final()", () => {
  it("reads the stream and gives the whole response", async () => {
    const response = await open().stream.final();
    expect(textOf(response)).toBe("one m-1");
    expect(response.finishReason.reason).toBe(FinishReason_Reason.STOP);
  });

  it("returns the response of a stream that a loop has read, however often it is called", async () => {
    const { adapter, stream } = open();
    await splitPieces(stream.text());
    expect(await stream.final()).toBe(await stream.final());
    expect(textOf(await stream.final())).toBe("one m-1");
    expect(adapter.started).toBe(1);
  });

  it("waits for the loop that reads the stream", async () => {
    const { stream } = open();
    const loop = stream[Symbol.asyncIterator]();
    await loop.next();
    const final = stream.final();
    for await (const _event of loop);
    expect(textOf(await final)).toBe("one m-1");
  });

  it("assembles the content if the last event does not repeat it", async () => {
    expect(textOf(await open({}, FinalResponse.WITHOUT_CONTENT).stream.final())).toBe("one m-1");
  });

  it("throws the error of a stream that failed, even after the loop", async () => {
    await expect(open({ failures: [new StreamError("early")] }).stream.final()).rejects.toThrow("early");
    const { stream } = open({ breaksWith: new StreamError("cut") });
    await expect(splitPieces(stream.text())).rejects.toThrow(StreamError);
    await expect(stream.final()).rejects.toThrow("cut");
  });

  it("rejects a waiting caller if the stream fails", async () => {
    const { stream } = open({ breaksWith: new StreamError("cut") });
    const loop = stream[Symbol.asyncIterator]();
    await loop.next();
    const final = stream.final();
    await expect(Promise.all([final, splitPieces(textFrom(loop))])).rejects.toThrow("cut");
  });

  it("throws AbortError if the loop was left before the end", async () => {
    const { stream } = open();
    for await (const _piece of stream.text()) break;
    await expect(stream.final()).rejects.toThrow(AbortError);
  });

  it("throws if the stream is read by its batches", async () => {
    const { stream } = open();
    stream.batches();
    await expect(stream.final()).rejects.toThrow("can be read only once");
  });
});

async function* textFrom(events: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const event of events) yield String(event);
}
