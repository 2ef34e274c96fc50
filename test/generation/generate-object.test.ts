/** generateObject() and streamObject() over every wire API, with each way of making a model write the object. */
import {
  Client,
  type GenerateObjectOptions,
  generateObject,
  InvalidRequestError,
  NoObjectGeneratedError,
  type ObjectStrategy,
  RateLimitError,
  streamObject,
} from "outrigger";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { type Column, columns, createFixture, type Fixture } from "../providers/support/columns.ts";
import { testTable } from "../providers/support/table.ts";
import { ScriptedModel } from "./support/scripted-model.ts";

const recipe = z.object({ title: z.string(), minutes: z.int(), steps: z.array(z.string()).min(2) });
const prompt = "A recipe for pancakes";

function optionsIn(
  { name, model }: Column,
  { client }: Fixture,
  strategy?: ObjectStrategy,
): GenerateObjectOptions<typeof recipe> {
  return { provider: name, model, client, prompt, schema: recipe, strategy };
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function expectObjects(column: Column, strategy?: ObjectStrategy, script = "sim-text"): Promise<void> {
  await using fixture = await createFixture(script);
  const options = optionsIn(column, fixture, strategy);
  const { output, text, totalUsage } = await generateObject(options);
  expect(recipe.parse(output)).toEqual(output);
  expect(JSON.parse(text)).toEqual(output);
  expect(totalUsage?.outputTokens).toBeGreaterThan(0);
  const streamed = streamObject(options);
  const partials = await all(streamed);
  expect(partials.at(-1)).toEqual(await streamed.object());
  expect(recipe.parse(await streamed.object())).toEqual(partials.at(-1));
  expect(new Set(partials.map((partial) => JSON.stringify(partial))).size).toBe(partials.length);
}

testTable("Objects", [
  {
    title: "A model writes an object in the way that suits it",
    verify: (column) => expectObjects(column),
  },
  {
    title: "A model writes an object as structured output",
    verify: (column) => expectObjects(column, "native"),
  },
  {
    title: "A model writes an object as the arguments of a tool",
    verify: (column) => expectObjects(column, "tool", "sim-tools"),
  },
  {
    title: "An answer that is no object is an error with its text and what is wrong",
    async verify(column) {
      await using fixture = await createFixture("sim-echo");
      const options = {
        ...optionsIn(column, fixture, "prompt"),
        prompt: '{"title":"Pancakes","minutes":"ten"}',
      };
      for (const run of [generateObject(options), streamObject(options).object()]) {
        const error = await run.then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (!(error instanceof NoObjectGeneratedError)) throw error;
        expect(error.text).toBe(options.prompt);
        expect(error.schemaViolations.join("\n")).toMatch(/minutes.*integer/);
        expect(error.usage?.outputTokens).toBeGreaterThan(0);
      }
      expect(fixture.requests).toHaveLength(2);
    },
  },
  {
    title: "An answer that was cut is no object",
    async verify(column) {
      await using fixture = await createFixture("sim-text:stop=length");
      const cut = generateObject(optionsIn(column, fixture, "native"));
      await expect(cut).rejects.toThrow("the answer was cut off at its token limit");
    },
  },
  {
    title: "A call that fails is retried",
    async verify(column) {
      await using fixture = await createFixture("sim-text:status=503,times=1");
      const result = await generateObject({ ...optionsIn(column, fixture), retry: { baseDelay: 0.001 } });
      expect(result.attempts.map(({ error }) => error !== undefined)).toEqual([true, false]);
    },
  },
]);

describe("generateObject()", () => {
  const [column] = columns;
  if (column === undefined) throw new Error("there is no column");

  it("gives the object the type of its schema", async () => {
    await using fixture = await createFixture();
    const { output } = await generateObject(optionsIn(column, fixture));
    expectTypeOf(output).toEqualTypeOf<{ title: string; minutes: number; steps: string[] }>();
  });

  it("checks rules that JSON Schema cannot express, by the schema's library", async () => {
    await using fixture = await createFixture();
    const schema = recipe.refine(() => false, "is not tasty");
    const failed = generateObject({ ...optionsIn(column, fixture), schema });
    await expect(failed).rejects.toMatchObject({
      schemaViolations: [expect.stringContaining("is not tasty")],
    });
  });

  it("takes a plain JSON Schema", async () => {
    await using fixture = await createFixture();
    const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const { output } = await generateObject({ ...optionsIn(column, fixture), schema });
    expect(output).toEqual({ name: expect.any(String) });
  });

  it("names the options that are wrong as TypeScript does", async () => {
    await using fixture = await createFixture();
    const options = optionsIn(column, fixture);
    await expect(generateObject({ ...options, schemaName: "a b" })).rejects.toThrow(/^schemaName: /);
    await expect(generateObject({ ...options, schema: { type: "thing" } })).rejects.toThrow(/^schema/);
    await expect(generateObject({ ...options, maxTokens: -1 })).rejects.toThrow(/^maxTokens: /);
    expect(fixture.requests).toHaveLength(0);
  });

  it("names the schema as the option if a provider cannot take it", async () => {
    await using fixture = await createFixture();
    const schema = { type: "object", properties: { other: { $ref: "https://example.com/schema.json" } } };
    const options = { ...optionsIn(column, fixture), schema, strategy: "native" } as const;
    await expect(generateObject(options)).rejects.toThrow(/^schema/);
  });

  it.each([undefined, "native", "tool"] as const)(
    "gives values that are no objects, with strategy %s",
    async (strategy) => {
      await using fixture = await createFixture();
      const options = { ...optionsIn(column, fixture, strategy), schema: z.array(recipe) };
      const { output } = await generateObject(options);
      expect(output.length).toBeGreaterThan(0);
      const streamed = streamObject(options);
      const partials = await all(streamed);
      expect(partials.every(Array.isArray)).toBe(true);
      expect(partials.at(-1)).toEqual(await streamed.object());
    },
  );

  it.each([
    ["this process refuses the format", new InvalidRequestError("the json_schema is wrong")],
    ["a provider refuses something else", new InvalidRequestError("wrong", { provider: "scripted" })],
    [
      "the model has begun to answer",
      new InvalidRequestError("the json_schema is wrong", { provider: "scripted", outputStarted: true }),
    ],
  ])("does not ask in another way if %s", async (_name, refusal) => {
    const model = new ScriptedModel([refusal]);
    const client = new Client({ providers: { scripted: model } });
    const failed = generateObject({ model: "m", client, prompt, schema: recipe });
    await expect(failed).rejects.toThrow(refusal.message);
    expect(model.requests).toHaveLength(1);
  });

  it.each([
    "response_format is not supported",
    "unknown field responseFormat",
    "json_schema: unsupported",
    "JsonSchema is not available",
    "the model has no structured output",
    "structured_output is not enabled",
    "text.format: unknown",
    "output_config is not allowed",
    "output_format: extra inputs are not permitted",
    'Unknown name "response_schema"',
    'Unknown name "responseJsonSchema"',
    "guided_json failed",
    "cannot compile the grammar",
  ])("asks in another way if the provider says: %s", async (message) => {
    const answer = JSON.stringify({ title: "Pancakes", minutes: 10, steps: ["mix", "fry"] });
    const refusal = new InvalidRequestError(message, { provider: "scripted" });
    const model = new ScriptedModel([refusal, [{ name: "object", args: answer }]]);
    const client = new Client({ providers: { scripted: model } });
    const { output } = await generateObject({ model: "m", client, prompt, schema: recipe });
    expect(output.title).toBe("Pancakes");
  });

  it("asks in another way if the provider refuses the format, and fails if it refuses all", async () => {
    const refusal = () => new InvalidRequestError("the json_schema is wrong", { provider: "scripted" });
    const answer = JSON.stringify({ title: "Pancakes", minutes: 10, steps: ["mix", "fry"] });
    const model = new ScriptedModel([refusal(), [{ name: "object", args: answer }]]);
    const client = new Client({ providers: { scripted: model } });
    const { output, attempts } = await generateObject({ model: "m", client, prompt, schema: recipe });
    expect(output.title).toBe("Pancakes");
    expect(attempts.map(({ error }) => error !== undefined)).toEqual([true, false]);
    const refusing = new ScriptedModel([refusal()]);
    const failed = generateObject({
      model: "m",
      client: new Client({ providers: { scripted: refusing } }),
      prompt,
      schema: recipe,
    });
    await expect(failed).rejects.toThrow("the json_schema is wrong");
    expect(refusing.requests.length).toBeGreaterThan(1);
  });

  it("fails if the model calls another tool, which is not answered", async () => {
    const model = new ScriptedModel([[{ name: "other" }], "never"]);
    const client = new Client({ providers: { scripted: model } });
    const failed = generateObject({ model: "m", client, prompt, schema: recipe, strategy: "tool" });
    await expect(failed).rejects.toBeInstanceOf(NoObjectGeneratedError);
    expect(model.requests).toHaveLength(1);
  });

  it("fails with the provider's error if no other format helps", async () => {
    await using fixture = await createFixture("sim-text:status=429");
    const failed = generateObject({ ...optionsIn(column, fixture), maxRetries: 0 });
    await expect(failed).rejects.toBeInstanceOf(RateLimitError);
  });
});

describe("streamObject()", () => {
  const [column] = columns;
  if (column === undefined) throw new Error("there is no column");

  it("grows: each part begins with the one before", async () => {
    await using fixture = await createFixture("sim-text:rate=400");
    const titles: string[] = [];
    for await (const { title = "" } of streamObject(optionsIn(column, fixture))) titles.push(title);
    for (const [index, title] of titles.entries())
      expect(title.startsWith(titles[index - 1] ?? "")).toBe(true);
    expect(titles.length).toBeGreaterThan(3);
  });

  it("cancels the call when the loop breaks early", async () => {
    await using fixture = await createFixture("sim-text:rate=20");
    const result = streamObject(optionsIn(column, fixture));
    for await (const _partial of result) break;
    await expect(result.object()).rejects.toThrow("the stream was closed before its end");
    await expect.poll(() => fixture.requests[0]?.aborted).toBe(true);
  });

  it("can be read once", async () => {
    await using fixture = await createFixture();
    const result = streamObject(optionsIn(column, fixture));
    await all(result);
    await expect(all(result)).rejects.toThrow("has already been read");
  });
});
