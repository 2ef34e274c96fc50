/** Reasoning (specification §8.5, §3.9): asked for in one word, counted apart, shown, signed and handed back. */
import { reasoningOf, userMessage } from "outrigger";
import { expect } from "vitest";
import {
  answerTo,
  collect,
  type Manner,
  messageOf,
  type Question,
  requestTo,
  responseIn,
} from "./support/asking.ts";
import { type Column, type ColumnName, setStage } from "./support/columns.ts";
import { proveTable } from "./support/table.ts";

const question = { messages: [userMessage("Where is Osaka?")], includeRaw: true } satisfies Question;

/** Efforts that all models of the table have. */
const EFFORTS = ["low", "medium", "high"];

proveTable("§8.5 Reasoning", [
  {
    title: "reasoning_effort arrives in the provider's field",
    async prove(column) {
      await using stage = await setStage("sim-reasoning");
      const counts: number[] = [];
      for (const reasoningEffort of EFFORTS) {
        const response = await stage.client.complete(requestTo(column, { ...question, reasoningEffort }));
        expect(column.read(stage.bodyAt()).effort).toBe(reasoningEffort);
        expect(response.warnings).toEqual([]);
        counts.push(response.usage?.reasoningTokens ?? 0);
      }
      expect(counts).toEqual(counts.toSorted((left, right) => left - right));
      expect(counts.at(-1)).toBeGreaterThan(counts[0] ?? 0);
    },
  },
  {
    title: "An effort that the model has not is the nearest, and told",
    only: ["openai", "anthropic", "gemini"],
    async prove(column) {
      await using stage = await setStage("sim-reasoning");
      const reasoningEffort = MISSING_EFFORT[column.name]?.asked ?? "";
      const response = await stage.client.complete(requestTo(column, { ...question, reasoningEffort }));
      expect(column.read(stage.bodyAt()).effort).toBe(MISSING_EFFORT[column.name]?.sent);
      expect(response.warnings).toMatchObject([{ code: "adjusted_setting", field: "reasoning_effort" }]);
    },
  },
  {
    title: "reasoning_tokens are the provider's count",
    prove: (column) => proveCounts(column, "complete"),
  },
  {
    title: "reasoning_tokens are the same in a stream",
    prove: (column) => proveCounts(column, "stream"),
  },
  {
    title: "Thinking is a part of its own, before the answer",
    async prove(column) {
      await using stage = await setStage("sim-reasoning");
      const request = requestTo(column, { ...question, ...SHOWN[column.name], reasoningEffort: "high" });
      const response = await stage.client.complete(request);
      expect(messageOf(response).content.map(({ part }) => part.case)).toEqual(["reasoning", "text"]);
      expect(reasoningOf(response).length).toBeGreaterThan(40);
    },
  },
  {
    title: "Thinking is streamed while it is written",
    async prove(column) {
      await using stage = await setStage("sim-reasoning");
      const request = requestTo(column, { ...question, ...SHOWN[column.name], reasoningEffort: "high" });
      const events = await collect(stage.client.stream(request));
      const deltas = events.flatMap(({ event }) =>
        event.case === "reasoningDelta" ? [event.value.delta] : [],
      );
      const cases = events.map(({ event }) => event.case);
      expect(deltas.length).toBeGreaterThan(1);
      expect(deltas.join("")).toBe(reasoningOf(responseIn(events)));
      expect(cases.indexOf("reasoningEnd")).toBeLessThan(cases.indexOf("textStart"));
    },
  },
  {
    title: "The signature is kept letter by letter",
    only: ["openai", "anthropic", "gemini"],
    async prove(column) {
      await using stage = await setStage("sim-reasoning");
      const request = requestTo(column, { ...question, reasoningEffort: "high" });
      const response = await stage.client.complete(request);
      const states = messageOf(response).content.flatMap(({ providerState = [] }) => providerState);
      const signatures = states.flatMap(({ dataJson }) => dataJson.match(SIGNATURE) ?? []);
      expect(states[0]).toMatchObject({ provider: column.name, model: column.model });
      expect(signatures).not.toEqual([]);
      for (const signature of signatures) expect(response.rawJson).toContain(signature);
    },
  },
  {
    title: "The effort none switches thinking off",
    only: ["openai", "anthropic", "compatible"],
    async prove(column) {
      await using stage = await setStage("sim-reasoning");
      const response = await stage.client.complete(
        requestTo(column, { ...question, reasoningEffort: "none" }),
      );
      expect(messageOf(response).content.map(({ part }) => part.case)).toEqual(["text"]);
      expect(response.usage?.reasoningTokens ?? 0).toBe(0);
      expect(response.warnings).toEqual([]);
    },
  },
  {
    title: "An answer without thinking reports none",
    async prove(column) {
      await using stage = await setStage();
      const response = await stage.client.complete(requestTo(column, question));
      const { output } = column.count(JSON.parse(response.rawJson));
      expect(response.usage?.outputTokens).toBe(output);
      expect(response.usage?.reasoningTokens ?? 0).toBe(0);
      expect(reasoningOf(response)).toBe("");
    },
  },
]);

/** An effort that a model has not, and the one that is asked for in its place. */
const MISSING_EFFORT: Partial<Record<ColumnName, { readonly asked: string; readonly sent: string }>> = {
  openai: { asked: "minimal", sent: "none" },
  anthropic: { asked: "minimal", sent: "low" },
  gemini: { asked: "max", sent: "high" },
};

/** What makes a provider show the text of its thinking, where an effort alone does not. */
const SHOWN: Partial<Record<ColumnName, Question>> = {
  openai: { providerOptionsJson: { openai: JSON.stringify({ reasoning: { summary: "auto" } }) } },
};

/** A signature, or encrypted thinking, in the state of a part. */
const SIGNATURE = /[A-Za-z0-9+/=_-]{40,}/g;

async function proveCounts(column: Column, manner: Manner): Promise<void> {
  await using stage = await setStage("sim-reasoning");
  const request = requestTo(column, { ...question, reasoningEffort: "high" });
  const whole = await stage.client.complete(request);
  const { usage } = await answerTo(stage.client, request, manner);
  const { reasoning, output } = column.count(JSON.parse(whole.rawJson));
  expect(reasoning).toBeGreaterThan(100);
  expect(usage).toMatchObject({ reasoningTokens: reasoning, outputTokens: output });
  expect(usage?.reasoningTokens).toBeLessThan(usage?.outputTokens ?? 0);
}
