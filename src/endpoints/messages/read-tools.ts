/** `tools` and `tool_choice` of the Messages API -> the contract's tools and choice. */
import { create } from "@bufbuild/protobuf";
import {
  ToolChoice_Mode as Mode,
  type ToolChoice,
  ToolChoiceSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import { type Tool, ToolSchema } from "../../gen/outrigger/v1/tool_pb.ts";
import type { ContentBlockParam } from "../../wire/anthropic-messages/request.ts";
import { Fields, joinWords } from "../openai/fields.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import type { ReadTools } from "../stateless/to-request.ts";
import { isAnthropic } from "./provider-state.ts";

/** Reads the tools and the choice. */
export function readTools(fields: Fields, context: ReadingContext): ReadTools {
  const declared = (fields.list("tools") ?? []).map((element) => Fields.of(element));
  const tools = applyChanges(declared, fields);
  return {
    tools: tools.map((tool) => ({ tool: readTool(tool, context), path: tool.path })),
    choice: readChoice(fields.object("tool_choice"), tools.length > 0),
  };
}

/** The blocks of a system message that change the tools from there on. */
const TOOL_CHANGES: ReadonlySet<unknown> = new Set<ContentBlockParam["type"]>([
  "tool_addition",
  "tool_removal",
]);

/** Reports whether a block of a system message changes the tools. */
export function isToolChange(block: Fields): boolean {
  return TOOL_CHANGES.has(block.get("type"));
}

/** Returns the tools that the model has after all changes in the conversation. */
function applyChanges(declared: readonly Fields[], body: Fields): readonly Fields[] {
  const changes = listChanges(body);
  if (changes.length === 0) return declared;
  const added = new Map<string, Fields>();
  const removed = new Set<string>();
  for (const change of changes) {
    const reference = change.object("tool");
    const definition = reference?.object("definition");
    const name = (definition ?? reference)?.string("name");
    // References to servers name no tool of this list.
    if (name === undefined) continue;
    if (change.get("type") === "tool_removal") removed.add(name);
    else removed.delete(name);
    if (definition !== undefined) added.set(name, definition);
  }
  const isKept = (tool: Fields) => !removed.has(getName(tool));
  return [...declared.filter((tool) => !added.has(getName(tool))), ...added.values()].filter(isKept);
}

function getName(tool: Fields): string {
  return tool.string("name") ?? "";
}

function listChanges(body: Fields): readonly Fields[] {
  return (body.list("messages") ?? []).flatMap((element) => {
    const message = Fields.of(element);
    if (message.get("role") !== "system" || typeof message.get("content") === "string") return [];
    return (message.list("content") ?? []).map((block) => Fields.of(block)).filter(isToolChange);
  });
}

/** Fields of a client's tool that are read, or say only how Anthropic caches the tool and streams its input. */
const TOOL_FIELDS: readonly string[] = [
  "type",
  "name",
  "description",
  "input_schema",
  "strict",
  "cache_control",
  "eager_input_streaming",
];

function readTool(tool: Fields, context: ReadingContext): Tool {
  const type = tool.string("type") ?? "custom";
  if (type !== "custom") return readHosted(tool, context);
  if (!isAnthropic(context)) context.notes.warnAboutOthers(tool, TOOL_FIELDS);
  const schema = tool.object("input_schema") ?? tool.missing("input_schema", "a JSON Schema");
  const value = {
    name: tool.requireString("name", { min: 1 }),
    description: tool.string("description") ?? "",
    parametersJson: schema.text(),
    strict: tool.boolean("strict") ?? false,
  };
  return create(ToolSchema, { tool: { case: "function", value } });
}

/** Returns one of Anthropic's hosted tools. Adapters of other providers leave it out with a warning. */
function readHosted(tool: Fields, context: ReadingContext): Tool {
  const provider = isAnthropic(context) ? context.served.provider : "anthropic";
  return create(ToolSchema, { tool: { case: "hosted", value: { provider, configJson: tool.text() } } });
}

const CHOICES = ["auto", "any", "tool", "none"] as const;
const MODES = { auto: Mode.AUTO, any: Mode.REQUIRED, tool: Mode.NAMED, none: Mode.NONE } as const;

/** `auto` and `none` are left out if there are no tools, since servers refuse them then. */
function readChoice(choice: Fields | undefined, hasTools: boolean): ToolChoice | undefined {
  if (choice === undefined) return undefined;
  const type = choice.word("type", CHOICES) ?? choice.missing("type", joinWords(CHOICES));
  const isSerial = choice.boolean("disable_parallel_tool_use");
  if (!hasTools && (type === "auto" || type === "none")) return undefined;
  const toolName = type === "tool" ? choice.requireString("name", { min: 1 }) : "";
  const read = create(ToolChoiceSchema, { mode: MODES[type], toolName });
  if (isSerial !== undefined) read.parallel = !isSerial;
  return read;
}
