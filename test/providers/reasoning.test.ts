/** Reasoning: requested by an effort, counted, streamed, signed and sent back. */
import { reasoningOf, userMessage } from "outrigger";
import { expect } from "vitest";
import {
  type CallMode,
  callModel,
  collect,
  type RequestFields,
  requestTo,
  responseIn,
  toMessage,
} from "./support/calls.ts";
import { type Column, type ColumnName, createFixture } from "./support/columns.ts";
import { testTable } from "./support/table.ts";

const question = { messages: [userMessage("Where is Osaka?")], includeRaw: true } satisfies RequestFields;

/** Efforts that all models of the table support. */
const EFFORTS = ["low", "medium", "high"];

testTable("Reasoning", [
  {
    title: "reasoning_effort is sent in the provider's field",
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const counts: number[] = [];
      for (const reasoningEffort of EFFORTS) {
        const response = await fixture.client.complete(requestTo(column, { ...question, reasoningEffort }));
        expect(column.read(fixture.bodyAt()).effort).toBe(reasoningEffort);
        expect(response.warnings).toEqual([]);
        counts.push(response.usage?.reasoningTokens ?? 0);
      }
      expect(counts).toEqual(counts.toSorted((left, right) => left - right));
      expect(counts.at(-1)).toBeGreaterThan(counts[0] ?? 0);
    },
  },
  {
    title: "An effort that the model lacks becomes the nearest one, with a warning",
    only: ["openai", "anthropic", "gemini"],
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const reasoningEffort = MISSING_EFFORT[column.name]?.asked ?? "";
      const response = await fixture.client.complete(requestTo(column, { ...question, reasoningEffort }));
      expect(column.read(fixture.bodyAt()).effort).toBe(MISSING_EFFORT[column.name]?.sent);
      expect(response.warnings).toMatchObject([{ code: "adjusted_setting", field: "reasoning_effort" }]);
    },
  },
  {
    title: "reasoning_tokens are the provider's count",
    verify: (column) => verifyCounts(column, "complete"),
  },
  {
    title: "reasoning_tokens are the same in a stream",
    verify: (column) => verifyCounts(column, "stream"),
  },
  {
    title: "Reasoning is a separate part, before the answer",
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const request = requestTo(column, {
        ...question,
        ...SHOW_REASONING[column.name],
        reasoningEffort: "high",
      });
      const response = await fixture.client.complete(request);
      expect(toMessage(response).content.map(({ part }) => part.case)).toEqual(["reasoning", "text"]);
      expect(reasoningOf(response).length).toBeGreaterThan(40);
    },
  },
  {
    title: "Reasoning is streamed as it is generated",
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const request = requestTo(column, {
        ...question,
        ...SHOW_REASONING[column.name],
        reasoningEffort: "high",
      });
      const events = await collect(fixture.client.stream(request));
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
    title: "The signature is kept unchanged",
    only: ["openai", "anthropic", "gemini"],
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const request = requestTo(column, { ...question, reasoningEffort: "high" });
      const response = await fixture.client.complete(request);
      const states = toMessage(response).content.flatMap(({ providerState = [] }) => providerState);
      const signatures = states.flatMap(({ dataJson }) => dataJson.match(SIGNATURE) ?? []);
      expect(states[0]).toMatchObject({ provider: column.name, model: column.model });
      expect(signatures).not.toEqual([]);
      for (const signature of signatures) expect(response.rawJson).toContain(signature);
    },
  },
  {
    title: "The effort none switches reasoning off",
    only: ["openai", "anthropic", "compatible"],
    async verify(column) {
      await using fixture = await createFixture("sim-reasoning");
      const response = await fixture.client.complete(
        requestTo(column, { ...question, reasoningEffort: "none" }),
      );
      expect(toMessage(response).content.map(({ part }) => part.case)).toEqual(["text"]);
      expect(response.usage?.reasoningTokens ?? 0).toBe(0);
      expect(response.warnings).toEqual([]);
    },
  },
  {
    title: "An answer without reasoning reports none",
    async verify(column) {
      await using fixture = await createFixture();
      const response = await fixture.client.complete(requestTo(column, question));
      const { output } = column.count(JSON.parse(response.rawJson));
      expect(response.usage?.outputTokens).toBe(output);
      expect(response.usage?.reasoningTokens ?? 0).toBe(0);
      expect(reasoningOf(response)).toBe("");
    },
  },
]);

/** An effort that a model lacks, and the one that is sent in its place. */
const MISSING_EFFORT: Partial<Record<ColumnName, { readonly asked: string; readonly sent: string }>> = {
  openai: { asked: "minimal", sent: "low" },
  anthropic: { asked: "minimal", sent: "low" },
  gemini: { asked: "max", sent: "high" },
};

/** Options that make a provider return the text of its reasoning, if an effort alone does not. */
const SHOW_REASONING: Partial<Record<ColumnName, RequestFields>> = {
  openai: { providerOptionsJson: { openai: JSON.stringify({ reasoning: { summary: "auto" } }) } },
};

/** A signature, or encrypted reasoning, in the state of a part. */
const SIGNATURE = /[A-Za-z0-9+/=_-]{40,}/g;

async function verifyCounts(column: Column, mode: CallMode): Promise<void> {
  await using fixture = await createFixture("sim-reasoning");
  const request = requestTo(column, { ...question, reasoningEffort: "high" });
  const whole = await fixture.client.complete(request);
  const { usage } = await callModel(fixture.client, request, mode);
  const { reasoning, output } = column.count(JSON.parse(whole.rawJson));
  expect(reasoning).toBeGreaterThan(100);
  expect(usage).toMatchObject({ reasoningTokens: reasoning, outputTokens: output });
  expect(usage?.reasoningTokens).toBeLessThan(usage?.outputTokens ?? 0);
}
