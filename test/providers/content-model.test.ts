/** Messages and their content: each kind of part, in each provider's wire format. */
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  documentPart,
  InvalidRequestError,
  imagePart,
  type Message,
  type PartInput,
  textOf,
  textPart,
  toolCallsOf,
  toolResult,
  userMessage,
} from "outrigger";
import { expect } from "vitest";
import {
  imageBytes,
  imageDataUrl,
  requestTo,
  runTools,
  toFailure,
  toMessage,
  weatherTool,
} from "./support/calls.ts";
import { type Column, type ColumnName, createFixture } from "./support/columns.ts";
import type { Fact } from "./support/facts.ts";
import { testTable } from "./support/table.ts";

const pdf = Buffer.from("%PDF-1.4\n%%EOF\n");
const pdfUrl = `data:application/pdf;base64,${pdf.toString("base64")}`;
const audio = Buffer.from("RIFF....WAVE");
const audioUrl = `data:audio/wav;base64,${audio.toString("base64")}`;
const audioPart: PartInput = {
  part: { case: "audio", value: { mediaType: "audio/wav", source: { case: "data", value: audio } } },
};

testTable("Content", [
  {
    title: "Messages of text only are sent as they are",
    async verify(column) {
      await using fixture = await createFixture();
      const messages = [userMessage("Where is Osaka?"), userMessage("And Lima?")];
      const response = await fixture.client.complete(requestTo(column, { messages }));
      expect(column.read(fixture.bodyAt()).facts).toEqual([
        userText("Where is Osaka?"),
        userText("And Lima?"),
      ]);
      expect(textOf(response)).toContain("And Lima?");
    },
  },
  {
    title: "An image by URL is sent",
    verify: (column) => verifyContent(column, [imagePart(IMAGE_URL)], [mediaFact("image", IMAGE_URL)]),
  },
  {
    title: "An image from bytes is sent",
    verify: (column) => verifyContent(column, [imagePart(imageBytes)], [mediaFact("image", imageDataUrl)]),
  },
  {
    title: "An image from a local file is sent",
    async verify(column) {
      await using folder = await mkdtempDisposable(join(tmpdir(), "outrigger-"));
      const file = join(folder.path, "dot.png");
      await writeFile(file, imageBytes);
      await verifyContent(column, [imagePart(file)], [mediaFact("image", imageDataUrl)], [folder.path]);
    },
  },
  {
    title: "A local file outside the allowed folders is refused",
    async verify(column) {
      await using folder = await mkdtempDisposable(join(tmpdir(), "outrigger-"));
      const file = join(folder.path, "dot.png");
      await writeFile(file, imageBytes);
      await verifyRefusal(column, imagePart(file), "messages[0].content[0].image.url");
    },
  },
  {
    title: "Text and images in one message keep their order",
    verify: (column) =>
      verifyContent(
        column,
        [textPart("This one,"), imagePart(imageBytes), textPart("or that one?"), imagePart(IMAGE_URL)],
        [
          userText("This one,"),
          mediaFact("image", imageDataUrl),
          userText("or that one?"),
          mediaFact("image", IMAGE_URL),
        ],
      ),
  },
  {
    title: "A document from bytes is sent",
    verify: (column) => verifyContent(column, [documentPart(pdf)], [mediaFact("document", pdfUrl)]),
  },
  {
    title: "Audio is sent, or rejected with the path of its field",
    verify: (column) =>
      ACCEPTS_AUDIO.includes(column.name)
        ? verifyContent(column, [audioPart], [mediaFact("audio", audioUrl)])
        : verifyRefusal(column, audioPart, "messages[0].content[0].audio"),
  },
  {
    title: "Tool calls and results are sent back unchanged",
    async verify(column) {
      await using fixture = await createFixture("sim-tools:calls=2,preamble=1");
      const messages = [userMessage("What is the weather in Paris and in Osaka?")];
      const asked = await fixture.client.complete(requestTo(column, { messages, tools: [weatherTool] }));
      const [paris, osaka] = toolCallsOf(asked);
      const results = [
        toolResult(osaka?.id ?? "", "The station is down.", { failed: true }),
        toolResult(paris?.id ?? "", [textPart("Rain, see:"), imagePart(imageBytes)]),
      ];
      const all = [...messages, toMessage(asked), ...results];
      const answer = await fixture.client.complete(
        requestTo(column, { messages: all, tools: [weatherTool] }),
      );
      const { facts } = column.read(fixture.bodyAt());
      const calls = facts.flatMap((fact) => (fact.kind === "call" ? [fact] : []));
      const given = facts.flatMap((fact) => (fact.kind === "result" ? [fact] : []));
      expect(facts).toContainEqual({ kind: "text", author: "assistant", text: textOf(asked) });
      expect(calls.map((call) => call.arguments)).toEqual(
        [paris, osaka].map((call) => JSON.parse(call?.input.value ?? "")),
      );
      const textFor = (place: number) => given.find(({ id }) => id === calls[place]?.id)?.text;
      expect(textFor(0)).toBe("Rain, see:");
      expect(textFor(1)).toMatch(/^(The tool failed: )?The station is down\.$/);
      expect(JSON.stringify(facts)).toContain(imageDataUrl);
      expect(textOf(answer)).toContain("The station is down.");
    },
  },
  {
    title: "Reasoning is sent back unchanged, with its signature",
    verify: (column) => verifyReasoning(column, "sim-reasoning:rounds=2"),
  },
  {
    title: "Redacted reasoning is sent back verbatim",
    // The only redacted reasoning of Chat Completions servers is OpenRouter's encrypted details.
    verify: (column) => verifyReasoning(column, "sim-reasoning:rounds=2,redacted=1,reasoning_field=details"),
  },
  {
    title: "Reasoning is sent back in the field that it was received in",
    only: ["compatible"],
    async verify(column) {
      for (const field of ["reasoning_content", "reasoning", "details", "chunks"]) {
        await verifyReasoning(column, `sim-reasoning:rounds=2,reasoning_field=${field}`);
      }
    },
  },
]);

