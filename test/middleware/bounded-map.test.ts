import { expect, it } from "vitest";
import { BoundedMap } from "../../src/middleware/bounded-map.ts";

it("forgets the value that was not used for the longest time", () => {
  const map = new BoundedMap<string>(2);
  map.getOrCreate("a", () => "1");
  map.getOrCreate("b", () => "2");
  expect(map.get("a")).toBe("1");
  map.getOrCreate("c", () => "3");
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual(["1", undefined, "3"]);
  expect(map.getOrCreate("c", () => "4")).toBe("3");
});
