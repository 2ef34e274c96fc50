import { describe, expect, it } from "vitest";
import { collectPaths } from "../paths.ts";
import { useSimulator } from "../support.ts";
import {
  ask,
  type Chunk,
  parseChunks,
  post,
  readRecording,
  say,
  streamText,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

/** The kind of a chunk: the fields of its delta that are used, or what it has instead of a delta. */
function getKind({ choices, error }: Chunk): string {
  const [choice] = choices ?? [];
  if (choice === undefined) return error === undefined ? "usage" : "error";
  if (typeof choice.finish_reason === "string") return "finish";
  const said = Object.entries(choice.delta).filter(([, value]) => value !== null && value !== "");
  return said
    .map(([name, value]) => getName(name, value))
    .sort()
    .join(" ");
}

/** Calls differ by whether they begin, contents and details by their fields. */
function getName(field: string, value: unknown): string {
  if (!Array.isArray(value)) return field;
  const [first] = value as readonly { type?: string; signature?: string; function?: { name?: string } }[];
  if (field !== "tool_calls") return `${field} ${first?.signature === undefined ? first?.type : "signature"}`;
  return first?.function?.name === undefined ? "arguments" : "call";
}

/** The kinds of chunks in order, with repetitions of one kind as one, and the end marker. */
function listKinds(body: string, kind: (chunk: Chunk) => string = getKind): string[] {
  const kinds = parseChunks(body).map(kind);
  const end = /^data: \[DONE\]\s*$/m.test(body) ? ["[DONE]"] : [];
  return [...kinds.filter(Boolean).filter((each, index, all) => each !== all[index - 1]), ...end];
}

/** The fields of each kind of chunk. */
function fieldsByKind(body: string): Record<string, string[]> {
  const fields: Record<string, Set<string>> = {};
  for (const chunk of parseChunks(body)) {
    const known = fields[getKind(chunk)] ?? new Set();
    for (const path of collectPaths(chunk)) known.add(path);
    fields[getKind(chunk)] = known;
  }
  return Object.fromEntries(Object.entries(fields).map(([kind, paths]) => [kind, [...paths].sort()]));
}

function recordedRequest(recording: string, model: string): object {
  return { ...(JSON.parse(readRecording(`${recording}.request.json`)) as object), model };
}

describe("a request to OpenAI that was recorded, sent to the simulator", () => {
  it.each([
    ["truncated-turn-chat-streaming-partial-text-truncation", "sim-long:rate=1000000"],
    ["truncated-turn-chat-streaming-reasoning-budget-exhausted", "sim-reasoning:reasoning_field=none"],
    ["chat-tool-lifecycle-streaming-gpt41-parallel-model", "sim-tools:calls=2"],
    ["chat-tool-lifecycle-streaming-gpt4o-nested-model", "sim-tools"],
    ["chat-tool-lifecycle-streaming-gpt4o-parallel-model", "sim-tools:calls=2"],
    ["refusal-chat-streaming-terminal-carries-usage", "sim-refusal"],
    ["refusal-chat-streaming-raw-model-surfaces-refusal", "sim-refusal"],
    ["chat-streaming-logprobs-streaming-gpt-4o-mini-stop-top-two", "sim-echo"],
    ["chat-streaming-logprobs-streaming-gpt-4o-mini-length-top-absent", "sim-text"],
  ])(
    "%s gets the recorded sequence of chunks, with the recorded fields, from %s",
    async (recording, model) => {
      const recorded = readRecording(`${recording}.sse`);
      const simulated = await streamText(simulator(), recordedRequest(recording, model));
      expect(listKinds(simulated)).toEqual(listKinds(recorded));
      expect(fieldsByKind(simulated)).toEqual(fieldsByKind(recorded));
    },
  );

  it.each([
    ["refusal-chat-blocking-raw-model-surfaces-refusal", "sim-refusal"],
    ["raw-capture-chat-structured-output-raw-exposes-system-fingerprint", "sim-text"],
    ["raw-capture-chat-tool-call-raw-round-trips-typed", "sim-tools"],
    ["chat-tool-lifecycle-blocking-gpt41-parallel-model", "sim-tools:calls=2"],
    ["truncated-turn-chat-blocking-completed-turn-is-unaffected", "sim-text"],
    ["truncated-turn-chat-blocking-o4-mini-budget-exhausted", "sim-reasoning:reasoning_field=none"],
    ["truncated-turn-chat-blocking-tools-present-budget-exhausted", "sim-reasoning:reasoning_field=none"],
  ])("%s gets a whole answer with the recorded fields from %s", async (recording, model) => {
    const recorded = JSON.parse(readRecording(`${recording}.json`)) as {
      choices: { finish_reason: string }[];
    };
    const simulated = await ask(simulator(), recordedRequest(recording, model));
    expect([...new Set(collectPaths(simulated))].sort()).toEqual([...new Set(collectPaths(recorded))].sort());
  });

  it.each([
    ["truncated-turn-chat-blocking-o4-mini-budget-exhausted", "sim-reasoning:reasoning_field=none"],
    ["raw-capture-chat-tool-call-raw-round-trips-typed", "sim-tools"],
  ])("%s gets the recorded values if the answer has no text, from %s", async (recording, model) => {
    const recorded = JSON.parse(readRecording(`${recording}.json`)) as typeof simulated;
    const simulated = await ask(simulator(), recordedRequest(recording, model));
    const [was, is] = [recorded.choices[0], simulated.choices[0]];
    expect(is).toMatchObject({
      finish_reason: was?.finish_reason,
      message: { role: "assistant", content: was?.message.content, refusal: null, annotations: [] },
    });
    expect(simulated.usage.completion_tokens_details.reasoning_tokens).toBe(
      recorded.usage.completion_tokens_details.reasoning_tokens,
    );
  });
});

describe("errors of OpenAI that were recorded", () => {
  it("have the recorded messages", async () => {
    const name = "error-identity-chat-completions-validation-error-carries-identity";
    const response = await post(simulator(), recordedRequest(name, "sim-text"));
    const recorded = readRecording(`${name}.json`).replace("99.0", "99");
    expect(await response.json()).toEqual(JSON.parse(recorded));
  });

  it("include the refusal of max_tokens by reasoning models", async () => {
    const response = await post(
      simulator(),
      say("sim-reasoning:reasoning_field=none", "Hello", { max_tokens: 100 }),
    );
    expect(await response.json()).toEqual(
      JSON.parse(readRecording("reasoning-model-legacy-parameter-error.json")),
    );
  });
});

describe("a recorded server of the Chat Completions API is imitated by quirks", () => {
  /** Servers differ in whether the role has a separate chunk and in whether each delta repeats it. */
  const withoutRole = (chunk: Chunk): string =>
    getKind(chunk)
      .split(" ")
      .filter((word) => word !== "role")
      .join(" ");

  it.each([
    ["deepseek-reasoning.sse", "sim-reasoning:usage_style=finish,usage_fields=deepseek", []],
    ["deepseek-tool-call.sse", "sim-reasoning:usage_style=finish,usage_fields=deepseek", [weatherTool]],
    ["alibaba-reasoning.sse", "sim-reasoning", []],
    ["alibaba-tool-call.sse", "sim-tools:id_style=blank", [weatherTool]],
    ["azure-deepseek-reasoning.1.sse", "sim-reasoning:null_fields=1", []],
    ["groq-tool-call.sse", "sim-tools:whole_calls=1,usage_style=x_groq", [weatherTool]],
    ["groq-error-mid-stream.sse", "sim-text:error_after=0", []],
    [
      "cerebras-cererebras-structured-output-tools.1-answer1.sse",
      "sim-reasoning:reasoning_field=reasoning,whole_calls=1,usage_style=finish",
      [weatherTool],
    ],
    ["mistral-stream-reasoning-model-1-1.sse", "sim-reasoning:reasoning_field=chunks,usage_style=finish", []],
    [
      "openrouter-reasoning-tool-order-streaming-single.sse",
      "sim-reasoning:reasoning_field=details,comments=1,trailing_chunk=1,usage_style=finish",
      [weatherTool],
    ],
    [
      "mistralrs-streaming-chat-completions-stream-emits-reasoning-and-text-incrementally.sse",
      "sim-reasoning:usage_style=finish",
      [],
    ],
  ])("%s by %s", async (recording, model, tools) => {
    const request = say(model, "How is the weather in Paris?", {
      ...(tools.length === 0 ? {} : { tools }),
      stream_options: { include_usage: true },
    });
    const simulated = await streamText(simulator(), request);
    expect(listKinds(simulated, withoutRole)).toEqual(listKinds(readRecording(recording), withoutRole));
  });

  it.each([
    ["deepseek-reasoning.sse", "sim-reasoning:usage_style=finish,usage_fields=deepseek", "reasoning_content"],
    ["deepseek-reasoning.sse", "sim-reasoning:usage_style=finish,usage_fields=deepseek", "content"],
    ["alibaba-reasoning.sse", "sim-reasoning", "reasoning_content"],
    ["mistral-stream-reasoning-model-1-1.sse", "sim-reasoning:reasoning_field=chunks", "content thinking"],
    ["alibaba-tool-call.sse", "sim-tools:id_style=blank", "arguments"],
  ])("%s by %s, down to the fields of a delta with %s", async (recording, model, kind) => {
    const request = say(model, "How is the weather in Paris?", { tools: [weatherTool] });
    const simulated = await streamText(
      simulator(),
      model.startsWith("sim-tools") ? request : say(model, "Why?"),
    );
    const isOfDelta = (path: string): boolean =>
      path.startsWith("choices[].delta.") && !path.endsWith(".content");
    expect(fieldsByKind(simulated)[kind]?.filter(isOfDelta)).toEqual(
      fieldsByKind(readRecording(recording))[kind]?.filter(isOfDelta),
    );
  });

  it.each([
    ["llamacpp-error-missing-api-key-is-401.json", "sim-text:status=401,error_shape=numeric"],
    ["llamacpp-error-tools-without-jinja.json", "sim-text:status=500,error_shape=numeric"],
  ])("%s by %s", async (recording, model) => {
    const response = await post(simulator(), say(model, "Hello"));
    const recorded = JSON.parse(readRecording(recording)) as { error: { code: number } };
    const simulated = (await response.json()) as typeof recorded;
    expect(collectPaths(simulated).sort()).toEqual(collectPaths(recorded).sort());
    expect(simulated.error.code).toBe(recorded.error.code);
  });
});
