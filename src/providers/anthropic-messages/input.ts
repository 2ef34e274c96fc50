/**
 * Our messages -> `system` and `messages` (provider documentation: "Create a message"). The
 * same history gives the same blocks in every turn: no counters, dates or random ids.
 */
import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField } from "../../core/errors.ts";
import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import { ToolCallIdMapper, type ToolCallIdRule } from "../../kit/adapter/tool-call-id-mapper.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import { textIn } from "../../kit/json/json.ts";
import { getSourceText } from "../../kit/json/json-source.ts";
import type { MessageRole, TextBlockParam } from "../../wire/anthropic-messages/request.ts";
import { toAssistantContent } from "./assistant.ts";
import type { UsedContainer } from "./container.ts";
import type { RequestBlock, RequestContext } from "./context.ts";
import { toToolResults } from "./tool-results.ts";
import { arrangeTurns, type Turn, toTurn } from "./turns.ts";
import { toSystemContent, toUserContent } from "./user-content.ts";

/** A message in the form that is sent. */
export interface RequestMessage {
  readonly role: MessageRole;
  readonly content: readonly RequestBlock[];
}

/** The conversation in the form that is sent. */
export interface Conversation {
  /** Blocks of the system and developer messages before the first other message. */
  readonly system: readonly TextBlockParam[];
  readonly messages: readonly RequestMessage[];
  /** The container in which the provider last ran code. */
  readonly container: UsedContainer | undefined;
}

/** Translates the conversation. Throws InvalidRequestError naming the part that the API has no form for. */
export async function toConversation(context: RequestContext): Promise<Conversation> {
  const { messages } = context.request;
  const first = messages.findIndex(({ role }) => !isInstruction(role));
  const instructions = first < 0 ? messages.length : first;
  const system = messages
    .slice(0, instructions)
    .flatMap(({ content }, index) => toSystemContent(content, `messages[${index}].content`));
  const reader = new TurnReader(context);
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    noteName(message, `messages[${index}]`, context.loss);
    if (index >= instructions) turns.push(await reader.read(message, `messages[${index}]`));
  }
  const arranged = arrangeTurns(turns, context.traits.laterSystemMessages, context.loss);
  checkEnd(arranged, context.traits);
  return { system, messages: arranged.flatMap(toMessage), container: reader.container };
}

function isInstruction(role: Role): boolean {
  return role === Role.SYSTEM || role === Role.DEVELOPER;
}

function noteName({ name, role }: Message, field: string, loss: LossReport): void {
  if (name === "" || role === Role.TOOL) return;
  loss.lose(
    `${field}.name`,
    "unsupported_setting",
    "the Messages API does not support names of participants; it was left out",
  );
}

/** Reads messages as turns, in order. */
class TurnReader {
  readonly #context: RequestContext;
  readonly #ids: ToolCallIdMapper;
  /** Toolsets by the id of the call on the wire, for its result. */
  readonly #toolsets = new Map<string, string>();
  /** The container of the latest assistant message that names one. */
  container: UsedContainer | undefined;

  constructor(context: RequestContext) {
    this.#context = context;
    this.#ids = new ToolCallIdMapper(TOOL_CALL_ID_RULE, context.loss);
  }

  async read(message: Message, field: string): Promise<Turn> {
    const { content } = message;
    switch (message.role) {
      case Role.USER:
        return toTurn({
          role: "user",
          field,
          content: await toUserContent(content, `${field}.content`, this.#context),
        });
      case Role.TOOL:
        return toToolResults(message, field, this.#context, { ids: this.#ids, toolsets: this.#toolsets });
      case Role.ASSISTANT:
        return this.#readAssistant(message, field);
      case Role.SYSTEM:
      case Role.DEVELOPER:
        return toTurn({ role: "system", field, content: toSystemContent(content, `${field}.content`) });
      default:
        throw invalidField(`${field}.role`, `expected a role of the contract, found ${message.role}`);
    }
  }

  async #readAssistant({ content: parts }: Message, field: string): Promise<Turn> {
    const assistant = await toAssistantContent(parts, `${field}.content`, this.#context, this.#ids);
    const { content, images, calls, toolsets, container } = assistant;
    this.container = container ?? withoutWaiting(this.container);
    for (const [id, toolset] of toolsets) this.#toolsets.set(id, toolset);
    return toTurn({ role: "assistant", field, content, images, calls });
  }
}

/** Marks a container as no longer waiting: by a later answer, its code has got its results. */
function withoutWaiting(container: UsedContainer | undefined): UsedContainer | undefined {
  return container && { ...container, isWaiting: false };
}

/**
 * Checks the end of the conversation. If the last message is the assistant's, the model continues it: a text, if the
 * model accepts that (provider documentation: "Prefill not supported"), or a turn that the provider paused, which ends
 * in a block of the provider. A turn cannot end in thinking.
 */
function checkEnd(turns: readonly Turn[], { prefill }: ModelTraits): void {
  const last = turns.at(-1);
  const end = last?.content.at(-1);
  if (last?.role !== "assistant" || end === undefined || getSourceText(end) !== undefined) return;
  if (prefill && end.type === "text") return;
  const found = end.type === "text" ? "text of the assistant, which the model does not continue" : "thinking";
  throw invalidField(last.field, `expected a message of the user or a tool at the end, found ${found}`);
}

function toMessage(
  { role, results, content }: Turn,
  index: number,
  turns: readonly Turn[],
): RequestMessage[] {
  const isPrefill = role === "assistant" && index === turns.length - 1;
  const blocks = [...results, ...(isPrefill ? withoutTrailingSpace(content) : content)];
  return blocks.length === 0 ? [] : [{ role, content: blocks }];
}

/** The API refuses white space at the end of a final assistant message. */
function withoutTrailingSpace(content: readonly RequestBlock[]): readonly RequestBlock[] {
  const last = content.at(-1);
  if (last?.type !== "text") return content;
  return [...content.slice(0, -1), { ...last, text: textIn(last.text).trimEnd() }];
}

/** Ids of tool calls that the API accepts (provider documentation: "Create a message", `tool_use`, `id`). */
const TOOL_CALL_ID_RULE: ToolCallIdRule = {
  pattern: /^[a-zA-Z0-9_-]+$/,
  prefix: "toolu_",
  length: 24,
};
