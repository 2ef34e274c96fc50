/** Requests of moderate size that used to cost many times their size. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { ask, unservedProviders as providers } from "./support/unserved-providers.ts";

const attacks = useSidecars();
const HEAP_MIB = 160;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-media-"));
  await writeFile(join(folder, "large.png"), Buffer.alloc(20_000_000, 1));
});
afterAll(() => rm(folder, { recursive: true }));

const user = (text: string) => ({ role: "ROLE_USER", content: [{ text }] });

const strictTool = (schema: object) => ({
  function: { name: "f", parametersJson: JSON.stringify(schema), strict: true },
});

/** 230 KiB of definitions whose names become the same when their characters are replaced. */
function definitionsOfOneName(): object {
  const names = Array.from({ length: 4500 }, (_, index) => String.fromCharCode(0x4e00 + index));
  const properties = names.map((name, index) => [`p${index}`, { $ref: `#/$defs/${name}` }]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    $defs: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  };
}

/** 680 KB with a list of values that 2,000 properties refer to, each alongside a different keyword. */
function sharedValues(): object {
  const values = Array.from({ length: 20_000 }, (_, index) => `value-number-${index}-abcdefghij`);
  const properties = Array.from({ length: 2000 }, (_, index) => [
    `p${index}`,
    { $ref: "#/$defs/e", description: `d${index}` },
  ]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    $defs: { e: { type: "string", enum: values } },
  };
}

/** 560 KB of history in which every tool call has the same id. */
function callsWithOneId(): object {
  const calls = Array.from({ length: 4200 }, () => [
    { role: "ROLE_ASSISTANT", content: [{ toolCall: { id: "an id", name: "f", argumentsJson: "{}" } }] },
    {
      role: "ROLE_TOOL",
      toolCallId: "an id",
      content: [{ toolResult: { toolCallId: "an id", content: [{ text: "x" }] } }],
    },
  ]);
  return { messages: [user("hi"), ...calls.flat()] };
}

describe("a request to any provider", () => {
  it.each([
    [
      "with definitions that all want one name",
      { messages: [user("hi")], tools: [strictTool(definitionsOfOneName())] },
    ],
    [
      "with values that many references share",
      { messages: [user("hi")], tools: [strictTool(sharedValues())] },
    ],
    ["with tool calls of one id", callsWithOneId()],
  ])("%s does not delay other calls", async (_what, request) => {
    const sidecar = await attacks.start({ heapMiB: HEAP_MIB, providers });
    const answers: string[] = [];
    expectWithstood(
      await sidecar.withstand(async () => {
        for (const provider of Object.keys(providers))
          answers.push(await ask(sidecar, { ...request, provider }));
      }),
    );
    // The translation ended: by sending, or by refusing a schema that would grow too large.
    expect(answers).toEqual(answers.map(() => expect.stringMatching(/cannot connect|expands to more than/)));
    await sidecar.expectRecovered();
  });

  it("that names a large file many times is refused", async () => {
    const config = { media: { allow_files_under: [folder] } };
    const sidecar = await attacks.start({ heapMiB: HEAP_MIB, providers, config });
    const image = { image: { url: join(folder, "large.png"), mediaType: "image/png" } };
    const messages = [{ role: "ROLE_USER", content: Array.from({ length: 60 }, () => image) }];
    const answers: string[] = [];
    expectWithstood(
      await sidecar.withstand(async () => {
        for (const provider of Object.keys(providers))
          answers.push(await ask(sidecar, { provider, messages }));
      }),
    );
    for (const answer of answers) expect(answer).toContain("max_request_media_bytes");
    await sidecar.expectRecovered();
  });
});
