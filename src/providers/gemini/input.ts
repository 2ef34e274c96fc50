/**
 * Our messages -> `contents` and `systemInstruction` (provider documentation: "Content"). The same history gives the
 * same contents in every request, so that the provider's prompt cache recognizes the beginning.
 */

import { invalidField } from "../../core/errors.ts";
import { textOf } from "../../core/message.ts";
import { type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import type { Content } from "../../wire/gemini/request.ts";
import { toAssistantContent } from "./assistant.ts";
import type { RequestContext } from "./context.ts";
import type { MediaContext } from "./media.ts";
import { collectResults, ToolResults } from "./tool-results.ts";
import { toUserContent } from "./user-content.ts";

/** The conversation in the provider's terms. */
export interface Conversation {
  /** Text of the leading system and developer messages; undefined if there is none. */
  readonly system: string | undefined;
  readonly contents: readonly Content[];
}

/** Translates the conversation. Throws InvalidRequestError naming the part that the API has no form for. */
export async function toConversation(context: RequestContext): Promise<Conversation> {
  const { messages } = context.request;
  const leading = countLeadingInstructions(messages);
  const conversation = new ContentWriter(context);
  for (const [index, message] of messages.entries())
    if (index >= leading) await conversation.add(message, `messages[${index}]`);
  const texts = messages
    .slice(0, leading)
    .map(textOf)
    .filter((text) => text !== "");
  return { system: texts.length === 0 ? undefined : texts.join("\n\n"), contents: conversation.end() };
}

/**
 * Counts the messages that go into `systemInstruction`: the leading system and developer messages, unless there are no
 * others, since the API requires at least one content. Later ones stay in their place: moving them would change their
 * meaning.
 */
function countLeadingInstructions(messages: readonly Message[]): number {
  const first = messages.findIndex(({ role }) => role !== Role.SYSTEM && role !== Role.DEVELOPER);
  return Math.max(first, 0);
}

/** Writes the contents of a conversation, message by message. */
class ContentWriter {
  readonly #context: RequestContext;
  readonly #media: MediaContext;
  readonly #contents: Content[] = [];
  readonly #results: ToolResults;

  constructor(context: RequestContext) {
    this.#context = context;
    this.#media = {
      media: context.media,
      loss: context.loss,
      acceptsResolution: context.traits.toolResultMedia,
    };
    this.#results = new ToolResults(context, this.#media);
  }

  /** Adds a message. @param field Path of the message, for errors. */
  async add(message: Message, field: string): Promise<void> {
    this.#checkName(message, field);
    switch (message.role) {
      case Role.ASSISTANT:
        return this.#addAssistant(message, field);
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

  /** Returns the contents. Throws if a tool call has no result, or the model does not accept the last message. */
  end(): Content[] {
    this.#results.end();
    const last = this.#contents.at(-1);
    if (last === undefined) throw invalidField("messages", "expected a message with content, found none");
    if (last.role === "model" && !this.#context.traits.prefill) {
      const expected = "expected a user's message or a tool's result last";
      throw invalidField("messages", `${expected}: the model does not continue an assistant message`);
    }
    return this.#contents;
  }

  #checkName({ name, role }: Message, field: string): void {
    if (name === "" || role === Role.TOOL) return;
    const message = "the Gemini API does not support names of participants; it was left out";
    this.#context.loss.lose(`${field}.name`, "unsupported_setting", message);
  }

  /**
   * Adds an assistant message, then a content for the results of its calls: the API requires the results directly after
   * it.
   */
  async #addAssistant({ content }: Message, field: string): Promise<void> {
    const { parts, calls } = await toAssistantContent(
      content,
      `${field}.content`,
      this.#context,
      this.#media,
    );
    if (parts.length > 0) this.#contents.push({ role: "model", parts });
    if (calls.length > 0) this.#contents.push(this.#results.expect(calls));
  }

  async #addResults(message: Message, field: string): Promise<void> {
    for (const result of collectResults(message, field)) await this.#results.add(result);
  }

  async #addUser({ content }: Message, field: string): Promise<void> {
    const parts = await toUserContent(content, `${field}.content`, this.#context, this.#media);
    if (parts.length > 0) this.#contents.push({ role: "user", parts });
    // The native parts of other providers are left out with a separate warning.
    else if (!content.some(({ part }) => part.case === "native")) this.#leaveOut(field);
  }

  /** Another provider may have taken the message earlier in the conversation. @param field Path of the message. */
  #leaveOut(field: string): void {
    this.#context.loss.note(
      field,
      "unsupported_content",
      "the Gemini API does not accept empty messages; it was left out",
    );
  }

  #addLaterInstructions(message: Message, field: string): void {
    const text = textOf(message);
    if (text === "") return this.#leaveOut(field);
    const loss =
      "the Gemini API accepts instructions only at the beginning; they were sent as text of the user";
    this.#context.loss.lose(field, "converted_content", loss);
    this.#contents.push({ role: "user", parts: [{ text: `${SYSTEM_OPENING}${text}${SYSTEM_CLOSING}` }] });
  }
}

// Tags around instructions inside the conversation. Constant, so that the prompt cache recognizes them.
const SYSTEM_OPENING = "<system_message>\n";
const SYSTEM_CLOSING = "\n</system_message>";
