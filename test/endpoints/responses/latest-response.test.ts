import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { ResponseCache } from "../../../src/endpoints/answers/response-cache.ts";
import { LatestResponse } from "../../../src/endpoints/responses/latest-response.ts";
import { SocketLanes } from "../../../src/endpoints/responses/socket-lanes.ts";

const LIMIT = 10_000;

const MIB = 1024 * 1024;

function openKept(isShared = false, maxKeptMemoryBytes = LIMIT) {
  const account = new MemoryAccount({
    limits: { maxKeptMemoryBytes },
    isShared: () => isShared,
  });
  const all = new ResponseCache(account.kept);
  return { pool: account.kept, all, open: (owner = "") => new LatestResponse(all, owner) };
}

/** Keeps a response whose conversation has about that many bytes. */
function keep(latest: LatestResponse, id: string, bytes: number): void {
  const body = { store: false, input: "x".repeat(bytes) };
  const event = { type: "response.completed", response: { id, output: [{ type: "message" }] } };
  latest.replace(body, bytes, JSON.stringify(event));
}

/** Whether a request that continues the response is expanded. */
function continues(latest: LatestResponse, id: string): boolean {
  const body = { previous_response_id: id, input: "Go on." };
  return latest.expand(body, () => {}) !== body;
}

describe("the latest responses of WebSockets", () => {
  it("inserts the kept conversation with its tools into the request that continues it", () => {
    const latest = openKept().open();
    const event = { type: "response.completed", response: { id: "r", output: [{ type: "message" }] } };
    latest.replace({ store: false, input: "Hi.", tools: [{ type: "function" }] }, 10, JSON.stringify(event));
    let reserved = 0;
    const expanded = latest.expand({ previous_response_id: "r", input: "Go on." }, (bytes) => {
      reserved = bytes;
    });
    expect(expanded).toEqual({
      input: [{ role: "user", content: "Hi." }, { type: "message" }, { role: "user", content: "Go on." }],
      tools: [{ type: "function" }],
    });
    expect(reserved).toBeGreaterThan(0);
  });

  it("keeps the stored response that a response continued", () => {
    const latest = openKept().open();
    const event = { type: "response.completed", response: { id: "r", output: [{ type: "message" }] } };
    const body = { store: false, input: "Hi.", previous_response_id: "stored" };
    latest.replace(body, 10, JSON.stringify(event));
    expect(latest.expand({ previous_response_id: "r" }, () => {})).toEqual({
      input: [{ role: "user", content: "Hi." }, { type: "message" }],
      previous_response_id: "stored",
    });
  });

  it("keeps no failed response, nor one without an end, and nothing of the one before", () => {
    const { open, pool } = openKept();
    const latest = open();
    const body = { store: false, input: "Hi." };
    const response = { id: "r", output: [] };
    const failed = { type: "response.failed", response };
    for (const last of [JSON.stringify(failed), undefined]) {
      keep(latest, "1", 100);
      latest.replace(body, 100, last);
      expect([continues(latest, "r"), continues(latest, "1"), pool.usedBytes]).toEqual([false, false, 0]);
    }
  });

  it("forgets the oldest one if there is no memory for another", () => {
    const { open, pool } = openKept();
    const [first, second, third] = [open(), open(), open()];
    keep(first, "1", 4000);
    keep(second, "2", 4000);
    keep(third, "3", 4000);
    expect([continues(first, "1"), continues(second, "2"), continues(third, "3")]).toEqual([
      false,
      true,
      true,
    ]);
    expect(pool.usedBytes).toBeLessThanOrEqual(LIMIT);
  });

  it("drops responses of the same access key if that key has used its share", () => {
    const { open } = openKept(true);
    const [modest, greedy, again] = [open("modest"), open("greedy"), open("greedy")];
    keep(modest, "1", 2000);
    keep(greedy, "2", 5000);
    keep(again, "3", 4000);
    expect([continues(modest, "1"), continues(greedy, "2"), continues(again, "3")]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("keeps no response that does not fit alone, and releases the responses of closed sockets", () => {
    const { open, pool } = openKept();
    const latest = open();
    keep(latest, "1", LIMIT + 1);
    expect(continues(latest, "1")).toBe(false);
    keep(latest, "2", 4000);
    latest.forget();
    latest.forget();
    expect(pool.usedBytes).toBe(0);
  });

  it("take at most 16 MiB for each socket: the least recently used lanes are dropped", () => {
    const { open, all } = openKept(false, 100 * MIB);
    const large = open();
    keep(large, "1", 16 * MIB);
    expect(continues(large, "1")).toBe(false);
    const lanes = new SocketLanes(all, "");
    for (const name of ["a", "b", "c"]) keep(lanes.open(name), name, 5 * MIB);
    lanes.limit();
    expect(["a", "b", "c"].map((id) => lanes.has(id))).toEqual([true, true, true]);
    lanes.open("a");
    keep(lanes.open("d"), "d", 5 * MIB);
    lanes.limit();
    expect(["a", "b", "c", "d"].map((id) => lanes.has(id))).toEqual([true, false, true, true]);
    lanes.forgetAll();
    expect(lanes.has("a")).toBe(false);
  });
});
