import type { Annotation, Message } from "../../src/wire/openai-chat/message.ts";
import { countCodePoints } from "../script/code-points.ts";
import type { ReasoningPart, RefusalPart, TextPart, Turn } from "../script/turn.ts";
import type { ChatCall } from "./chat-call.ts";
import { getReasoningDialect } from "./reasoning-dialect.ts";
import { numberedCalls, wholeCall } from "./tool-calls.ts";

/** Creates the message of a whole answer, for one of its choices. */
export function assistantMessage(turn: Turn, call: ChatCall, choice: number): Message {
  const calls = numberedCalls(turn, call.received.number, choice);
  const reasoning = getReasoning(turn);
  const shown = reasoning === undefined ? undefined : getReasoningDialect(call.options);
  return {
    role: "assistant",
    content: getContent(turn),
    refusal: toRefusal(turn)?.text ?? null,
    annotations: toAnnotations(turn, call),
    ...(reasoning === undefined ? {} : shown?.message(reasoning, getContent(turn))),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((each) => wholeCall(each, call.options)) }),
  };
}

/**
 * Returns the citations of an answer. OpenAI counts their indices in code points of the content, which at some servers
 * begins with the reasoning.
 */
export function toAnnotations(turn: Turn, call: ChatCall): Annotation[] {
  const text = toText(turn);
  const before = countCodePoints(reasoningInContent(turn, call));
  const citations = turn.parts.flatMap((part) => (part.kind === "text" ? part.citations : []));
  return citations.map(({ start, end, url, title }) => ({
    type: "url_citation",
    url_citation: {
      end_index: before + countCodePoints(text, end),
      start_index: before + countCodePoints(text, start),
      title,
      url,
    },
  }));
}

/** Returns the content before the text of the answer. */
function reasoningInContent(turn: Turn, { options }: ChatCall): string {
  const reasoning = getReasoning(turn);
  const { content } =
    reasoning === undefined ? {} : (getReasoningDialect(options)?.message(reasoning, "") ?? {});
  return typeof content === "string" ? content : "";
}

/** Returns the reasoning, unless it was cut off before its first word. */
function getReasoning(turn: Turn): ReasoningPart | undefined {
  const reasoning = turn.parts.filter((part) => part.kind === "reasoning");
  return reasoning.find((part) => part.paragraphs.length > 0);
}

function toRefusal(turn: Turn): RefusalPart | undefined {
  return turn.parts.find((part) => part.kind === "refusal");
}

/** Returns the content without reasoning: null if there is a tool call or a refusal instead. */
function getContent(turn: Turn): string | null {
  const hasOther = turn.parts.some((part) => part.kind === "tool_call" || part.kind === "refusal");
  return turn.parts.some((part) => part.kind === "text") || !hasOther ? toText(turn) : null;
}

function toText(turn: Turn): string {
  const texts = turn.parts.filter((part): part is TextPart => part.kind === "text");
  return texts.map((part) => part.text).join("");
}
