import { countCodePoints } from "../script/code-points.ts";
import type { ReasoningPart, RefusalPart, TextPart, Turn } from "../script/turn.ts";
import type { ChatCall } from "./chat-call.ts";
import { reasoningDialectOf } from "./reasoning-dialect.ts";
import { placeCalls, wholeCall } from "./tool-calls.ts";
import type { Fields } from "./wire.ts";

/** The message of a whole answer, for one of its choices. */
export function assistantMessage(turn: Turn, call: ChatCall, choice: number): Fields {
  const calls = placeCalls(turn, call.received.number, choice);
  const reasoning = reasoningOf(turn);
  const shown = reasoning === undefined ? undefined : reasoningDialectOf(call.options);
  return {
    role: "assistant",
    content: contentOf(turn),
    refusal: refusalOf(turn)?.text ?? null,
    annotations: annotationsOf(turn, call),
    ...(reasoning === undefined ? {} : shown?.message(reasoning, contentOf(turn))),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((each) => wholeCall(each, call.options)) }),
  };
}

/**
 * The citations of an answer. OpenAI counts their places in code points of the content, in which some servers have the
 * thinking, too.
 */
export function annotationsOf(turn: Turn, call: ChatCall): Fields[] {
  const text = textOf(turn);
  const before = countCodePoints(thinkingInContent(turn, call));
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

/** What stands in the content in front of the text of the answer. */
function thinkingInContent(turn: Turn, { options }: ChatCall): string {
  const reasoning = reasoningOf(turn);
  const { content } =
    reasoning === undefined ? {} : (reasoningDialectOf(options)?.message(reasoning, "") ?? {});
  return typeof content === "string" ? content : "";
}

/** What the model thought, unless it was cut off before it said anything. */
function reasoningOf(turn: Turn): ReasoningPart | undefined {
  const thoughts = turn.parts.filter((part) => part.kind === "reasoning");
  return thoughts.find((part) => part.paragraphs.length > 0);
}

function refusalOf(turn: Turn): RefusalPart | undefined {
  return turn.parts.find((part) => part.kind === "refusal");
}

/** The content without thinking: null where the answer says something else instead. */
function contentOf(turn: Turn): string | null {
  const isSilent = turn.parts.some((part) => part.kind === "tool_call" || part.kind === "refusal");
  return turn.parts.some((part) => part.kind === "text") || !isSilent ? textOf(turn) : null;
}

function textOf(turn: Turn): string {
  const texts = turn.parts.filter((part): part is TextPart => part.kind === "text");
  return texts.map((part) => part.text).join("");
}
