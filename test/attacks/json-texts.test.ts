/** JSON texts inside of requests, which are parsed when a request is translated. */
import { describe, expect, it } from "vitest";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { ask, unservedProviders as providers } from "./support/unserved-providers.ts";

const attacks = useSidecars();

const user = { role: "ROLE_USER", content: [{ text: "hi" }] };
const assistant = (part: object) => ({ role: "ROLE_ASSISTANT", content: [{ text: "a" }, part] });
const result = { toolResult: { toolCallId: "a", content: [{ text: "x" }] } };

/** Requests with a JSON text, by the field that holds it. */
const requests: Readonly<Record<string, (json: string, provider: string) => object>> = {
  providerOptionsJson: (json, provider) => ({
    messages: [user],
    providerOptionsJson: { [provider]: json },
  }),
  argumentsJson: (json) => ({
    messages: [
      user,
      assistant({ toolCall: { id: "a", name: "f", argumentsJson: json } }),
      { role: "ROLE_TOOL", toolCallId: "a", content: [result] },
    ],
  }),
  parametersJson: (json) => ({
    messages: [user],
    tools: [{ function: { name: "f", parametersJson: json } }],
  }),
  configJson: (json, provider) => ({ messages: [user], tools: [{ hosted: { provider, configJson: json } }] }),
  schemaJson: (json) => ({
    messages: [user],
    responseFormat: { type: "TYPE_JSON_SCHEMA", name: "x", schemaJson: json },
  }),
  "dataJson of a native part": (json, provider) => ({
    messages: [user, assistant({ native: { provider, kind: "x", dataJson: json } }), user],
  }),
  "dataJson of a state": (json, provider) => ({
    messages: [user, assistant({ text: "b", providerState: { provider, model: "m", dataJson: json } }), user],
  }),
};

/** A JSON text with the given number of empty objects. */
const objects = (count: number) => `{"a":[${"{},".repeat(count - 1)}{}]}`;

describe.each([
  { heapMiB: 128, refused: 3_000_000, allowed: 25_000 },
  { heapMiB: 512, refused: 8_000_000, allowed: 110_000 },
])("a JSON text of many values does not exhaust a heap of $heapMiB MiB", ({ heapMiB, refused, allowed }) => {
  const shared = attacks.share(() => ({ heapMiB, providers }));

  it.each(Object.entries(requests))("in %s", async (_field, make) => {
    const sidecar = shared();
    const answers: string[] = [];
    const others: string[] = [];
    expectWithstood(
      await sidecar.withstand(async () => {
        for (const provider of Object.keys(providers)) {
          answers.push(await ask(sidecar, { provider, ...make(objects(refused), provider) }));
          others.push(await ask(sidecar, { provider, ...make(objects(allowed), provider) }));
        }
      }),
    );
    for (const answer of answers) {
      expect(answer).toMatch(/resource_exhausted.*(max_message_elements|max_request_memory)/);
    }
    for (const answer of others) expect(answer).not.toContain("resource_exhausted");
    await sidecar.expectRecovered();
  });
});
