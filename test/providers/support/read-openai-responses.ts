/** Reads a body of OpenAI's Responses API (documentation: "Create a model response"). */
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
export function readOpenAIResponses(body: Json): Reading {
  return {
    facts: [...textFacts("system", body.instructions), ...objects(body.input).flatMap(readItem)],
    tools: objects(body.tools).map(({ name, description, parameters }) => {
      return { name: string(name), description: string(description), schema: parameters };
    }),
    toolChoice: nonEmptyString(body.tool_choice) ?? nonEmptyString(object(body.tool_choice).name),
    answerSchema: object(object(body.text).format).schema,
    effort: object(body.reasoning).effort,
  };
}

/** Reads the token counts of a whole answer (documentation: "The response object", `usage`). */
export function countOpenAIResponses(answer: Json): Counts {
  const usage = object(answer.usage);
  return {
    input: number(usage.input_tokens),
    output: number(usage.output_tokens),
    reasoning: number(object(usage.output_tokens_details).reasoning_tokens),
    cacheRead: number(object(usage.input_tokens_details).cached_tokens),
  };
}

function readItem(item: Json): Fact[] {
  switch (item.type) {
    case "message":
      return readContent(getAuthor(item.role), item.content);
    case "function_call":
      return [createCall(item, parseOrText(item.arguments))];
    case "custom_tool_call":
      return [createCall(item, item.input)];
    case "function_call_output":
    case "custom_tool_call_output":
      return [toResult(item.call_id, readContent("user", item.output))];
    case "image_generation_call": {
      const source = `data:image/${string(item.output_format)};base64,${string(item.result)}`;
      return [
        { kind: "image", author: "assistant", source },
        { kind: "state", block: item },
      ];
    }
    default:
      return [{ kind: "state", block: item }];
  }
}

function createCall({ call_id: id, name }: Json, given: unknown): Fact {
  return { kind: "call", id: string(id), name: string(name), arguments: given };
}

function getAuthor(role: unknown): Author {
  if (role === "assistant" || role === "user") return role;
  return "system";
}

function readContent(author: Author, content: unknown): Fact[] {
  if (typeof content === "string") return textFacts(author, content);
  return objects(content).flatMap((part): Fact[] => {
    switch (part.type) {
      case "input_image":
        return [{ kind: "image", author, source: string(part.image_url ?? part.file_id) }];
      case "input_file":
        return [
          { kind: "document", author, source: string(part.file_data ?? part.file_url ?? part.file_id) },
        ];
      default:
        return textFacts(author, part.text ?? part.refusal);
    }
  });
}
