import { describe, expect, it } from "vitest";
import { type ParsedEvent, parseEvents, useSimulator } from "../support.ts";
import { ask, headers, post, readRecording, stream } from "./support.ts";

const simulator = useSimulator();

/** Arguments of tools, whose fields are not the provider's. */
const freeSubtrees = /(^|\.)input\./;

/** Paths of all fields of a value, with `[]` for the elements of arrays. */
function collectPaths(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => collectPaths(each, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value)
    .flatMap(([name, each]) => {
      const at = path === "" ? name : `${path}.${name}`;
      return [at, ...collectPaths(each, at)];
    })
    .filter((at) => !freeSubtrees.test(at));
}

/** The kind of an event: its type, and the type of its block or delta. */
function getKind({ type, content_block: block, delta }: ParsedEvent): string {
  const part = (block ?? delta) as { type?: string } | undefined;
  return part?.type === undefined ? type : `${type} ${part.type}`;
}

/** The fields of each kind of event. */
function fieldsByKind(events: readonly ParsedEvent[]): Record<string, string[]> {
  const fields: Record<string, Set<string>> = {};
  for (const event of events) {
    fields[getKind(event)] = new Set([...(fields[getKind(event)] ?? []), ...collectPaths(event)]);
  }
  return Object.fromEntries(Object.entries(fields).map(([kind, paths]) => [kind, [...paths].sort()]));
}

/** The kinds of events in order, with consecutive events of one kind listed once. */
function listKinds(events: readonly ParsedEvent[]): string[] {
  return events.map(getKind).filter((kind, index, all) => kind !== all[index - 1]);
}

async function replay(recording: string, model: string, changes: object = {}): Promise<ParsedEvent[]> {
  const request = JSON.parse(readRecording(`${recording}.request.json`)) as object;
  return stream(simulator(), { ...request, ...changes, model });
}

describe("a recorded request to the simulator", () => {
  it.each([
    ["stop-sequence-terminal-stream-single-sequence", "sim-echo"],
    ["streaming-grammar-parallel-tool-use", "sim-tools:calls=2,preamble=1"],
    ["messages-tool-args-nested-arguments-streaming", "sim-tools:preamble=1"],
    ["messages-tool-args-zero-argument-tool-use-streaming", "sim-tools"],
    ["streaming-grammar-thinking-multi-block-turn", "sim-reasoning"],
    ["messages-thinking-redacted-thinking-streaming", "sim-reasoning:redacted=1"],
    ["turn-termination-streaming-truncated-turn-reports-length-and-cap", "sim-long:rate=1000000"],
  ])("%s gets events with the recorded sequence and fields from %s", async (recording, model) => {
    const recorded = parseEvents(readRecording(`${recording}.sse`));
    const simulated = await replay(recording, model);
    expect(listKinds(simulated)).toEqual(listKinds(recorded));
    expect(fieldsByKind(simulated)).toEqual(fieldsByKind(recorded));
  });
});

/** The model whose searches were recorded reports zero thinking tokens; other models leave the field out. */
function isOfEveryModel(path: string): boolean {
  return !path.startsWith("usage.output_tokens_details");
}

describe("web search", () => {
  /** The events of each block of a type, listed once for blocks with the same events. */
  function blockSequences(events: readonly ParsedEvent[], type: string): string[] {
    const blocks = events.filter((event) => getKind(event) === `content_block_start ${type}`);
    const sequences = blocks.map(({ index }) => listKinds(events.filter((event) => event.index === index)));
    return [...new Set(sequences.map((sequence) => sequence.join(" ")))].sort();
  }

  const searching = { tools: [{ type: "web_search_20250305", name: "web_search" }] };

  it.each(["server_tool_use", "web_search_tool_result", "text"])(
    "streams the recorded events of a %s",
    async (type) => {
      const recorded = parseEvents(readRecording("web-search-tool.1.sse"));
      const simulated = await stream(simulator(), searching);
      expect(blockSequences(simulated, type)).toEqual(blockSequences(recorded, type));
    },
  );

  it("has the recorded fields", async () => {
    const name = "streamed-server-tools-streamed-web-search-preserves-server-tool-blocks";
    const recorded = fieldsByKind(parseEvents(readRecording(`${name}.sse`)));
    const simulated = fieldsByKind(await replay(name, "sim-text"));
    for (const kind of Object.keys(recorded)) {
      const fields = recorded[kind]?.filter(isOfEveryModel);
      expect(simulated[kind]).toEqual(
        kind.startsWith("content_block_start text") ? expect.arrayContaining(fields ?? []) : fields,
      );
    }
  });
});

describe("a whole answer", () => {
  it.each([
    ["turn-termination-blocking-completed-turn-reports-stop-and-cap", "sim-text"],
    ["turn-termination-blocking-truncated-turn-reports-length-and-cap", "sim-long:rate=1000000"],
    ["turn-termination-blocking-tool-turn-reports-tool-calls-1", "sim-tools"],
    ["messages-tool-args-nested-arguments-roundtrip-nonstreaming-1", "sim-tools:preamble=1"],
    ["messages-thinking-redacted-thinking-roundtrip-nonstreaming-1", "sim-reasoning:redacted=1"],
    ["messages-thinking-static-prefix-ttl-coexists-with-extended-thinking", "sim-reasoning:redacted=1"],
    ["streamed-server-tools-blocking-web-search-preserves-server-tool-blocks", "sim-text"],
  ])("to %s has the recorded fields", async (recording, model) => {
    const recorded = JSON.parse(readRecording(`${recording}.json`)) as object;
    const request = JSON.parse(readRecording(`${recording}.request.json`)) as object;
    const simulated = await ask(simulator(), { ...request, model });
    const toFields = (message: object): string[] => [...new Set(collectPaths(message))].sort();
    const searches = toFields(recorded).includes("usage.server_tool_use");
    expect(toFields(simulated)).toEqual(
      toFields(recorded).filter((path) => !searches || isOfEveryModel(path)),
    );
  });
});

describe("failures", () => {
  it.each([
    ["overloaded-error-first-event", 0],
    ["overloaded-error-mid-stream", 4],
  ])("in a stream have the recorded form (%s)", async (recording, after) => {
    const recorded = parseEvents(readRecording(`${recording}.sse`));
    const model = `sim-text:error_after=${after},error_code=overloaded_error`;
    expect((await stream(simulator(), { model })).at(-1)).toEqual(recorded.at(-1));
  });

  it.each([
    ["error-envelope-nonexistent-model-error-preserves-status-and-body", {}],
    ["error-identity-auth-rejection-carries-identity", { "x-api-key": "invalid" }],
    ["error-identity-validation-error-carries-identity", {}],
    ["error-identity-streaming-connect-4xx-matches-blocking-richness", {}],
  ])("of a request have the recorded messages (%s)", async (recording, key) => {
    const recorded = JSON.parse(readRecording(`${recording}.json`)) as { error: object };
    const request = JSON.parse(readRecording(`${recording}.request.json`)) as { model: string };
    const model = /nonexistent/.test(request.model) ? request.model : "sim-text";
    const response = await post(simulator(), { ...request, model }, { headers: { ...headers, ...key } });
    const { error } = (await response.json()) as { error: object };
    expect(error).toEqual(recorded.error);
  });
});
