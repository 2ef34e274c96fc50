/** Messages and their content (specification §8.3): each kind of part, as each provider has it on the wire. */
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  documentPart,
  InvalidRequestError,
  imagePart,
  type Message,
  type PartInit,
  textOf,
  textPart,
  toolCallsOf,
  toolResult,
  userMessage,
} from "outrigger";
import { expect } from "vitest";
import {
  failureOf,
  messageOf,
  picture,
  pictureUrl,
  requestTo,
  runTools,
  weatherTool,
} from "./support/asking.ts";
import { type Column, type ColumnName, setStage } from "./support/columns.ts";
import type { Fact } from "./support/facts.ts";
import { proveTable } from "./support/table.ts";

const pdf = Buffer.from("%PDF-1.4\n%%EOF\n");
const pdfUrl = `data:application/pdf;base64,${pdf.toString("base64")}`;
const sound = Buffer.from("RIFF....WAVE");
const soundUrl = `data:audio/wav;base64,${sound.toString("base64")}`;
const soundPart: PartInit = {
  part: { case: "audio", value: { mediaType: "audio/wav", source: { case: "data", value: sound } } },
};

proveTable("§8.3 Content", [
  {
    title: "Messages of text alone",
    async prove(column) {
      await using stage = await setStage();
      const messages = [userMessage("Where is Osaka?"), userMessage("And Lima?")];
      const response = await stage.client.complete(requestTo(column, { messages }));
      expect(column.read(stage.bodyAt()).facts).toEqual([said("Where is Osaka?"), said("And Lima?")]);
      expect(textOf(response)).toContain("And Lima?");
    },
  },
  {
    title: "Image by URL",
    prove: (column) => proveContent(column, [imagePart(PHOTO)], [shown("image", PHOTO)]),
  },
  {
    title: "Image from bytes",
    prove: (column) => proveContent(column, [imagePart(picture)], [shown("image", pictureUrl)]),
  },
  {
    title: "Image from a local file",
    async prove(column) {
      await using folder = await mkdtempDisposable(join(tmpdir(), "outrigger-"));
      const file = join(folder.path, "dot.png");
      await writeFile(file, picture);
      await proveContent(column, [imagePart(file)], [shown("image", pictureUrl)], [folder.path]);
    },
  },
  {
    title: "A local file outside the allowed folders is refused",
    async prove(column) {
      await using folder = await mkdtempDisposable(join(tmpdir(), "outrigger-"));
      const file = join(folder.path, "dot.png");
      await writeFile(file, picture);
      await proveRefusal(column, imagePart(file), "messages[0].content[0].image.url");
    },
  },
  {
    title: "Text and images in one message, in order",
    prove: (column) =>
      proveContent(
        column,
        [textPart("This one,"), imagePart(picture), textPart("or that one?"), imagePart(PHOTO)],
        [said("This one,"), shown("image", pictureUrl), said("or that one?"), shown("image", PHOTO)],
      ),
  },
  {
    title: "Document from bytes",
    prove: (column) => proveContent(column, [documentPart(pdf)], [shown("document", pdfUrl)]),
  },
  {
    title: "Audio: taken, or refused by name",
    prove: (column) =>
      TAKES_AUDIO.includes(column.name)
        ? proveContent(column, [soundPart], [shown("audio", soundUrl)])
        : proveRefusal(column, soundPart, "messages[0].content[0].audio"),
  },
  {
    title: "Tool calls and results go back as they were",
    async prove(column) {
      await using stage = await setStage("sim-tools:calls=2,preamble=1");
      const messages = [userMessage("What is the weather in Paris and in Osaka?")];
      const asked = await stage.client.complete(requestTo(column, { messages, tools: [weatherTool] }));
      const [paris, osaka] = toolCallsOf(asked);
      const results = [
        toolResult({ toolCallId: osaka?.id ?? "", content: "The station is down.", isError: true }),
        toolResult({ toolCallId: paris?.id ?? "", content: [textPart("Rain, see:"), imagePart(picture)] }),
      ];
      const all = [...messages, messageOf(asked), ...results];
      const answer = await stage.client.complete(requestTo(column, { messages: all, tools: [weatherTool] }));
      const { facts } = column.read(stage.bodyAt());
      const calls = facts.flatMap((fact) => (fact.kind === "call" ? [fact] : []));
      const given = facts.flatMap((fact) => (fact.kind === "result" ? [fact] : []));
      expect(facts).toContainEqual({ kind: "text", speaker: "assistant", text: textOf(asked) });
      expect(calls.map((call) => call.arguments)).toEqual(
        [paris, osaka].map((call) => JSON.parse(call?.input.value ?? "")),
      );
      const textFor = (place: number) => given.find(({ id }) => id === calls[place]?.id)?.text;
      expect(textFor(0)).toBe("Rain, see:");
      expect(textFor(1)).toMatch(/^(The tool failed: )?The station is down\.$/);
      expect(JSON.stringify(facts)).toContain(pictureUrl);
      expect(textOf(answer)).toContain("The station is down.");
    },
  },
  {
    title: "Thinking goes back as it came, its signature with it",
    prove: (column) => proveThinking(column, "sim-reasoning:rounds=2"),
  },
  {
    title: "Redacted thinking goes back verbatim",
    // Chat servers have none but the encrypted details of OpenRouter.
    prove: (column) => proveThinking(column, "sim-reasoning:rounds=2,redacted=1,reasoning_field=details"),
  },
  {
    title: "Thinking goes back in the field that it came in",
    only: ["compatible"],
    async prove(column) {
      for (const field of ["reasoning_content", "reasoning", "details", "chunks"]) {
        await proveThinking(column, `sim-reasoning:rounds=2,reasoning_field=${field}`);
      }
    },
  },
]);

