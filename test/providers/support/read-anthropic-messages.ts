/** Reads a body of Anthropic's Messages API (documentation: "Create a message"). */
import {
  type Author,
  type Counts,
  type Fact,
  type Json,
  nonEmptyString,
  number,
  object,
  objects,
  type Reading,
  string,
  textFacts,
  toResult,
} from "./facts.ts";

/** Reads a request body. */
export function readAnthropicMessages(body: Json): Reading {
  const choice = object(body.tool_choice);
  return {
    facts: [
      ...readContent("system", body.system),
      ...objects(body.messages).flatMap(({ role, content }) => readContent(getAuthor(role), content)),
    ],
    tools: objects(body.tools).map(({ name, description, input_schema: schema }) => {
      return { name: string(name), description: string(description), schema };
    }),
    toolChoice: CHOICES.get(choice.type) ?? nonEmptyString(choice.name),
    answerSchema: object(object(body.output_config).format).schema,
    effort: object(body.output_config).effort,
  };
}

/**
 * Reads the token counts of a whole answer (documentation: "Create a message", `usage`); its input excludes cached
 * tokens.
 */
export function countAnthropicMessages(answer: Json): Counts {
  const usage = object(answer.usage);
  const cacheRead = number(usage.cache_read_input_tokens);
  return {
    input: number(usage.input_tokens) + cacheRead + number(usage.cache_creation_input_tokens),
    output: number(usage.output_tokens),
    reasoning: number(object(usage.output_tokens_details).thinking_tokens),
    cacheRead,
  };
}

const CHOICES: ReadonlyMap<unknown, string> = new Map([
  ["auto", "auto"],
  ["none", "none"],
  ["any", "required"],
]);

function getAuthor(role: unknown): Author {
  return role === "assistant" || role === "system" ? role : "user";
}

function readContent(author: Author, content: unknown): Fact[] {
  if (typeof content === "string") return textFacts(author, content);
  return objects(content).flatMap((block) => readBlock(author, block));
}

function readBlock(author: Author, block: Json): Fact[] {
  switch (block.type) {
    case "text":
      return textFacts(author, block.text);
    case "image":
    case "document":
      return [{ kind: block.type, author, source: toSource(object(block.source)) }];
    case "tool_use":
      return [{ kind: "call", id: string(block.id), name: string(block.name), arguments: block.input }];
    case "tool_result":
      return [toResult(block.tool_use_id, readContent("user", block.content))];
    default:
      return [{ kind: "state", block }];
  }
}

function toSource(source: Json): string {
  if (source.type === "base64") return `data:${string(source.media_type)};base64,${string(source.data)}`;
  return string(source.url ?? source.file_id ?? source.data);
}
