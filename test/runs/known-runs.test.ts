import { describe, expect, it } from "vitest";
import { KnownRuns } from "../../src/runs/executions.ts";

describe("KnownRuns", () => {
  it("knows a run until each part of the program that knows it has ended", async () => {
    const known = new KnownRuns();
    const list = () => known.search(async (ids) => ids);
    await known.add("run_1");
    known.addClaimed("run_1");
    known.delete("run_1");
    expect(await list()).toEqual(["run_1"]);
    known.delete("run_1");
    expect(await list()).toEqual([]);
  });

  it("adds no run during a search, and continues after a failed search", async () => {
    const known = new KnownRuns();
    const found = Promise.withResolvers<void>();
    const search = known.search(() => found.promise);
    let isAdded = false;
    const adding = known.add("run_1").then(() => {
      isAdded = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isAdded).toBe(false);
    found.reject(new Error("the store cannot be reached"));
    await expect(search).rejects.toThrow("cannot be reached");
    await adding;
    expect(await known.search(async (ids) => ids)).toEqual(["run_1"]);
  });
});