const IMAGE_URL = "https://example.com/harbour.png";

/** Wire formats that support audio. */
const ACCEPTS_AUDIO: readonly ColumnName[] = ["gemini", "compatible"];

function userText(text: string): Fact {
  return { kind: "text", author: "user", text };
}

function mediaFact(kind: "image" | "document" | "audio", source: string): Fact {
  return { kind, author: "user", source };
}

/** Sends a message with this content; the provider accepts it, and received the expected facts. */
async function verifyContent(
  column: Column,
  content: readonly PartInput[],
  expected: readonly Fact[],
  allowFilesUnder: readonly string[] = [],
): Promise<void> {
  await using fixture = await createFixture("sim-text", { apiKey: "test-key", allowFilesUnder });
  const messages = [userMessage([...content, textPart("What is it?")])];
  const response = await fixture.client.complete(requestTo(column, { messages }));
  const attached = expected.filter(({ kind }) => kind !== "text").length;
  expect(column.read(fixture.bodyAt()).facts).toEqual([...expected, userText("What is it?")]);
  expect(textOf(response)).toContain(`The request has ${attached} attachment(s)`);
  expect(response.warnings).toEqual([]);
}

/** Sends a message with a part that is rejected before anything is sent. */
async function verifyRefusal(column: Column, part: PartInput, field: string): Promise<void> {
  await using fixture = await createFixture();
  const error = await toFailure(() =>
    fixture.client.complete(requestTo(column, { messages: [userMessage(part)] })),
  );
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect((error as InvalidRequestError).violations.map((violation) => violation.field)).toEqual([field]);
  expect(fixture.requests).toHaveLength(0);
}

/** Lets the model reason between tool calls; the provider gets back all of its reasoning, and accepts it. */
async function verifyReasoning(column: Column, script: string): Promise<void> {
  await using fixture = await createFixture(script);
  const messages = [userMessage("What is the weather in Paris?")];
  const question = { messages, tools: [weatherTool], reasoningEffort: "high" };
  const { steps } = await runTools(fixture.client, column, question, "stream");
  expect(steps).toHaveLength(3);
  const states = steps.slice(0, -1).flatMap((step) => statesIn(toMessage(step)));
  const returned = JSON.stringify(fixture.bodyAt());
  expect(states.length).toBeGreaterThanOrEqual(2);
  for (const state of states) expect(returned).toContain(state);
}

/** The opaque state in a message: texts too long to be there by chance. */
function statesIn({ content }: Message): string[] {
  return content.flatMap(({ part, providerState }) => {
    const strings =
      part.case === "reasoning" && !part.value.redacted ? [JSON.stringify(part.value.text)] : [];
    const state = providerState?.dataJson ?? "";
    return [...strings.map((text) => text.slice(1, -1)), ...(state.match(LONG_STRING) ?? [])].filter(
      (text) => text.length >= 40,
    );
  });
}

const LONG_STRING = /[A-Za-z0-9+/=_-]{40,}/g;
