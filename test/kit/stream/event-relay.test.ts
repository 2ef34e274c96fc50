/** Events of a provider, cut out of its bytes. */
import { describe, expect, it, vi } from "vitest";
import { AnswerRelay } from "../../../src/core/answer-relay.ts";
import { EventRelay, type RelayRules } from "../../../src/kit/stream/event-relay.ts";

const EVENTS = [
  "\ufeffevent: a\ndata: Grüße\n\n",
  ": comment\r\n\r\n",
  "data: 1\rdata: 2\r\r",
  'data: {"usage":"hidden"}\n\n',
  "data: \r\ndata: x\r\n\r\n",
  "\n",
  "data: last\n\n",
];

const SHOWN = EVENTS.filter((event) => !event.includes("hidden")).join("");

const RULES: RelayRules = {
  reportsFailure: ({ data }) => data === "last",
  hidden: { markers: ["usage", "none of them"], isHidden: ({ data }) => data.includes("hidden") },
};

function create(rules: RelayRules = RULES) {
  const target = new AnswerRelay();
  return { target, relay: new EventRelay(target, rules, (bytes) => bytes) };
}

/** Pushes bytes in pieces, and returns what was relayed of each. */
function pushAll(pieces: readonly Uint8Array[], rules?: RelayRules): string[] {
  const { target, relay } = create(rules);
  const relayed = pieces.map((piece) => {
    relay.push(piece);
    return Buffer.from(target.take()).toString();
  });
  relay.end();
  return [...relayed, Buffer.from(target.take()).toString()];
}

describe("EventRelay", () => {
  const bytes = Buffer.from(EVENTS.join(""));

  it("relays the same events wherever their bytes are cut, and never a part of one", () => {
    for (let first = 0; first < bytes.length; first += 1)
      for (let second = first; second < bytes.length; second += 7) {
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        const relayed = pushAll(pieces);
        expect(relayed.join("")).toBe(SHOWN);
        for (const text of relayed) expect(text).toMatch(/^$|[\r\n]$/);
      }
    expect(pushAll([...bytes].map((byte) => Buffer.of(byte))).join("")).toBe(SHOWN);
  });

  it("relays a last event without a blank line when the stream is complete", () => {
    expect(pushAll([Buffer.from("data: a\n\ndata: b")])).toEqual(["data: a\n\n", "data: b"]);
  });

  it("holds a large event without joining it again for every piece", () => {
    const { relay, target } = create({ reportsFailure: () => false });
    const piece = Buffer.alloc(64 * 1024, "a");
    const started = performance.now();
    for (let count = 0; count < 512; count += 1) relay.push(piece);
    expect(performance.now() - started).toBeLessThan(2000);
    expect([relay.heldBytes, target.hasBytes]).toEqual([512 * piece.length, false]);
  });

  it("takes time in proportion to the bytes, however many events have a marker", () => {
    const large = `data: ${"a".repeat(2 ** 20)}\n\n`;
    const text = `${"data: usage\n\n".repeat(20_000)}${large}`;
    const started = performance.now();
    expect(pushAll([Buffer.from(text)]).join("")).toBe(text);
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it("does not look for markers in bytes that have none", () => {
    const { relay, target } = create();
    const hidden = EVENTS[3] ?? "";
    relay.push(Buffer.from(hidden.repeat(4)), [
      { start: 0, end: hidden.length },
      { start: 2 * hidden.length, end: 3 * hidden.length },
    ]);
    expect(Buffer.from(target.take()).toString()).toBe(hidden.repeat(2));
  });

  it("finds markers behind bytes that have none and that follow a held part of an event", () => {
    const { relay, target } = create();
    const hidden = EVENTS[3] ?? "";
    relay.push(Buffer.from("data: a"));
    relay.push(Buffer.from(`b\n\n${hidden.repeat(2)}data: c\n\n`), [{ start: 3, end: 3 + hidden.length }]);
    expect(Buffer.from(target.take()).toString()).toBe(`data: ab\n\n${hidden}data: c\n\n`);
  });

  it.each([
    ["values", `data: {"a":[${"{},".repeat(1_000_000)}`],
    ["lines", "a\n".repeat(600_000)],
    ["lines that end with CR", "data: a\r".repeat(600_000)],
  ])("does not search an event of a million %s for the reason of a failure", (_name, text) => {
    const reportsFailure = vi.fn(() => false);
    const { relay, target } = create({ reportsFailure });
    relay.push(Buffer.from("data: 1\n\n"));
    relay.push(Buffer.from(text));
    relay.fail(Buffer.from("more"));
    expect(reportsFailure).not.toHaveBeenCalled();
    expect(Buffer.from(target.take()).toString()).toBe("data: 1\n\n");
  });

  it("finds the reason of a failure in a large event", () => {
    const { relay, target } = create({ reportsFailure: () => true });
    relay.push(Buffer.from(`data: ${"a".repeat(34 * 1024 * 1024)}`));
    relay.fail(Buffer.from("\n\n"));
    expect(target.take().byteLength).toBeGreaterThan(34 * 1024 * 1024);
  });

  it("relays a failure up to the event that reports it", () => {
    const { relay, target } = create();
    relay.push(Buffer.from("data: a\n\nda"));
    relay.fail(Buffer.from("ta: b\n\ndata: last\n\ndata: more\n\n"));
    expect(Buffer.from(target.take()).toString()).toBe("data: a\n\ndata: b\n\ndata: last\n\n");
    expect(target.isFailed).toBe(true);
  });

  it.each([
    [0, "data: a\n\n"],
    [1, "data: a\n\ndata: b\n\n: comment\n\n"],
    [3, "data: a\n\ndata: b\n\n: comment\n\ndata: c\n\n"],
  ])("relays the %i events that were decoded before a failure without a report", (decoded, shown) => {
    const { relay, target } = create();
    relay.push(Buffer.from("data: a\n\nda"));
    relay.fail(
      Buffer.from('ta: b\n\n: comment\n\ndata: {"usage":"hidden"}\n\ndata: c\n\ndata: more'),
      decoded,
    );
    expect(Buffer.from(target.take()).toString()).toBe(shown);
    expect(target.isFailed).toBe(false);
  });
});
