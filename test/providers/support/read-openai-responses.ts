/** Reads a body of OpenAI's Responses API (documentation: "Create a model response"). */
import {
  type Counts,
  type Fact,
  type Json,
  nameIn,
  number,
  object,
  objects,
  parsed,
  type Reading,
  resultOf,
  type Speaker,
  said,
  string,
} from "./facts.ts";

/** What a body says. */
export function readOpenAIResponses(body: Json): Reading {
  return {
    facts: [...said("system", body.instructions), ...objects(body.input).flatMap(readItem)],
    tools: objects(body.tools).map(({ name, description, parameters }) => {
      return { name: string(name), description: string(description), schema: parameters };
    }),
    toolChoice: nameIn(body.tool_choice) ?? nameIn(object(body.tool_choice).name),
    answerSchema: object(object(body.text).format).schema,
    effort: object(body.reasoning).effort,
  };
}

/** What a whole answer says that it cost (documentation: "The response object", `usage`). */
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
      return readContent(speakerOf(item.role), item.content);
    case "function_call":
      return [callOf(item, parsed(item.arguments))];
    case "custom_tool_call":
      return [callOf(item, item.input)];
    case "function_call_output":
    case "custom_tool_call_output":
      return [resultOf(item.call_id, readContent("user", item.output))];
    case "image_generation_call": {
      const source = `data:image/${string(item.output_format)};base64,${string(item.result)}`;
      return [
        { kind: "image", speaker: "assistant", source },
        { kind: "state", block: item },
      ];
    }
    default:
      return [{ kind: "state", block: item }];
  }
}

function callOf({ call_id: id, name }: Json, given: unknown): Fact {
  return { kind: "call", id: string(id), name: string(name), arguments: given };
}

function speakerOf(role: unknown): Speaker {
  if (role === "assistant" || role === "user") return role;
  return "system";
}

function readContent(speaker: Speaker, content: unknown): Fact[] {
  if (typeof content === "string") return said(speaker, content);
  return objects(content).flatMap((part): Fact[] => {
    switch (part.type) {
      case "input_image":
        return [{ kind: "image", speaker, source: string(part.image_url ?? part.file_id) }];
      case "input_file":
        return [
          { kind: "document", speaker, source: string(part.file_data ?? part.file_url ?? part.file_id) },
        ];
      default:
        return said(speaker, part.text ?? part.refusal);
    }
  });
}
