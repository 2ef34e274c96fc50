/** A conversation -> the prompt for a program. */
import { invalidField } from "../../core/errors.ts";
import { type ContentPart, type Message, Role } from "../../gen/outrigger/v1/message_pb.ts";
import { ResponseFormat_Type as Format, type Request } from "../../gen/outrigger/v1/request_pb.ts";
import { replaceForeignPart } from "../../kit/adapter/foreign-state.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { ImageFiles } from "./files.ts";

/** The context for translating one request. */
export interface PromptContext {
  readonly request: Request;
  /** Name under which the program is registered. */
  readonly provider: string;
  readonly loss: LossReport;
  /** Takes the images of the request. Undefined if the program takes none. */
  readonly images: ImageFiles | undefined;
  /** Whether the program gets the schema of its answer in another way. */
  readonly hasSchema: boolean;
}

/** One message as text. */
interface Turn {
  readonly role: Role;
  readonly text: string;
}

/**
 * Returns the prompt: the instructions, then the user's message. A longer conversation is a transcript in which each
 * message begins with its author's role.
 */
export function toPrompt(context: PromptContext): string {
  const { request } = context;
  const turns = request.messages
    .map((message, index) => toTurn(message, `messages[${index}]`, context))
    .filter(({ text }) => text !== "");
  const end = turns.findIndex(({ role }) => !isInstruction(role));
  const instructions = turns.slice(0, end < 0 ? turns.length : end).map(({ text }) => text);
  const conversation = turns.slice(instructions.length);
  const [only] = conversation;
  const isQuestion = conversation.length === 1 && only?.role === Role.USER;
  const texts = isQuestion ? [only.text] : conversation.map(toTranscript);
  return [...instructions, ...formatInstruction(context), ...texts].join("\n\n");
}

function isInstruction(role: Role): boolean {
  return role === Role.SYSTEM || role === Role.DEVELOPER;
}

function toTranscript({ role, text }: Turn): string {
  return `${AUTHORS.get(role) ?? "User"}:\n${text}`;
}

const AUTHORS: ReadonlyMap<Role, string> = new Map([
  [Role.SYSTEM, "System"],
  [Role.DEVELOPER, "System"],
  [Role.ASSISTANT, "Assistant"],
  [Role.TOOL, "Tool"],
]);

function toTurn({ role, content }: Message, field: string, context: PromptContext): Turn {
  const texts = content.map((part, index) => toPartText(part, `${field}.content[${index}]`, context));
  return { role, text: texts.filter((text) => text !== "").join("\n") };
}

/** Returns a part as text; empty if there is no text for it. */
function toPartText(whole: ContentPart, field: string, context: PromptContext): string {
  const { part } = whole;
  const { loss } = context;
  switch (part.case) {
    case "text":
      return part.value;
    case "toolCall":
      loss.lose(field, "converted_content", "a program does not accept tool calls; it was sent as text");
      return `Called the tool ${part.value.name} with: ${part.value.input.value ?? ""}`;
    case "toolResult": {
      loss.lose(field, "converted_content", "a program does not accept tool results; it was sent as text");
      const { content } = part.value;
      const texts = content.map((inner, index) =>
        toPartText(inner, `${field}.tool_result.content[${index}]`, context),
      );
      return `The tool returned: ${texts.join("\n")}`;
    }
    case "reasoning":
    case "native":
      return toStateText(whole, field, context);
    case "image": {
      const { images } = context;
      if (images === undefined)
        throw invalidField(`${field}.image`, "expected text: the program is configured without images");
      return `[image ${images.add(part.value, `${field}.image`)}]`;
    }
    case "audio":
    case "document":
      throw invalidField(
        `${field}.${part.case}`,
        "expected text or an image, since a program accepts nothing else",
      );
    default:
      throw invalidField(field, "expected text, found nothing");
  }
}

/**
 * Returns the text of reasoning and activities. A program does not get its earlier ones: each call starts a new
 * process.
 */
function toStateText(part: ContentPart, field: string, { request, provider, loss }: PromptContext): string {
  const isFromProgram = part.part.case === "native" && part.part.value.provider === provider;
  const isPlain = part.part.case === "reasoning" && part.providerState === undefined;
  if (isFromProgram || isPlain) {
    loss.note(
      field,
      "unsupported_content",
      "a program does not receive its earlier actions; it was left out",
    );
    return "";
  }
  const text = replaceForeignPart(part, request.foreignState, field, loss)?.part;
  return text?.case === "text" ? text.value : "";
}

/** Requests the response format in the prompt, if it cannot be enforced. */
function formatInstruction({ request, loss, hasSchema }: PromptContext): string[] {
  const { responseFormat: format } = request;
  if (hasSchema) return [];
  if (format?.type !== Format.JSON && format?.type !== Format.JSON_SCHEMA) return [];
  const unenforced = format.strict ? " and is not enforced" : "";
  const message = `a program has no setting for the response format; it was requested in the prompt${unenforced}`;
  loss.lose("response_format", "adjusted_setting", message);
  if (format.type === Format.JSON) return ["Answer with one JSON object and nothing else."];
  const sentence = "Answer with JSON that fits the following JSON Schema, and with nothing else:";
  return [`${sentence}\n${format.schemaJson}`];
}
