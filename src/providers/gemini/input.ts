/**
 * Our messages -> `contents` and `systemInstruction` (provider documentation: "Content").
 * Contents come in the order of the conversation, the same for the same history in every turn,
 * so that the provider's prompt cache finds the beginning again.
 */

import { invalidField } from "../../core/errors.ts";
import { textOf } from "../../core/message.ts";
import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import { ModelTurn } from "./assistant.ts";
import type { InputContext } from "./context.ts";
import type { MediaContext } from "./media.ts";
import { type Answer, answersIn, ToolResults } from "./tool-results.ts";
import { toolOutput, userParts } from "./user-content.ts";
import type { Content } from "./wire.ts";

/** The conversation in the provider's words. */
export interface Input {
  /** Text of the leading system and developer messages; undefined where there is none. */
  readonly system: string | undefined;
  readonly contents: readonly Content[];
}

/** Translates the conversation. Throws InvalidRequestError naming the part that the API has no form for. */
export async function toInput(context: InputContext): Promise<Input> {
  const { messages } = context.request;
  const leading = leadingInstructions(messages);
  const conversation = new Conversation(context);
  for (const [index, message] of messages.entries())
    if (index >= leading) await conversation.add(message, `messages[${index}]`);
  const texts = messages
    .slice(0, leading)
    .map(textOf)
    .filter((text) => text !== "");
  return { system: texts.length === 0 ? undefined : texts.join("\n\n"), contents: conversation.end() };
}

/**
 * How many messages go into `systemInstruction`: the leading system and developer ones, unless
 * nothing else is there: the API wants at least one content. Later ones stay in their place,
 * since moving them would change what they mean.
 */
function leadingInstructions(messages: readonly Message[]): number {
  const first = messages.findIndex(({ role }) => role !== Role.SYSTEM && role !== Role.DEVELOPER);
  return Math.max(first, 0);
}

/** Collects the contents of a conversation, message by message. */
class Conversation {
  readonly #context: InputContext;
  readonly #media: MediaContext;
  readonly #contents: Content[] = [];
  readonly #results = new ToolResults();

  constructor(context: InputContext) {
    this.#context = context;
    this.#media = {
      media: context.media,
      loss: context.loss,
      takesResolution: context.traits.toolResultMedia,
    };
  }

  /** Adds a message. @param field Its path, for errors. */
  async add(message: Message, field: string): Promise<void> {
    this.#checkName(message, field);
    switch (message.role) {
      case Role.ASSISTANT:
        return this.#addModel(message, field);
      case Role.TOOL:
        return this.#addResults(message, field);
      case Role.USER:
        return this.#addUser(message, field);
      case Role.SYSTEM:
      case Role.DEVELOPER:
        return this.#addLaterInstructions(message, field);
      default:
        throw invalidField(`${field}.role`, `expected a role of the contract, found ${message.role}`);
    }
  }

  /** The contents. Throws where tool calls have no results, or the model does not take the conversation as it ends. */
  end(): Content[] {
    this.#results.end();
    const last = this.#contents.at(-1);
    if (last === undefined) throw invalidField("messages", "expected a message with content, found none");
    if (last.role === "model" && !this.#context.traits.prefill) {
      const expected = "expected a user's message or a tool's result last";
      throw invalidField("messages", `${expected}: the model does not go on from a message of its own`);
    }
    return this.#contents;
  }

  #checkName({ name, role }: Message, field: string): void {
    if (name === "" || role === Role.TOOL) return;
    const message = "the Gemini API takes no names of speakers; it was left out";
    this.#context.loss.lose(`${field}.name`, "unsupported_setting", message);
  }

  /** A turn of the model, then a place for the results of its calls: the API wants them right behind it. */
  async #addModel({ content }: Message, field: string): Promise<void> {
    const turn = new ModelTurn(this.#context, this.#media);
    for (const [index, part] of content.entries()) await turn.add(part, `${field}.content[${index}]`);
    if (turn.parts.length > 0) this.#contents.push({ role: "model", parts: turn.parts });
    if (turn.calls.length > 0) this.#contents.push(this.#results.expect(turn.calls));
  }

  async #addResults(message: Message, field: string): Promise<void> {
    for (const answer of answersIn(message, field)) await this.#addResult(answer);
  }

  async #addResult(answer: Answer): Promise<void> {
    const output = await toolOutput(answer, this.#context, this.#media);
    this.#results.answer(answer.id, output, this.#context.traits.toolResultMedia, answer.field);
  }

  async #addUser({ content }: Message, field: string): Promise<void> {
    const parts = await userParts(content, `${field}.content`, this.#context, this.#media);
    if (parts.length > 0) this.#contents.push({ role: "user", parts });
    // Native parts of other providers are left out, and with them a message of nothing else.
    else if (!content.some(({ part }) => part.case === "native"))
      throw invalidField(`${field}.content`, "expected at least one part that is not empty");
  }

  #addLaterInstructions(message: Message, field: string): void {
    const loss = "the Gemini API takes instructions only at the beginning; they were sent as the user's text";
    this.#context.loss.lose(field, "converted_content", loss);
    const text = textOf(message);
    if (text === "") throw invalidField(`${field}.content`, "expected text that is not empty");
    this.#contents.push({ role: "user", parts: [{ text: `${SYSTEM_OPENING}${text}${SYSTEM_CLOSING}` }] });
  }
}

// Around instructions inside the conversation. Constant, so that the prompt cache finds them again.
const SYSTEM_OPENING = "<system_message>\n";
const SYSTEM_CLOSING = "\n</system_message>";
