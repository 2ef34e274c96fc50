/**
 * Our messages -> `system` and `messages` (provider documentation: "Create a message"). The
 * same history gives the same blocks in every turn: nothing is numbered, dated or made up.
 */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import { type ContentPart, type Message, Role, type ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { textIn } from "../../kit/json/json.ts";
import { sourceTextOf } from "../../kit/json/json-source.ts";
import { AssistantBlocks } from "./assistant.ts";
import type { InputContext } from "./context.ts";
import { ToolIds } from "./tool-call-ids.ts";
import { arrangeTurns, type Turn, turnOf } from "./turns.ts";
import { systemBlocks, userBlocks } from "./user-content.ts";
import type { Block, WireMessage } from "./wire.ts";

/** The conversation in the provider's words. */
export interface Conversation {
  /** Blocks of the leading system and developer messages. */
  readonly system: readonly Block[];
  readonly messages: readonly WireMessage[];
  /** The container in which the provider's code waits for the results of its tool calls. */
  readonly container: string | undefined;
}

/** Translates the conversation. Throws InvalidRequestError naming what the API has no form for. */
export async function toConversation(context: InputContext): Promise<Conversation> {
  const { messages } = context.request;
  const firstSpoken = messages.findIndex(({ role }) => !isInstruction(role));
  const leading = firstSpoken < 0 ? messages.length : firstSpoken;
  const system = messages
    .slice(0, leading)
    .flatMap(({ content }, index) => systemBlocks(content, `messages[${index}].content`));
  const reader = new TurnReader(context);
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    noteName(message, `messages[${index}]`, context.loss);
    if (index >= leading) turns.push(await reader.read(message, `messages[${index}]`));
  }
  const arranged = arrangeTurns(turns, context.traits.laterSystemMessages, context.loss);
  checkEnd(arranged, context.traits);
  return { system, messages: arranged.flatMap(wireMessage), container: reader.container };
}

function isInstruction(role: Role): boolean {
  return role === Role.SYSTEM || role === Role.DEVELOPER;
}

function noteName({ name, role }: Message, field: string, loss: LossReport): void {
  if (name === "" || role === Role.TOOL) return;
  loss.lose(
    `${field}.name`,
    "unsupported_setting",
    "the Messages API takes no names of speakers; it was left out",
  );
}

/** Reads messages as turns, one after the other. */
class TurnReader {
  readonly #context: InputContext;
  readonly #ids: ToolIds;
  /** Toolsets by the id of the call, for its result. */
  readonly #toolsets = new Map<string, string>();
  /** The container of the latest assistant message. */
  container: string | undefined;

  constructor(context: InputContext) {
    this.#context = context;
    this.#ids = new ToolIds(context.loss);
  }

  async read(message: Message, field: string): Promise<Turn> {
    const { content } = message;
    switch (message.role) {
      case Role.USER:
        return turnOf({
          role: "user",
          field,
          content: await userBlocks(content, `${field}.content`, this.#context),
        });
      case Role.TOOL:
        return this.#readResults(message, field);
      case Role.ASSISTANT:
        return this.#readAssistant(content, field);
      case Role.SYSTEM:
      case Role.DEVELOPER:
        return turnOf({ role: "system", field, content: systemBlocks(content, `${field}.content`) });
      default:
        throw invalidField(`${field}.role`, `expected a role of the contract, found ${message.role}`);
    }
  }

  async #readAssistant(content: readonly ContentPart[], field: string): Promise<Turn> {
    const blocks = new AssistantBlocks(this.#context, this.#ids);
    for (const [index, part] of content.entries()) await blocks.add(part, `${field}.content[${index}]`);
    this.container = blocks.container;
    for (const [id, toolset] of blocks.toolsets) this.#toolsets.set(id, toolset);
    const { content: own, pictures, calls } = blocks;
    return turnOf({ role: "assistant", field, content: own, pictures, calls });
  }

  /** A message of role TOOL: its results, or one result that is all of it. */
  async #readResults({ content, toolCallId }: Message, field: string): Promise<Turn> {
    if (content.every(({ part }) => part.case !== "toolResult")) {
      const whole = { toolCallId, content, isError: false };
      return turnOf({ role: "user", field, ...(await this.#readResult(whole, field)) });
    }
    const turns: Turn[] = [];
    for (const [index, part] of content.entries())
      turns.push(await this.#readResultPart(part, `${field}.content[${index}]`));
    return turnOf({
      role: "user",
      field,
      results: turns.flatMap(({ results }) => results),
      content: turns.flatMap(({ content: beside }) => beside),
      answers: turns.flatMap(({ answers }) => answers),
    });
  }

  async #readResultPart(whole: ContentPart, field: string): Promise<Turn> {
    const { part } = whole;
    if (part.case === "toolResult")
      return turnOf({ role: "user", field, ...(await this.#readResult(part.value, `${field}.tool_result`)) });
    return turnOf({ role: "user", field, content: await userBlocks([whole], field, this.#context) });
  }

  async #readResult(
    { toolCallId, content, isError }: Pick<ToolResult, "toolCallId" | "content" | "isError">,
    field: string,
  ): Promise<Pick<Turn, "results" | "answers">> {
    const id = this.#ids.ofResult(toolCallId);
    const toolset = this.#toolsets.get(id);
    const blocks = await userBlocks(content, `${field}.content`, this.#context);
    const result: Block = {
      type: "tool_result",
      tool_use_id: id,
      ...(blocks.length === 0 ? {} : { content: blocks }),
      ...(isError ? { is_error: true } : {}),
      ...(toolset === undefined ? {} : { toolset_name: toolset }),
    };
    return { results: [result], answers: [{ id, field }] };
  }
}

/**
 * Where the assistant has the last word, the model goes on from it: a text, as far as the model
 * takes that (provider documentation: "Prefill not supported"), or a turn that the provider
 * paused, which ends in a block of the provider's own. Thinking is no end.
 */
function checkEnd(turns: readonly Turn[], { prefill }: ModelTraits): void {
  const last = turns.at(-1);
  const end = last?.content.at(-1);
  if (last?.role !== "assistant" || end === undefined || sourceTextOf(end) !== undefined) return;
  if (prefill && end.type === "text") return;
  const found =
    end.type === "text" ? "text of the assistant, from which the model does not go on" : "thinking";
  throw invalidField(last.field, `expected a message of the user or a tool at the end, found ${found}`);
}

function wireMessage({ role, results, content }: Turn, index: number, turns: readonly Turn[]): WireMessage[] {
  const isPrefill = role === "assistant" && index === turns.length - 1;
  const blocks = [...results, ...(isPrefill ? withoutTrailingSpace(content) : content)];
  return blocks.length === 0 ? [] : [{ role, content: blocks }];
}

/** The API refuses white space at the end of a final assistant message. */
function withoutTrailingSpace(content: readonly Block[]): readonly Block[] {
  const last = content.at(-1);
  if (last?.type !== "text") return content;
  return [...content.slice(0, -1), { ...last, text: textIn(last.text).trimEnd() }];
}
