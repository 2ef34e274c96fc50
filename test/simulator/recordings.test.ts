import { describe, expect, it } from "vitest";
import { collectPaths } from "./paths.ts";
import { type ParsedEvent, parseEvents, readRecording, stream, useSimulator } from "./support.ts";

const simulator = useSimulator();

/** Fields that contain the caller's schemas, which say nothing about the provider's fields. */
const freeSubtrees = /^response\.(tools\[\]\.parameters|text\.format\.schema)\./;

/** Returns the kind of an event: its type, and the type of the item that it adds or ends. */
function getKind(event: ParsedEvent): string {
  const item = event.item as { type: string } | undefined;
  return item === undefined ? event.type : `${event.type} ${item.type}`;
}

/** The fields of each kind of event. */
function fieldsByKind(events: readonly ParsedEvent[]): Record<string, string[]> {
  const fields: Record<string, Set<string>> = {};
  for (const event of events) {
    const known = fields[getKind(event)] ?? new Set();
    for (const path of collectPaths(event)) if (!freeSubtrees.test(path)) known.add(path);
    fields[getKind(event)] = known;
  }
  return Object.fromEntries(Object.entries(fields).map(([kind, paths]) => [kind, [...paths].sort()]));
}

/** The kinds of events in order, with consecutive duplicates removed. */
function listKinds(events: readonly ParsedEvent[]): string[] {
  return events.map(getKind).filter((kind, index, all) => kind !== all[index - 1]);
}

/** The distinct sequences of the items of one type. Deltas and annotations count as one kind. */
function itemSequences(events: readonly ParsedEvent[], type: string): string[] {
  const indices = events
    .filter((event) => getKind(event) === `response.output_item.added ${type}`)
    .map((event) => event.output_index);
  const sequences = indices.map((index) =>
    listKinds(
      events.filter(
        (event) => event.output_index === index && event.type !== "response.output_text.annotation.added",
      ),
    ).join(" "),
  );
  return [...new Set(sequences)];
}

async function replay(recording: string, model: string, changes: object = {}): Promise<ParsedEvent[]> {
  const request = JSON.parse(readRecording(`${recording}.request.json`)) as object;
  return stream(simulator(), { ...request, ...changes, model });
}

describe("a recorded request that is sent to the simulator", () => {
  it.each([
    ["streaming-grammar-previous-response-id-chain-1", "sim-text"],
    ["streaming-grammar-parallel-tool-calls", "sim-tools:calls=2"],
    ["responses-tool-args-nested-arguments-streaming", "sim-tools"],
    ["streaming-grammar-encrypted-reasoning-multi-part", "sim-reasoning:parts=1"],
    ["streaming-grammar-reasoning-then-text", "sim-reasoning:parts=1"],
    ["streaming-grammar-structured-output-stream", "sim-text"],
    ["streaming-grammar-incomplete-max-output-tokens", "sim-reasoning"],
    ["streaming-grammar-incomplete-mid-tool-call", "sim-tools"],
    ["refusal-responses-streaming-refusal-surfaces", "sim-refusal"],
  ])("%s gets the recorded sequence of events from %s", async (recording, model) => {
    const recorded = parseEvents(readRecording(`${recording}.sse`));
    const simulated = await replay(recording, model);
    expect(listKinds(simulated)).toEqual(listKinds(recorded));
  });

  it.each([
    ["streaming-grammar-previous-response-id-chain-1", "sim-text"],
    ["streaming-grammar-parallel-tool-calls", "sim-tools:calls=2"],
    ["streaming-grammar-encrypted-reasoning-multi-part", "sim-reasoning:parts=1"],
    ["streaming-grammar-structured-output-stream", "sim-text"],
    ["streaming-grammar-incomplete-max-output-tokens", "sim-reasoning"],
    ["streaming-grammar-incomplete-mid-tool-call", "sim-tools"],
    ["refusal-responses-streaming-refusal-surfaces", "sim-refusal"],
  ])("%s gets events with the recorded fields from %s", async (recording, model) => {
    const recorded = parseEvents(readRecording(`${recording}.sse`));
    const simulated = await replay(recording, model);
    expect(fieldsByKind(simulated)).toEqual(fieldsByKind(recorded));
  });
});

