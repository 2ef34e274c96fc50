import { describe, expect, it } from "vitest";
import { LaneQueue } from "../../../src/endpoints/responses/lane-queue.ts";

/** Lets all promise callbacks run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Answers that the test ends. */
function createAnswers() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const answer = (name: string) => () => {
    begun.push(name);
    return new Promise<void>((resolve) => ends.set(name, resolve));
  };
  return { begun, answer, end: (name: string) => ends.get(name)?.() };
}

const fail = (thrown: unknown) => {
  throw thrown;
};

describe("a LaneQueue", () => {
  it("answers the requests of one lane one after the other", async () => {
    const queue = new LaneQueue(fail);
    const { begun, answer, end } = createAnswers();
    for (const name of ["first", "second"]) queue.add("lane", answer(name));
    queue.add(undefined, answer("without a name"));
    await settle();
    expect(begun).toEqual(["first", "without a name"]);
    end("first");
    await settle();
    expect(begun).toEqual(["first", "without a name", "second"]);
  });

  it("keeps the order of a lane if its first answer ends while another request waits", async () => {
    const queue = new LaneQueue(fail);
    const { begun, answer, end } = createAnswers();
    for (const name of ["first", "second"]) queue.add("lane", answer(name));
    await settle();
    end("first");
    await settle();
    queue.add("lane", answer("third"));
    await settle();
    expect(begun).toEqual(["first", "second"]);
    end("second");
    await settle();
    expect(begun).toEqual(["first", "second", "third"]);
  });

  it("answers at most 16 lanes at once", async () => {
    const queue = new LaneQueue(fail);
    const { begun, answer, end } = createAnswers();
    for (let lane = 0; lane < 20; lane += 1) queue.add(`lane-${lane}`, answer(`lane-${lane}`));
    await settle();
    expect(begun).toHaveLength(16);
    end("lane-3");
    await settle();
    expect(begun).toHaveLength(17);
    for (let lane = 0; lane < 16; lane += 1) end(`lane-${lane}`);
    await settle();
    expect(begun).toHaveLength(20);
    // Places that became free are used again.
    for (let lane = 16; lane < 20; lane += 1) end(`lane-${lane}`);
    await queue.drain();
    for (let lane = 0; lane < 17; lane += 1) queue.add(`again-${lane}`, answer(`again-${lane}`));
    await settle();
    expect(begun).toHaveLength(36);
  });

  it("continues after an answer that rejects, and reports the error", async () => {
    const failures: unknown[] = [];
    const queue = new LaneQueue((thrown) => failures.push(thrown));
    const failure = new Error("a failure of the test");
    queue.add("lane", () => Promise.reject(failure));
    let isAnswered = false;
    queue.add("lane", async () => {
      isAnswered = true;
    });
    await queue.drain();
    expect(failures).toEqual([failure]);
    expect(isAnswered).toBe(true);
  });
});