const PHOTO = "https://example.com/harbour.png";

/** Wire formats that have sounds. */
const TAKES_AUDIO: readonly ColumnName[] = ["gemini", "compatible"];

function said(text: string): Fact {
  return { kind: "text", speaker: "user", text };
}

function shown(kind: "image" | "document" | "audio", source: string): Fact {
  return { kind, speaker: "user", source };
}

/** Sends a message with such content; the provider takes it, and has it as expected. */
async function proveContent(
  column: Column,
  content: readonly PartInit[],
  expected: readonly Fact[],
  allowFilesUnder: readonly string[] = [],
): Promise<void> {
  await using stage = await setStage("sim-text", { apiKey: "test-key", allowFilesUnder });
  const messages = [userMessage([...content, textPart("What is it?")])];
  const response = await stage.client.complete(requestTo(column, { messages }));
  const attached = expected.filter(({ kind }) => kind !== "text").length;
  expect(column.read(stage.bodyAt()).facts).toEqual([...expected, said("What is it?")]);
  expect(textOf(response)).toContain(`The request has ${attached} attachment(s)`);
  expect(response.warnings).toEqual([]);
}

/** Sends a message with a part that is refused before anything is sent. */
async function proveRefusal(column: Column, part: PartInit, field: string): Promise<void> {
  await using stage = await setStage();
  const error = await failureOf(() =>
    stage.client.complete(requestTo(column, { messages: [userMessage(part)] })),
  );
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect((error as InvalidRequestError).violations.map((violation) => violation.field)).toEqual([field]);
  expect(stage.requests).toHaveLength(0);
}

/** Lets the model think between tool calls; the provider takes all of its thinking back, and finds all of it. */
async function proveThinking(column: Column, script: string): Promise<void> {
  await using stage = await setStage(script);
  const messages = [userMessage("What is the weather in Paris?")];
  const question = { messages, tools: [weatherTool], reasoningEffort: "high" };
  const { steps } = await runTools(stage.client, column, question, "stream");
  expect(steps).toHaveLength(3);
  const states = steps.slice(0, -1).flatMap((step) => statesIn(messageOf(step)));
  const returned = JSON.stringify(stage.bodyAt());
  expect(states.length).toBeGreaterThanOrEqual(2);
  for (const state of states) expect(returned).toContain(state);
}

/** What only the provider understands of a message: texts too long to be there by chance. */
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