describe("hosted tools", () => {
  const search = {
    model: "sim-text",
    input: "What is new?",
    tools: [{ type: "web_search" }],
    include: ["web_search_call.action.sources"],
  };
  const picture = {
    model: "sim-text",
    input: "Draw a boat.",
    tools: [{ type: "image_generation", partial_images: 1 }],
  };

  it.each([
    ["web-search-tool.1.sse", "web_search_call", search],
    ["web-search-tool.1.sse", "message", search],
    ["image-generation-tool.1.sse", "image_generation_call", picture],
  ])("of %s produce the recorded sequence for a %s", async (recording, type, request) => {
    const recorded = parseEvents(readRecording(recording));
    expect(itemSequences(await stream(simulator(), request), type)).toEqual(itemSequences(recorded, type));
  });

  it.each([
    ["web-search-tool.1.sse", "web_search_call", search],
    ["web-search-tool.1.sse", "output_text", search],
    ["image-generation-tool.1.sse", "image_generation_call", picture],
  ])("of %s produce events of a %s with the recorded fields", async (recording, word, request) => {
    const isMeant = (event: ParsedEvent): boolean => getKind(event).includes(word);
    const recorded = fieldsByKind(parseEvents(readRecording(recording)).filter(isMeant));
    // Only searches are compared: pages that were opened or searched have additional fields.
    for (const paths of Object.values(recorded))
      for (const path of ["item.action.pattern", "item.action.url"]) remove(paths, path);
    expect(fieldsByKind((await stream(simulator(), request)).filter(isMeant))).toEqual(recorded);
  });
});

function remove(paths: string[], path: string): void {
  const index = paths.indexOf(path);
  if (index !== -1) paths.splice(index, 1);
}

describe("a stream that fails", () => {
  it.each([
    ["error.1.sse", "insufficient_quota"],
    ["stream-rate-limited-1.sse", "rate_limit_exceeded"],
  ])("of %s is reproduced by error_style=nested", async (recording, code) => {
    const recorded = parseEvents(readRecording(recording));
    const model = `sim-text:error_after=2,error_style=nested,error_code=${code}`;
    const simulated = await stream(simulator(), { model, input: "Hello" });
    expect(listKinds(simulated)).toEqual(listKinds(recorded));
    expect(fieldsByKind(simulated).error).toEqual(fieldsByKind(recorded).error);
    expect(fieldsByKind(simulated)["response.failed"]).toEqual(
      expect.arrayContaining(fieldsByKind(recorded)["response.failed"] ?? []),
    );
  });

  it("has the recorded message for an exhausted quota", async () => {
    const [recorded] = parseEvents(readRecording("error.1.sse")).filter((event) => event.type === "error");
    const simulated = await stream(simulator(), {
      model: "sim-text:error_after=2,error_style=nested,error_code=insufficient_quota",
      input: "Hello",
    });
    expect(simulated.find((event) => event.type === "error")?.error).toEqual(recorded?.error);
  });
});

describe("a whole answer", () => {
  it.each([
    ["gpt-5-6-reasoning-effort-max", "sim-text"],
    ["truncated-turn-responses-blocking-partial-text-truncation", "sim-long:rate=1000000"],
    ["refusal-responses-blocking-refusal-surfaces", "sim-refusal"],
    ["raw-capture-responses-reasoning-raw-round-trips-typed", "sim-reasoning:parts=1"],
  ])("to %s has the recorded fields", async (recording, model) => {
    const recorded = JSON.parse(readRecording(`${recording}.json`)) as object;
    const request = JSON.parse(readRecording(`${recording}.request.json`)) as object;
    const response = await fetch(`${simulator().openaiBaseUrl}/responses`, {
      method: "POST",
      headers: { authorization: "Bearer key" },
      body: JSON.stringify({ ...request, model }),
    });
    expect(response.status).toBe(200);
    const simulated: unknown = await response.json();
    expect([...new Set(collectPaths({ response: simulated }))].filter(isProviders).sort()).toEqual(
      [...new Set(collectPaths({ response: recorded }))].filter(isProviders).sort(),
    );
  });
});

function isProviders(path: string): boolean {
  return !freeSubtrees.test(path) && path !== "response.output[].phase";
}
