/** Reads a body of the Chat Completions API (documentation: "Create chat completion"). */
import {
  type Author,
  type Counts,
  type Fact,
  type Json,
  nonEmptyString,
  number,
  object,
  objects,
  parseOrText,
  type Reading,
  string,
  textFacts,
  toResult,
} from "./facts.ts";

/** Reads a request body. */
export function readOpenAIChat(body: Json): Reading {
  return {
    facts: objects(body.messages).flatMap(readMessage),
    tools: objects(body.tools).map(({ function: tool }) => {
      const { name, description, parameters } = object(tool);
      return { name: string(name), description: string(description), schema: parameters };
    }),
    toolChoice:
      nonEmptyString(body.tool_choice) ?? nonEmptyString(object(object(body.tool_choice).function).name),
    answerSchema: object(object(body.response_format).json_schema).schema,
    effort: body.reasoning_effort,
  };
}

/** Reads the token counts of a whole answer (documentation: "The chat completion object", `usage`). */
export function countOpenAIChat(answer: Json): Counts {
  const usage = object(answer.usage);
  return {
    input: number(usage.prompt_tokens),
    output: number(usage.completion_tokens),
    reasoning: number(object(usage.completion_tokens_details).reasoning_tokens),
    cacheRead: number(object(usage.prompt_tokens_details).cached_tokens),
  };
}

/** Fields in which servers return the reasoning of a message. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_details"];

function readMessage(message: Json): Fact[] {
  const author = getAuthor(message.role);
  if (message.role === "tool") return [toResult(message.tool_call_id, readContent("user", message.content))];
  const reasoning = REASONING.filter((field) => message[field] !== undefined);
  return [
    ...reasoning.map((field): Fact => ({ kind: "state", block: { [field]: message[field] } })),
    ...readContent(author, message.content),
    ...textFacts(author, message.refusal),
    ...objects(message.images).map((image): Fact => ({ kind: "image", author, source: urlIn(image) })),
    ...objects(message.tool_calls).map(createCall),
  ];
}

function getAuthor(role: unknown): Author {
  if (role === "assistant" || role === "user") return role;
  return "system";
}

function createCall({ id, type, function: called, custom }: Json): Fact {
  const { name, arguments: given, input } = object(called ?? custom);
  const value = type === "custom" ? input : parseOrText(given);
  return { kind: "call", id: string(id), name: string(name), arguments: value };
}

function readContent(author: Author, content: unknown): Fact[] {
  if (typeof content === "string") return textFacts(author, content);
  return objects(content).flatMap((part): Fact[] => {
    switch (part.type) {
      case "text":
        return textFacts(author, part.text);
      case "image_url":
        return [{ kind: "image", author, source: urlIn(part) }];
      case "file":
        return [{ kind: "document", author, source: string(object(part.file).file_data) }];
      case "input_audio": {
        const { format, data } = object(part.input_audio);
        return [{ kind: "audio", author, source: `data:audio/${string(format)};base64,${string(data)}` }];
      }
      default:
        return [{ kind: "state", block: part }];
    }
  });
}

function urlIn({ image_url: url }: Json): string {
  return string(object(url).url);
}
