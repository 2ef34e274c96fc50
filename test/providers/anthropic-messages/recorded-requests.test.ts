import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { recordingsOf } from "../../support/recordings.ts";
import { readRequest } from "./asking.ts";
import { build } from "./build.ts";

const ROOT = new URL("../../recordings/", import.meta.url).pathname;

const requests = [".sse", ".json"].flatMap((ending) =>
  recordingsOf("anthropic-messages", ending as ".sse" | ".json").flatMap(({ file }) => {
    const path = `${ROOT}${file.slice(0, -ending.length)}.request.json`;
    try {
      return [{ file, asked: JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown> }];
    } catch {
      return [];
    }
  }),
);

describe("our request for a recorded conversation", () => {
  it("is there", () => expect(requests.length).toBeGreaterThan(35));

  it.each(requests)("$file is the recorded one, field by field", async ({ asked }) => {
    const { body, warnings } = await build(readRequest(asked), {}, asked.stream === true);
    expect(body).toEqual(asked);
    expect(warnings).toEqual([]);
  });
});
