import { describe, expect, it } from "vitest";
import { ItemTable } from "../../../src/providers/openai-responses/open-blocks.ts";

function toMessage(id: string) {
  return { type: "message", id };
}

describe("ItemTable", () => {
  it("finds the items of events without an index in constant time", () => {
    const table = new ItemTable();
    for (let index = 0; index < 10_000; index += 1) {
      const item = { type: "message", id: `msg_${index}` };
      table.begin(index, { kind: "single part", item, partIndex: index });
      if (index < 5000) table.end(index, item);
    }
    // A search of all items for each event would take longer than a test may.
    for (let event = 0; event < 300_000; event += 1) {
      if (table.indexOf({ item_id: "msg_7" }, "message") !== 7) throw new Error("found another item");
      if (table.indexOf({ item_id: "unknown" }, "message") !== 9999) throw new Error("found another item");
      if (table.indexOf({}, "reasoning") !== 10_000) throw new Error("found an item of another type");
    }
    expect(table.indexOf({ item_id: "msg_6000" }, "message")).toBe(6000);
  });

  it("prefers the open one of several items with one id", () => {
    const table = new ItemTable();
    const item = { type: "message", id: "msg" };
    const find = () => table.indexOf({ item_id: "msg" }, "message");
    for (const index of [0, 1, 2]) table.begin(index, { kind: "single part", item, partIndex: index });
    expect(find()).toBe(0);
    table.end(0, item);
    expect(find()).toBe(1);
    table.end(1, item);
    expect(find()).toBe(2);
  });

  it("does not find an item whose index has another one now", () => {
    const table = new ItemTable();
    const [first, second, third] = [toMessage("msg_1"), toMessage("msg_2"), toMessage("msg_3")];
    table.begin(0, { kind: "single part", item: first, partIndex: 0 });
    table.end(0, first);
    expect(table.announce({ output_index: 0 }, second)).toBe(0);
    table.begin(0, { kind: "single part", item: second, partIndex: 1 });
    table.begin(1, { kind: "single part", item: third, partIndex: 2 });
    // The last open one of its type.
    expect(table.indexOf({ item_id: "msg_1" }, "message")).toBe(1);
  });
});
