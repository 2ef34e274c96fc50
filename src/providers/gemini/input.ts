/**
 * Our messages -> `contents` and `systemInstruction` (provider documentation: "Content").
 * Contents come in the order of the conversation, the same for the same history in every turn,
 * so that the provider's prompt cache finds the beginning again.
 */
import { type ContentPart, type Message, Role, type ToolResult } from "../../gen/outrigger/v1/message_pb.ts";
import { parseObjectField } from "../../kit/json.ts";
import { invalidField } from "../../spec/errors.ts";
import { textOf } from "../../spec/message.ts";
import type { InputContext } from "./context.ts";
import { type MediaContext, mediaPart } from "./media.ts";
import { ModelTurn } from "./model-turn.ts";
import { ToolResults } from "./tool-results.ts";
import { type Content, type Part, WIRE_NAME } from "./wire.ts";

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
        return this.#addUser(await this.#userParts(message.content, `${field}.content`), field);
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
    const { toolCallId, content } = message;
    // A message without such parts is itself the answer to one call.
    if (!content.some(({ part }) => part.case === "toolResult"))
      return this.#addResult({ toolCallId, content, isError: false }, field);
    for (const [index, { part }] of content.entries()) {
      const place = `${field}.content[${index}]`;
      if (part.case !== "toolResult")
        throw invalidField(
          place,
          `expected tool results and nothing beside them, found ${part.case ?? "nothing"}`,
        );
      const id = part.value.toolCallId || toolCallId;
      await this.#addResult({ ...part.value, toolCallId: id }, `${place}.tool_result`);
    }
  }

  async #addResult(result: Result, field: string): Promise<void> {
    const { traits, loss } = this.#context;
    const texts: string[] = [];
    const media: Part[] = [];
    for (const [index, { part }] of result.content.entries()) {
      const place = `${field}.content[${index}]`;
      if (part.case === "text") texts.push(part.value);
      else if (part.case === "image" || part.case === "document")
        media.push(await mediaPart(part, `${place}.${part.case}`, this.#media));
      else
        throw invalidField(place, `expected text, an image or a document, found ${part.case ?? "nothing"}`);
    }
    if (media.length > 0 && !traits.toolResultMedia)
      loss.lose(
        field,
        "converted_content",
        "the model takes no media in a tool's result; they were sent behind it",
      );
    const output = { text: texts.join("\n"), isError: result.isError, media };
    this.#results.answer(result.toolCallId, output, traits.toolResultMedia, field);
  }

  #addUser(parts: readonly Part[], field: string): void {
    if (parts.length === 0)
      throw invalidField(`${field}.content`, "expected at least one part that is not empty");
    this.#contents.push({ role: "user", parts });
  }

  async #userParts(content: readonly ContentPart[], field: string): Promise<Part[]> {
    const parts: Part[] = [];
    for (const [index, { part }] of content.entries()) {
      const place = `${field}[${index}]`;
      switch (part.case) {
        case "text":
          // The API refuses texts without a letter.
          if (part.value !== "") parts.push({ text: part.value });
          break;
        case "image":
        case "audio":
        case "document":
          parts.push(await mediaPart(part, `${place}.${part.case}`, this.#media));
          break;
        case "native":
          parts.push(this.#ownNative(part.value.provider, part.value.dataJson, place));
          break;
        default:
          throw invalidField(
            place,
            `expected text, an image, audio or a document, found ${part.case ?? "nothing"}`,
          );
      }
    }
    return parts;
  }

  #ownNative(provider: string, dataJson: string, field: string): Part {
    if (provider === this.#context.provider || provider === WIRE_NAME)
      return parseObjectField(dataJson, `${field}.native.data_json`);
    throw invalidField(`${field}.native`, "expected a part of this provider, found one of another");
  }

  #addLaterInstructions(message: Message, field: string): void {
    const loss = "the Gemini API takes instructions only at the beginning; they were sent as the user's text";
    this.#context.loss.lose(field, "converted_content", loss);
    const text = textOf(message);
    this.#addUser(text === "" ? [] : [{ text: `${SYSTEM_OPENING}${text}${SYSTEM_CLOSING}` }], field);
  }
}

// Around instructions inside the conversation. Constant, so that the prompt cache finds them again.
const SYSTEM_OPENING = "<system_message>\n";
const SYSTEM_CLOSING = "\n</system_message>";

type Result = Pick<ToolResult, "toolCallId" | "content" | "isError">;
