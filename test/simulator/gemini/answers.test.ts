import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import {
  type AnsweredObject,
  ask,
  getParts,
  model,
  type Part,
  stream,
  textOf,
  user,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

const config = (generationConfig: object): object => ({ generationConfig });
const getFinish = ({ candidates }: AnsweredObject): string | undefined => candidates?.[0]?.finishReason;

describe("sim-tools", () => {
  const tools = [{ functionDeclarations: [weatherTool, { name: "get_time" }] }];
  const listNames = (answer: AnsweredObject): (string | undefined)[] =>
    getParts(answer).map(({ functionCall }) => functionCall?.name);
  const call = (functionCallingConfig: object, name = "sim-tools:calls=3"): Promise<AnsweredObject> =>
    ask(simulator(), name, { tools, toolConfig: { functionCallingConfig } });

  it("calls as many tools as the model string says", async () => {
    const answer = await call({});
    expect(listNames(answer)).toEqual(["get_weather", "get_time", "get_weather"]);
    expect(answer.candidates?.[0]).toMatchObject({
      finishReason: "STOP",
      finishMessage: "Model generated function call(s).",
    });
  });

  it.each<[object, (string | undefined)[]]>([
    [{ mode: "NONE" }, [undefined]],
    [{ mode: "ANY" }, ["get_weather", "get_time", "get_weather"]],
    [{ mode: "ANY", allowedFunctionNames: ["get_time"] }, ["get_time", "get_time", "get_time"]],
    [{ mode: "VALIDATED", allowedFunctionNames: ["get_time"] }, ["get_time", "get_time", "get_time"]],
  ])("follows the tool choice %j", async (choice, names) => {
    expect(listNames(await call(choice))).toEqual(names);
  });

  it("calls a tool with other scripts too if a call is required", async () => {
    expect(listNames(await call({ mode: "ANY" }, "sim-echo"))).toEqual(["get_weather"]);
  });

  it("returns ids that are unique, repeated or missing", async () => {
    const collectIds = async (option: string): Promise<(string | undefined)[]> =>
      getParts(await call({}, `sim-tools:calls=3${option}`)).map(({ functionCall }) => functionCall?.id);
    expect(new Set(await collectIds("")).size).toBe(3);
    expect(new Set(await collectIds(",repeat_ids=1")).size).toBe(1);
    expect(await collectIds(",no_ids=1")).toEqual([undefined, undefined, undefined]);
  });

  it("reads the last responses, in as many rounds as the model string says", async () => {
    const name = "sim-tools:rounds=2";
    const contents: object[] = [user("Go on.")];
    for (let round = 1; round <= 2; round += 1) {
      const parts = getParts(await ask(simulator(), name, { tools, contents }));
      expect(parts.map(({ functionCall }) => functionCall?.name)).toEqual(["get_weather"]);
      const { id } = parts[0]?.functionCall ?? {};
      const response = { name: "get_weather", id, response: { output: `result ${round}` } };
      contents.push(model(...parts), user({ functionResponse: response }));
    }
    const text = textOf(await ask(simulator(), name, { tools, contents }));
    expect(text).toContain("`get_weather` said “result 2”");
    expect(text).not.toContain("result 1");
  });

  it("generates arguments for schemas in Google's dialect", async () => {
    const parameters = {
      type: "OBJECT",
      properties: {
        city: { type: "STRING", enum: ["OSLO"] },
        days: { type: "ARRAY", items: { type: "INTEGER", nullable: true }, minItems: "2" },
      },
      required: ["city", "days"],
    };
    const [part] = getParts(
      await ask(simulator(), "sim-tools", { tools: [{ functionDeclarations: [{ name: "f", parameters }] }] }),
    );
    const number = expect.any(Number) as number;
    expect(part?.functionCall?.args).toEqual({ city: "OSLO", days: [number, number] });
  });
});

describe("sim-text", () => {
  it("names attachments and counts their tokens by modality", async () => {
    const contents = [
      user(
        "Look at these.",
        { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } },
        { fileData: { mimeType: "audio/mp3", fileUri: "gs://a/song.mp3" } },
      ),
    ];
    const answer = await ask(simulator(), "sim-text", { contents });
    expect(textOf(answer)).toContain("2 attachment(s): image image/png");
    expect(textOf(answer)).toContain("audio gs://a/song.mp3");
    const { promptTokenCount, promptTokensDetails } = answer.usageMetadata;
    expect(promptTokensDetails.map(({ modality }) => modality)).toEqual(["TEXT", "IMAGE", "AUDIO"]);
    expect(promptTokensDetails.reduce((sum, { tokenCount }) => sum + tokenCount, 0)).toBe(promptTokenCount);
  });

  it("answers with a JSON object if the format is JSON without a schema", async () => {
    const answer = await ask(simulator(), "sim-text", config({ responseMimeType: "application/json" }));
    expect(JSON.parse(textOf(answer))).toMatchObject({ question: "Hello 🧭" });
  });

  it("returns images and text as responseModalities says", async () => {
    const getKinds = async (...responseModalities: string[]): Promise<string[]> => {
      const answer = await ask(simulator(), "sim-text", config({ responseModalities }));
      return getParts(answer).map((part: Part) =>
        part.inlineData === undefined ? "text" : part.inlineData.mimeType,
      );
    };
    expect(await getKinds("TEXT", "IMAGE")).toEqual(["image/png", "text"]);
    expect(await getKinds("IMAGE")).toEqual(["image/png"]);
    const objects = await stream(simulator(), "sim-text", config({ responseModalities: ["IMAGE"] }));
    expect(objects).toHaveLength(1);
    expect(
      Buffer.from(getParts(objects[0] as AnsweredObject)[0]?.inlineData?.data ?? "", "base64")
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
  });
});

describe("finish reasons", () => {
  it("are STOP at a stop sequence", async () => {
    const changes = { contents: [user("alpha bravo charlie")], ...config({ stopSequences: ["bravo"] }) };
    const answer = await ask(simulator(), "sim-echo", changes);
    expect([textOf(answer), getFinish(answer)]).toEqual(["alpha ", "STOP"]);
  });

  it.each(["sim-text", "sim-reasoning", "sim-tools"])(
    "of %s is at the limit, of which thoughts use some",
    async (name) => {
      const functionDeclarations = [
        {
          name: "f",
          parameters: { type: "OBJECT", properties: { text: { type: "STRING", minLength: 300 } } },
        },
      ];
      const changes = { tools: [{ functionDeclarations }], ...config({ maxOutputTokens: 20 }) };
      for (const answer of [
        await ask(simulator(), name, changes),
        (await stream(simulator(), name, changes)).at(-1),
      ]) {
        const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = answer?.usageMetadata ?? {};
        expect(answer === undefined ? undefined : getFinish(answer)).toBe("MAX_TOKENS");
        expect(candidatesTokenCount + thoughtsTokenCount).toBe(20);
      }
    },
  );

  it("come with a content without parts if there is no output", async () => {
    const answer = await ask(simulator(), "sim-reasoning", config({ maxOutputTokens: 20 }));
    expect(answer.candidates?.[0]?.content).toEqual({ role: "model" });
  });

  it("are a blocked prompt for sim-refusal", async () => {
    for (const objects of [
      [await ask(simulator(), "sim-refusal")],
      await stream(simulator(), "sim-refusal"),
    ]) {
      expect(objects).toHaveLength(1);
      expect(objects[0]).toMatchObject({ promptFeedback: { blockReason: "SAFETY" } });
      expect(objects[0]).not.toHaveProperty("candidates");
      expect(objects[0]?.usageMetadata.candidatesTokenCount).toBeUndefined();
    }
  });

  it("are SAFETY if the filter stops the answer", async () => {
    const whole = textOf(await ask(simulator(), "sim-text"));
    const blocked = await ask(simulator(), "sim-text:stop=content_filter");
    expect(getFinish(blocked)).toBe("SAFETY");
    expect(blocked.candidates?.[0]?.safetyRatings?.some((rating) => rating.blocked)).toBe(true);
    expect(whole.startsWith(textOf(blocked))).toBe(true);
  });
});

describe("grounding", () => {
  const tools = [{ googleSearch: {} }];

  it("has the source and the span in bytes of each citation", async () => {
    const answer = await ask(simulator(), "sim-text:citations=3", {
      contents: [user("Neues über Žižek?")],
      tools,
    });
    const {
      groundingChunks = [],
      groundingSupports = [],
      webSearchQueries,
    } = answer.candidates?.[0]?.groundingMetadata ?? {};
    expect(webSearchQueries).toEqual(["Neues über Žižek?"]);
    expect(groundingChunks).toHaveLength(3);
    const bytes = Buffer.from(textOf(answer));
    for (const { segment, groundingChunkIndices } of groundingSupports) {
      expect(bytes.subarray(segment.startIndex ?? 0, segment.endIndex).toString()).toBe(segment.text);
      expect(segment.text).toContain(groundingChunks[groundingChunkIndices[0] ?? 0]?.web.uri);
    }
    expect(groundingSupports).toHaveLength(3);
  });

  it("is in the last object of a stream", async () => {
    const objects = await stream(simulator(), "sim-text", { tools });
    expect(
      objects.map(({ candidates }) => candidates?.[0]?.groundingMetadata !== undefined).indexOf(true),
    ).toBe(objects.length - 1);
  });

  it("is citation metadata if nothing was searched", async () => {
    const answer = await ask(simulator(), "sim-text:citations=2");
    expect(answer.candidates?.[0]?.citationMetadata?.citationSources).toHaveLength(2);
    expect(answer.candidates?.[0]).not.toHaveProperty("groundingMetadata");
  });
});

describe("the prompt cache", () => {
  it("counts the beginning of an earlier prompt as cached and as prompt tokens", async () => {
    const systemInstruction = { parts: [{ text: "The tide turns twice a day. ".repeat(400) }] };
    const askCached = async (question: string): Promise<number | undefined> => {
      const { usageMetadata } = await ask(simulator(), "sim-text", {
        systemInstruction,
        contents: [user(question)],
      });
      expect(usageMetadata.promptTokenCount).toBeGreaterThan(2700);
      return usageMetadata.cachedContentTokenCount;
    };
    expect(await askCached("One")).toBeUndefined();
    expect(await askCached("Two")).toBeGreaterThan(2600);
  });

  it("is not used for short prompts", async () => {
    const contents = [user("The tide turns. ".repeat(400))];
    for (let each = 0; each < 2; each += 1)
      expect(
        (await ask(simulator(), "sim-text", { contents })).usageMetadata.cachedContentTokenCount,
      ).toBeUndefined();
  });
});
