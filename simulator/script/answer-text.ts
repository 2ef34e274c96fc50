import type { Attachment, ToolResult } from "./prompt.ts";
import { createInstance, type JsonValue } from "./schema-instance.ts";
import { getInstanceSource, type ScriptInput } from "./script-input.ts";

/** Maximum number of characters of the question, and of one tool result, that an answer quotes. */
const maxQuoteLength = { question: 200, result: 1000 };

const remarks = [
  "This answer was written by a script, not by a model, so it costs nothing and says the same every time.",
  "The café by the harbour opens at seven; naïve façades and jalapeños test every encoding on the way.",
  "東京 and Ελλάδα are here so that a byte and a character are never taken for the same thing.",
  "Each word leaves the socket as a delta of its own, which is how a patient provider would send it.",
  "Ask the same question again and the beginning of the prompt will come from the cache.",
  "A tide table, a compass and a good outrigger are all that a small boat needs — the rest is weather.",
] as const;

const signOffs = ["Fair winds! 🚢🌊", "Until the next tide 🐚✨", "All hands ashore 👩‍🚀🎉"] as const;

/** Writes the text of an answer, in the format that the prompt asks for. The same prompt gives the same text. */
export function writeAnswer(input: ScriptInput): string {
  const { answerFormat } = input.prompt;
  if (answerFormat.type === "text") return writeProse(input);
  return JSON.stringify(
    answerFormat.type === "json_schema" ? instanceFor(input, answerFormat.schema) : freeJson(input),
  );
}

function instanceFor(input: ScriptInput, schema: unknown): JsonValue {
  return createInstance(schema, getInstanceSource(input));
}

function freeJson(input: ScriptInput): JsonValue {
  const { question, toolResults } = input.prompt;
  return {
    question: shorten(question, maxQuoteLength.question),
    answer: input.random.pick(remarks),
    results: toolResults.map((result) => shorten(result.text, maxQuoteLength.result)),
  };
}

function writeProse(input: ScriptInput): string {
  const { question, toolResults, attachments } = input.prompt;
  const paragraphs = [
    toolResults.length > 0 ? quoteResults(toolResults) : quoteQuestion(question),
    attachments.length > 0 ? nameAttachments(attachments) : "",
    `${input.random.pick(remarks)} ${input.random.pick(signOffs)}`,
  ];
  return paragraphs.filter(Boolean).join("\n\n");
}

function quoteQuestion(question: string): string {
  return question === ""
    ? "You asked nothing."
    : `You asked: “${shorten(question, maxQuoteLength.question)}”`;
}

function quoteResults(results: readonly ToolResult[]): string {
  const lines = results.map((result) => {
    const source = result.name === "" ? "the tool" : `\`${result.name}\``;
    return `- ${source} said “${shorten(result.text, maxQuoteLength.result)}”`;
  });
  return ["These are the results:", ...lines].join("\n");
}

function nameAttachments(attachments: readonly Attachment[]): string {
  const names = attachments.slice(0, 10).map((attachment) => `${attachment.kind} ${attachment.label}`);
  const more = attachments.length > names.length ? ` and ${attachments.length - names.length} more` : "";
  return `The request has ${attachments.length} attachment(s): ${names.join(", ")}${more}.`;
}

/** Shortens a text to a number of characters, without splitting a surrogate pair. */
function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = text.codePointAt(limit - 1) ?? 0;
  return `${text.slice(0, end > 0xffff ? limit - 1 : limit)}…`;
}
