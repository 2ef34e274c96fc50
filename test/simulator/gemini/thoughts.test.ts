import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import {
  type AnsweredObject,
  ask,
  getParts,
  hello,
  model,
  type Part,
  refusal,
  stream,
  textOf,
  user,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

const tools = [{ functionDeclarations: [weatherTool] }];
const question = user("What is the weather in Paris?");
const thinking = (thinkingConfig: object): object => ({ generationConfig: { thinkingConfig } });

function createResponses(parts: readonly Part[], result = "rain"): object {
  const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
  return user(
    ...calls.map(({ id, name }) => ({ functionResponse: { id, name, response: { output: result } } })),
  );
}

/** The contents that follow an answer with calls. @param parts Replaces the parts of the answer. */
function continuing(answer: AnsweredObject, parts: readonly object[] = getParts(answer)): object {
  return { tools, contents: [question, model(...parts), createResponses(getParts(answer))] };
}

const refusalMessage = async (body: object, name = "sim-reasoning"): Promise<string> =>
  (await refusal(simulator(), { ...hello, ...body }, { model: name })).message;

describe("thoughts", () => {
  it("are shown only on request, and never counted as candidate tokens", async () => {
    const hidden = await ask(simulator(), "sim-reasoning");
    const shown = await ask(simulator(), "sim-reasoning:parts=3", thinking({ includeThoughts: true }));
    expect(getParts(hidden)).toHaveLength(1);
    expect(getParts(shown).map(({ thought }) => thought)).toEqual([true, undefined]);
    for (const { usageMetadata } of [hidden, shown]) {
      const {
        promptTokenCount,
        candidatesTokenCount = 0,
        thoughtsTokenCount = 0,
        totalTokenCount,
      } = usageMetadata;
      expect(thoughtsTokenCount).toBeGreaterThan(100);
      expect(totalTokenCount).toBe(promptTokenCount + candidatesTokenCount + thoughtsTokenCount);
    }
  });

  it("are sent paragraph by paragraph", async () => {
    const objects = await stream(simulator(), "sim-reasoning:parts=3", thinking({ includeThoughts: true }));
    const thoughts = objects.filter((object) => getParts(object)[0]?.thought === true);
    expect(thoughts).toHaveLength(3);
    expect(thoughts.every(({ usageMetadata }) => usageMetadata.thoughtsTokenCount === undefined)).toBe(true);
    expect(objects.at(3)?.usageMetadata.thoughtsTokenCount).toBeGreaterThan(100);
  });

  it("are not shown if they are redacted", async () => {
    const answer = await ask(simulator(), "sim-reasoning:redacted=1", thinking({ includeThoughts: true }));
    expect(getParts(answer).map(({ thought }) => thought)).toEqual([undefined]);
    expect(answer.usageMetadata.thoughtsTokenCount).toBeGreaterThan(100);
  });

  it.each([
    ["level", { thinkingLevel: "MINIMAL" }, { thinkingLevel: "HIGH" }],
    ["budget", { thinkingBudget: 512 }, { thinkingBudget: 24_576 }],
  ])("have as many tokens as the %s allows", async (_, little, much) => {
    const tokens = async (config: object): Promise<number> =>
      (await ask(simulator(), "sim-reasoning", thinking(config))).usageMetadata.thoughtsTokenCount ?? 0;
    expect(await tokens(little)).toBeLessThan(await tokens(much));
    expect(await tokens({ thinkingBudget: 0 })).toBe(0);
    expect(await tokens({ thinkingBudget: -1 })).toBe(await tokens({}));
  });
});

describe("thought signatures", () => {
  it("are on the first call only", async () => {
    for (const answer of [
      [await ask(simulator(), "sim-reasoning:calls=3", { tools })],
      await stream(simulator(), "sim-reasoning:calls=3", { tools }),
    ]) {
      const parts = answer.flatMap(getParts);
      expect(parts.slice(0, 3).map(({ thoughtSignature }) => thoughtSignature !== undefined)).toEqual([
        true,
        false,
        false,
      ]);
      expect(parts.slice(3)).toEqual(answer.length > 1 ? [{ text: "" }] : []);
    }
  });

  it("are on the last text, in a stream on an empty one", async () => {
    const [part] = getParts(await ask(simulator(), "sim-reasoning"));
    expect(part?.thoughtSignature).toMatch(/^E[\w+/]+=*$/);
    const last = (await stream(simulator(), "sim-reasoning")).at(-1);
    expect(last?.candidates?.[0]).toMatchObject({
      content: { parts: [{ text: "", thoughtSignature: expect.stringMatching(/^E/) as string }] },
      finishReason: "STOP",
    });
  });

  it("are accepted in the URL-safe alphabet of base64, which Google's Python SDK sends", async () => {
    const first = await ask(simulator(), "sim-reasoning:calls=2", { contents: [question], tools });
    const [call, ...rest] = getParts(first);
    const thoughtSignature = Buffer.from(call?.thoughtSignature ?? "", "base64").toString("base64url");
    expect(thoughtSignature).not.toBe(call?.thoughtSignature);
    const parts = [{ ...call, thoughtSignature }, ...rest];
    expect(textOf(await ask(simulator(), "sim-reasoning", continuing(first, parts)))).toContain("rain");
  });

  it("are returned by no other script", async () => {
    expect(JSON.stringify(await ask(simulator(), "sim-tools", { tools }))).not.toContain("thoughtSignature");
  });

  it("are required on the calls of the current turn, step by step", async () => {
    const name = "sim-reasoning:rounds=2";
    const first = await ask(simulator(), name, { contents: [question], tools });
    const second = await ask(simulator(), name, continuing(first));
    const contents = [
      question,
      model(...getParts(first)),
      createResponses(getParts(first)),
      model(...getParts(second)),
      createResponses(getParts(second)),
    ];
    expect(textOf(await ask(simulator(), name, { contents, tools }))).toContain("rain");
    const bare = (answer: AnsweredObject): object =>
      model(...getParts(answer).map((part) => ({ ...part, thoughtSignature: undefined })));
    for (const [place, answer] of [
      [1, first],
      [3, second],
    ] as const) {
      expect(await refusalMessage({ contents: contents.with(place, bare(answer)), tools }, name)).toContain(
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:get_weather\` , position ${place + 1}.`,
      );
    }
    const answered = [
      ...contents.with(1, bare(first)).with(3, bare(second)),
      model({ text: "Rain." }),
      user("Thanks. And in Rome?"),
    ];
    expect((await ask(simulator(), name, { contents: answered, tools })).candidates?.[0]?.finishReason).toBe(
      "STOP",
    );
  });

  it.each([
    [
      "a character differs",
      (text: string) => `${text.slice(0, 40)}${text[40] === "A" ? "B" : "A"}${text.slice(41)}`,
    ],
    ["it is invented", () => "AAAA"],
  ])("are refused if %s", async (_, change) => {
    const first = await ask(simulator(), "sim-reasoning:calls=2", { contents: [question], tools });
    const [call, ...rest] = getParts(first);
    const altered = { ...call, thoughtSignature: change(call?.thoughtSignature ?? "") };
    expect(await refusalMessage(continuing(first, [altered, ...rest]))).toBe("Corrupted thought signature.");
  });

  it("are refused on a part of another kind", async () => {
    const [signed] = getParts(await ask(simulator(), "sim-reasoning"));
    const first = await ask(simulator(), "sim-tools", { contents: [question], tools });
    const moved = getParts(first).map((part) => ({ ...part, thoughtSignature: signed?.thoughtSignature }));
    expect(await refusalMessage(continuing(first, moved))).toBe("Corrupted thought signature.");
  });

  it.each([
    "skip_thought_signature_validator",
    Buffer.from("skip_thought_signature_validator").toString("base64"),
  ])("can be the documented placeholder, as text and as bytes: %s", async (thoughtSignature) => {
    const first = await ask(simulator(), "sim-tools", { contents: [question], tools });
    const parts = getParts(first).map((part) => ({ ...part, thoughtSignature }));
    expect(textOf(await ask(simulator(), "sim-reasoning", continuing(first, parts)))).toContain("rain");
  });
});
