/** Finds the texts of a request that a provider may repeat in an error, which must not show them. */
import { toolInputOf } from "../../core/tools.ts";
import type { ContentPart } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Tool } from "../../gen/outrigger/v1/tool_pb.ts";
import { isObject, tryReadJson } from "../json/json.ts";

/**
 * Returns the caller's texts: messages, descriptions of tools, metadata, stop sequences, and the texts inside schemas
 * and provider options. Names of models, tools and fields are excluded: an error may name those.
 */
export function textsIn(request: Request): string[] {
  const { messages, tools, metadata, stopSequences, responseFormat, providerOptionsJson } = request;
  return [
    ...messages.flatMap(({ content }) => content.flatMap(textsInPart)),
    ...tools.flatMap(textsInTool),
    ...Object.values(metadata),
    ...stopSequences,
    ...proseIn(responseFormat?.schemaJson ?? ""),
    ...Object.values(providerOptionsJson).flatMap(proseIn),
  ];
}

function textsInPart({ part }: ContentPart): string[] {
  switch (part.case) {
    case "text":
      return [part.value];
    case "reasoning":
      return [part.value.text];
    case "toolCall":
      return [toolInputOf(part.value)];
    case "toolResult":
      return part.value.content.flatMap(textsInPart);
    case "document":
      return [part.value.fileName];
    case "native":
      return proseIn(part.value.dataJson);
    default:
      return [];
  }
}

function textsInTool({ tool }: Tool): string[] {
  switch (tool.case) {
    case "function":
      return [tool.value.description, ...proseIn(tool.value.parametersJson)];
    case "custom":
      return [tool.value.description, tool.value.grammar?.definition ?? ""];
    case "hosted":
      return proseIn(tool.value.configJson);
    default:
      return [];
  }
}

/** Matches prose. A single word in JSON is more likely a setting, which an error may name. */
const PROSE = /\s|^.{24}/;

/** Returns the prose among the values of a JSON text. */
function proseIn(json: string): string[] {
  const texts: string[] = [];
  const open: unknown[] = [tryReadJson(json)];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === "string" && PROSE.test(value)) texts.push(value);
    if (Array.isArray(value)) for (const item of value) open.push(item);
    if (isObject(value)) for (const key in value) open.push(value[key]);
  }
  return texts;
}
