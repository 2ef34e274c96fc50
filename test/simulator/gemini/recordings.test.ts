import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import {
  type AnsweredObject,
  ask,
  getParts,
  type Part,
  parseObjects,
  post,
  readRecording,
  stream,
} from "./support.ts";

const simulator = useSimulator();

/** Arguments of tools, which are not fields of the provider. */
const freeSubtrees = /\.functionCall\.args\./;

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

/** The kind of a part: its data, and whether it is a thought, empty or signed. */
function kindOfPart(part: Part): string {
  const attributes = [
    part.thought === true ? "thought" : "",
    part.text === "" ? "empty" : "",
    part.thoughtSignature === undefined ? "" : "signed",
  ];
  const data = Object.keys(part).find((name) => name !== "thought" && name !== "thoughtSignature");
  return [...attributes.filter(Boolean), data].join(" ");
}

/** The kind of an object: its parts and the finish reason. */
function getKind(object: AnsweredObject): string {
  const finish = object.candidates?.[0]?.finishReason;
  return [...getParts(object).map(kindOfPart), ...(finish === undefined ? [] : [finish])].join(", ");
}

/** The kinds of objects in order, without repetitions. */
function listKinds(objects: readonly AnsweredObject[]): string[] {
  return objects.map(getKind).filter((kind, index, all) => kind !== all[index - 1]);
}

/** The fields of each kind of object. */
function fieldsByKind(objects: readonly AnsweredObject[]): Record<string, string[]> {
  const fields: Record<string, Set<string>> = {};
  for (const object of objects)
    fields[getKind(object)] = new Set([...(fields[getKind(object)] ?? []), ...collectPaths(object)]);
  return Object.fromEntries(Object.entries(fields).map(([kind, paths]) => [kind, [...paths].sort()]));
}

const toRequest = (recording: string): object =>
  JSON.parse(readRecording(`${recording}.request.json`)) as object;

describe("recorded requests sent to the simulator", () => {
  it.each([
    ["streaming-grammar-stop-finish-reason", "sim-text"],
    ["streaming-grammar-max-tokens-truncation", "sim-long:rate=1000000"],
    ["turn-termination-streaming-truncated-turn-reports-length-and-cap", "sim-long:rate=1000000"],
    ["streaming-grammar-parallel-function-calls", "sim-tools:calls=2,no_ids=1"],
    ["streaming-grammar-thinking-stream", "sim-reasoning"],
    ["streaming-grammar-thinking-then-tool-call", "sim-reasoning:parts=1"],
    ["thought-text-streaming-twin-agrees-on-a-trailing-thought-signature", "sim-reasoning"],
    [
      "streaming-multimodal-tool-results-streaming-history-preserves-hybrid-tool-result-image-parts-1",
      "sim-reasoning",
    ],
  ])("%s get objects with the recorded sequence and fields from %s", async (recording, model) => {
    const recorded = parseObjects(readRecording(`${recording}.sse`).replaceAll(/\r?\n/g, "\r\n"));
    const simulated = await stream(simulator(), model, toRequest(recording));
    expect(listKinds(simulated)).toEqual(listKinds(recorded));
    expect(fieldsByKind(simulated)).toEqual(fieldsByKind(recorded));
  });

  it.each([
    ["turn-termination-blocking-tool-turn-reports-tool-calls-1", "sim-tools:no_ids=1"],
    ["turn-termination-blocking-truncated-turn-reports-length-and-cap", "sim-long:rate=1000000"],
    ["thought-text-blocking-keeps-a-trailing-thought-signature", "sim-reasoning"],
    ["thought-text-text-response-skips-thoughts-on-gemini-3-flash", "sim-reasoning"],
    ["thought-text-text-response-with-thinking-disabled-is-unchanged", "sim-text"],
  ])("%s get a whole answer with the recorded fields from %s", async (recording, model) => {
    const toFields = (value: object): string[] => [...new Set(collectPaths(value))].sort();
    const recorded = JSON.parse(readRecording(`${recording}.json`)) as object;
    expect(toFields(await ask(simulator(), model, toRequest(recording)))).toEqual(toFields(recorded));
  });
});

describe("grounding", () => {
  it("has only recorded fields", async () => {
    const recorded = JSON.parse(
      readRecording("googleai-unary-success-google-search-grounding.json"),
    ) as object;
    const answer = await ask(simulator(), "sim-text", { tools: [{ googleSearch: {} }] });
    const fields = collectPaths({ metadata: answer.candidates?.[0]?.groundingMetadata });
    const known = new Set(
      collectPaths(recorded).map((path) => path.replace("candidates[].groundingMetadata", "metadata")),
    );
    expect(fields.length).toBeGreaterThan(15);
    expect(fields.filter((path) => path !== "metadata" && !known.has(path))).toEqual([]);
  });
});

describe("failures", () => {
  it("of a blocked prompt have the recorded fields", async () => {
    const [recorded] = parseObjects(
      readRecording("googleai-streaming-failure-prompt-blocked-safety.sse").trim(),
    );
    const [simulated] = await stream(simulator(), "sim-refusal");
    expect(collectPaths({ feedback: simulated?.promptFeedback })).toEqual(
      collectPaths({ feedback: recorded?.promptFeedback }),
    );
  });

  it("of a content filter have the recorded fields", async () => {
    const recorded = JSON.parse(
      readRecording("vertex-unary-failure-finish-reason-safety.json"),
    ) as AnsweredObject;
    const simulated = await ask(simulator(), "sim-text:stop=content_filter");
    const toFields = ({ candidates }: AnsweredObject): string[] =>
      [...new Set(collectPaths(candidates?.[0]?.safetyRatings))]
        .filter((path) => !/severity|Score/.test(path))
        .sort();
    expect(toFields(simulated)).toEqual(toFields(recorded));
  });

  it.each([
    ["error-envelope-nonexistent-model-error-preserves-status-and-body", "gemini-nonexistent-rig-test", {}],
    ["googleai-unary-failure-api-key", "sim-text", { "x-goog-api-key": "invalid" }],
  ])("of a request have the recorded message (%s)", async (recording, model, key) => {
    const { error: recorded } = JSON.parse(readRecording(`${recording}.json`)) as { error: ErrorBody };
    const response = await post(simulator(), {}, { model, headers: { "x-goog-api-key": "k", ...key } });
    const { error } = (await response.json()) as { error: ErrorBody };
    // The recorded error also has debug information of the server.
    const details = recorded.details?.filter((each) => !each["@type"].endsWith("DebugInfo"));
    expect(error).toEqual(details === undefined ? recorded : { ...recorded, details });
  });

  it("of a used-up quota have the recorded details", async () => {
    const { error: recorded } = JSON.parse(readRecording("429-retry-info.json")) as { error: ErrorBody };
    const model = "sim-text:status=429,retry_after=34.4";
    const { error } = (await (await post(simulator(), {}, { model })).json()) as { error: ErrorBody };
    for (const { "@type": type, ...fields } of recorded.details ?? []) {
      const same = error.details?.find((each) => each["@type"] === type);
      expect(collectPaths(same)).toEqual(expect.arrayContaining(collectPaths(fields)));
    }
    expect(error.status).toBe(recorded.status);
  });
});

interface ErrorBody {
  readonly status: string;
  readonly details?: readonly { readonly "@type": string }[];
}
