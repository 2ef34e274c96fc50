/** The defaults are those that the documentation and the contract promise. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseDuration, parseSize } from "../../src/config/units.ts";
import { DEFAULT_RUN_LIMITS } from "../../src/runs/limits.ts";
import { DEFAULT_MCP_LIMITS } from "../../src/runs/mcp/settings.ts";

/** The defaults in the tables of a page, by the names of the settings. */
function readDefaults(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(fileURLToPath(new URL(`../../docs/${page}`, import.meta.url)), "utf8");
  const rows = text.matchAll(/^\| `([\w.]+)` \| `([^`]+)` \|/gm);
  return new Map([...rows].map(([, name = "", value = ""]) => [name, value]));
}

const storage = readDefaults("storage.md");
const tools = readDefaults("tools.md");

describe("the defaults", () => {
  it("of the limits on runs are documented", () => {
    const count = (name: string) => Number(storage.get(`limits.${name}`));
    const time = (name: string) => parseDuration(storage.get(`limits.${name}`));
    const days = Number(storage.get("retention")?.replace("d", ""));
    expect(DEFAULT_RUN_LIMITS).toEqual({
      maxForegroundRuns: count("max_foreground_runs"),
      maxBackgroundRuns: count("max_background_runs"),
      maxQueuedRuns: count("max_queued_runs"),
      maxToolExecutions: count("max_tool_executions"),
      maxStreamReaders: count("max_stream_readers"),
      maxSteps: count("max_steps"),
      threadWaitMs: time("thread_wait"),
      leaseMs: time("lease"),
      stallTimeoutMs: 30_000,
      retentionMs: days * 24 * 60 * 60 * 1000,
    });
  });

  it("of the limits on MCP servers are documented", () => {
    expect(DEFAULT_MCP_LIMITS).toEqual({
      listMs: parseDuration(tools.get("list_timeout")),
      callMs: parseDuration(tools.get("call_timeout")),
      maxTools: Number(tools.get("max_tools")),
      maxListingBytes: parseSize(tools.get("max_listing_bytes")),
      maxAnswerBytes: parseSize(tools.get("max_answer_bytes")),
      maxAnswerValues: Number(tools.get("max_answer_json_values")),
      // The contract: `CreateRunRequest.mcp_servers`.
    });
  });
});
