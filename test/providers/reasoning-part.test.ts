/** Reasoning that was kept outside of this library: its signature reaches the provider's field. */
import { assistantMessage, reasoningPart, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { columns, createFixture } from "./support/columns.ts";

const signature = "U2lnbmVk";

/** Every text that a member of some name has, anywhere in a body. */
function collectValues(body: unknown, name: string): unknown[] {
  if (typeof body !== "object" || body === null) return [];
  return Object.entries(body).flatMap(([key, value]) => [
    ...(key === name ? [value] : []),
    ...collectValues(value, name),
  ]);
}

const fields = {
  openai: "encrypted_content",
  anthropic: "signature",
  gemini: "thoughtSignature",
  compatible: "signature",
} as const;

describe.each(columns)("reasoning of $title with a bare signature", ({ name, model, otherModel }) => {
  const conversation = (writer: string) => [
    userMessage("Why?"),
    assistantMessage([
      reasoningPart({ text: "Because.", signature, provider: name, model: writer }),
      { part: { case: "text", value: "So it is." } },
    ]),
    userMessage("Really?"),
  ];

  it("is sent to the model that wrote it", async () => {
    await using fixture = await createFixture();
    const call = fixture.client.complete({ provider: name, model, messages: conversation(model) });
    await call.catch(() => undefined);
    expect(collectValues(fixture.bodyAt(), fields[name])).toEqual([signature]);
  });

  it("is not sent to another model", async () => {
    await using fixture = await createFixture();
    const request = { provider: name, model: otherModel, messages: conversation(model) };
    const { warnings } = await fixture.client.complete(request);
    expect(collectValues(fixture.bodyAt(), fields[name])).toEqual([]);
    expect(warnings.map(({ code }) => code)).toContain("foreign_state_stripped");
  });
});
