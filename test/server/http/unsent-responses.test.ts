import { beforeEach, describe, expect, it } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { UnsentResponses } from "../../../src/server/http/flushed-response.ts";

const LIMIT = 1_000_000;

let nowMs: number;
let account: MemoryAccount;
let unsent: UnsentResponses;
let cutOff: string[];

beforeEach(() => {
  nowMs = 0;
  account = new MemoryAccount({ limits: { maxUnsentBytes: LIMIT } });
  unsent = new UnsentResponses(account, () => nowMs);
  cutOff = [];
});

function openResponse(name: string) {
  return { cutOff: () => void cutOff.push(name) };
}

describe("responses that wait for their readers", () => {
  it("cuts off those whose peers have taken nothing for seconds if too many bytes wait", () => {
    const [stalled, reading] = [openResponse("stalled"), openResponse("reading")];
    unsent.add(stalled, 600_000);
    unsent.add(reading, 300_000);
    nowMs = 3000;
    unsent.add(reading, 200_000);
    unsent.add(openResponse("new"), 300_000);
    expect(cutOff).toEqual(["stalled"]);
    expect(unsent.bytes).toBe(500_000);
  });

  it("cuts off no response while all peers read", () => {
    const responses = ["one", "two", "three"].map(openResponse);
    for (const response of responses) unsent.add(response, 500_000);
    expect(cutOff).toEqual([]);
    for (const response of responses) unsent.remove(response);
    expect(unsent.bytes).toBe(0);
  });

  it("cuts off the one that has waited longest if twice as much waits as may", () => {
    for (const name of ["one", "two", "three"]) unsent.add(openResponse(name), 800_000);
    expect(cutOff).toEqual(["one"]);
  });

  it("cuts off stalled peers while others wait for the memory of answers", async () => {
    const holder = account.answers.open("");
    unsent.add({ cutOff: () => holder.end() }, 100_000);
    void holder.reserve(account.answers.maxBytes / 2);
    nowMs = 3000;
    await account.answers.open("").reserve(1_000_000);
    expect(holder.bytes).toBe(0);
  });
});
