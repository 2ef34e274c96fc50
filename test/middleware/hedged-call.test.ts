/** The requests of one hedged call: the events reported for each, and the requests that remain open. */
import { getEventListeners } from "node:events";
import { create } from "@bufbuild/protobuf";
import { AbortError, type CallOptions, ServerError } from "outrigger";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AnswerRelay } from "../../src/core/answer-relay.ts";
import { type Request, RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import { HedgedCall, isLost } from "../../src/middleware/hedged-call.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const RELAYED = new TextEncoder().encode("relayed");

/** A request in progress, and how it ends. */
interface Sent {
  readonly model: string;
  readonly options: CallOptions;
  answer(text: string): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** A call with requests to the models `first`, `second` and `third`, 10 ms apart, and the events that were reported. */
function startCall() {
  const controller = new AbortController();
  const relay = new AnswerRelay();
  const told: string[] = [];
  const times: string[] = [];
  const discarded: string[] = [];
  const sent: Sent[] = [];
  const toRequest = (model: string) => create(RequestSchema, { provider: "p", model });
  const next = ["second", "third"];
  const source: CallOptions["source"] = {
    api: "openai-responses",
    request: toRequest("first"),
    headers: {},
    getMembers: () => new Map(),
    restored: { hasReasoning: false, hasCallState: false },
    relay,
  };
  let begun = 0;
  const options: CallOptions = {
    signal: controller.signal,
    source,
    beginParallel: () => {
      begun += 1;
      const name = `parallel ${begun}`;
      const tell = (what: string) => () => void told.push(`${name} ${what}`);
      return { options: {}, endFirst: tell("goes on"), win: tell("wins"), lose: tell("loses") };
    },
  };
  const takeNext = vi.fn(() => {
    const model = next.shift();
    return model === undefined ? undefined : toRequest(model);
  });
  const call = new HedgedCall(toRequest("first"), options, {
    afterMs: 10,
    max: 2,
    takeNext,
    onTime: ({ model }, milliseconds) => void times.push(`${model} ${Math.round(milliseconds)} ms`),
    observer: { hedged: ({ model }, result) => void told.push(`${model} ${result}`) },
  });
  const send = ({ model }: Request, given: CallOptions) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const settle = (settlement: () => void) => {
      settlement();
      return vi.advanceTimersByTimeAsync(0).then(() => {});
    };
    sent.push({
      model,
      options: given,
      answer: (text) => settle(() => resolve(text)),
      fail: (error) => settle(() => reject(error)),
    });
    return promise;
  };
  const outcome = call.run(send, (late) => void discarded.push(late));
  outcome.catch(() => {});
  const getSent = (index: number): Sent => {
    const found = sent[index];
    if (found === undefined) throw new Error(`request ${index} was not sent`);
    return found;
  };
  return { call, outcome, getSent, sent, controller, relay, told, times, discarded, takeNext };
}

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

describe("a hedged call", () => {
  it("reports which request has won, and which have lost, with their times", async () => {
    const { outcome, getSent, told, times } = startCall();
    await pass(25);
    await getSent(1).answer("second");
    const { result, failed } = await outcome;
    expect(result).toBe("second");
    expect(failed.map(({ model }) => model)).toEqual(["first", "third"]);
    expect(told).toEqual(["parallel 2 loses", "third lost", "parallel 1 wins", "second won"]);
    expect(times).toEqual(["second 15 ms", "first 25 ms", "third 5 ms"]);
  });

  it("reports that a further request lost when the first one answers or it fails itself", async () => {
    const { outcome, getSent, told } = startCall();
    await pass(25);
    await getSent(2).fail(new ServerError("down", { provider: "p" }));
    await getSent(0).answer("first");
    await outcome;
    expect(told).toEqual(["parallel 2 loses", "third failed", "parallel 1 loses", "second lost"]);
  });

  it("reports that the first request has failed while others continue, and that the last failure is the call's", async () => {
    const { outcome, getSent, told } = startCall();
    await pass(15);
    await getSent(0).fail(new ServerError("down", { provider: "p" }));
    expect(told).toEqual(["parallel 1 goes on"]);
    await getSent(1).fail(new ServerError("down too", { provider: "p" }));
    await expect(outcome).rejects.toThrow("down too");
    expect(told).toEqual(["parallel 1 goes on", "parallel 1 wins", "second failed"]);
  });

  it("relays the answer of the request that won, and no byte of another one", async () => {
    const { outcome, getSent, relay } = startCall();
    await pass(15);
    getSent(0).options.source?.relay.add(new TextEncoder().encode("begun "));
    getSent(1).options.source?.relay.add(RELAYED);
    await getSent(1).answer("second");
    await outcome;
    getSent(0).options.source?.relay.add(new TextEncoder().encode("late"));
    expect(new TextDecoder().decode(relay.take())).toBe("relayed");
  });

  it("relays the failure that its caller gets", async () => {
    const { outcome, getSent, relay } = startCall();
    await pass(15);
    await getSent(0).fail(new ServerError("down", { provider: "p" }));
    getSent(1).options.source?.relay.add(RELAYED);
    getSent(1).options.source?.relay.fail();
    await getSent(1).fail(new ServerError("down too", { provider: "p" }));
    await expect(outcome).rejects.toMatchObject({ message: expect.stringContaining("down too") });
    expect(relay.isFailed).toBe(true);
  });

  it("cancels the requests that lost, and discards answers that still arrive", async () => {
    const { outcome, getSent, discarded } = startCall();
    await pass(15);
    await getSent(1).answer("second");
    await outcome;
    expect([0, 1].map((index) => isLost(getSent(index).options))).toEqual([true, false]);
    expect(getSent(0).options.signal?.reason).toBeInstanceOf(AbortError);
    await getSent(0).answer("first");
    expect(discarded).toEqual(["first"]);
  });

  it("sends no further request once it has ended or its caller has left, and leaves no timer", async () => {
    const answered = startCall();
    await answered.getSent(0).answer("first");
    expect(vi.getTimerCount()).toBe(0);
    const left = startCall();
    left.controller.abort();
    await pass(100);
    expect(left.takeNext).not.toHaveBeenCalled();
    expect(left.sent).toHaveLength(1);
  });

  it("no longer listens to its caller's signal when it has ended", async () => {
    const { call, outcome, getSent, controller } = startCall();
    await pass(25);
    await getSent(2).fail(new ServerError("down", { provider: "p" }));
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(2);
    await getSent(1).answer("second");
    await outcome;
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    call.release();
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });
});
