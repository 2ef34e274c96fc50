import { expect, it } from "vitest";
import { toJsonName } from "../../../src/endpoints/gemini/fields.ts";

it.each([
  ["max_output_tokens", "maxOutputTokens"],
  ["maxOutputTokens", "maxOutputTokens"],
  // No field has such a name, and its letters would take hundreds of megabytes to replace.
  ["_a".repeat(1_000_000), "_a".repeat(1_000_000)],
])("reads the name of a field in both spellings, if it is no longer than a name can be", (name, jsonName) => {
  expect(toJsonName(name) === jsonName).toBe(true);
});
