import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { getRecordings } from "../../support/recordings.ts";
import { build } from "./build-request.ts";
import { readRequest } from "./recorded-request.ts";

const ROOT = new URL("../../recordings/", import.meta.url).pathname;

const requests = [".sse", ".json"].flatMap((ending) =>
  getRecordings("anthropic-messages", ending as ".sse" | ".json").flatMap(({ file }) => {
    const path = `${ROOT}${file.slice(0, -ending.length)}.request.json`;
    try {
      return [{ file, recorded: JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown> }];
    } catch {
      return [];
    }
  }),
);

describe("the request for a recorded conversation", () => {
  it("has recordings to compare with", () => expect(requests.length).toBeGreaterThan(35));

  it.each(requests)("equals the recorded body of $file", async ({ recorded }) => {
    const { body, warnings } = await build(readRequest(recorded), {}, recorded.stream === true);
    expect(body).toEqual(recorded);
    expect(warnings).toEqual([]);
  });
});
