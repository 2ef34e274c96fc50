/** `tools`, `tool_choice` and `parallel_tool_calls` of a chat completion -> the contract's tools and choice. */
import { create } from "@bufbuild/protobuf";
import {
  ToolChoice_Mode as Mode,
  type ToolChoice,
  ToolChoiceSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import { Grammar_Syntax, type Tool, ToolSchema } from "../../gen/outrigger/v1/tool_pb.ts";
import { Fields, invalidParameter, joinWords, quote } from "../openai/fields.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import type { ReadTool, ReadTools } from "../stateless/to-request.ts";

interface NamedTool extends ReadTool {
  readonly name: string;
}

const TYPES = ["function", "custom"] as const;

/** Reads the tools and the choice. */
export function readTools(fields: Fields, context: ReadingContext): ReadTools {
  for (const [old, current] of [
    ["functions", "tools"],
    ["function_call", "tool_choice"],
  ] as const)
    if (fields.has(old))
      throw invalidParameter(old, "unsupported_parameter", `is not supported, expected ${current}`);
  const tools = (fields.list("tools") ?? []).map((element) => readTool(Fields.of(element), context));
  const { allowed = tools, ...choice } = readChoice(fields, tools);
  return { tools: allowed, choice: createChoice(fields, choice, tools.length > 0) };
}

/** Fields of a tool, and of a function, that the contract has. */
const TOOL_FIELDS: readonly string[] = ["type", "function", "custom"];
const FUNCTION_FIELDS: readonly string[] = ["name", "description", "parameters", "strict"];

function readTool(fields: Fields, context: ReadingContext): NamedTool {
  const type = fields.requireString("type", { min: 1 });
  const { path } = fields;
  const isTranslated = context.served.api !== "openai-chat";
  if (isTranslated) context.notes.warnAboutOthers(fields, TOOL_FIELDS);
  switch (type) {
    case "function": {
      const tool = fields.object("function") ?? fields.missing("function", "an object with a name");
      const name = tool.requireString("name", { min: 1 });
      if (isTranslated) context.notes.warnAboutOthers(tool, FUNCTION_FIELDS);
      const parameters = tool.object("parameters");
      const value = {
        name,
        description: tool.string("description") ?? "",
        parametersJson: parameters === undefined || isEmpty(parameters) ? "" : parameters.text(),
        strict: tool.boolean("strict") ?? false,
      };
      return { tool: create(ToolSchema, { tool: { case: "function", value } }), name, path };
    }
    case "custom": {
      const tool = fields.object("custom") ?? fields.missing("custom", "an object with a name");
      const name = tool.requireString("name", { min: 1 });
      const value = { name, description: tool.string("description") ?? "", ...readGrammar(tool) };
      return { tool: create(ToolSchema, { tool: { case: "custom", value } }), name, path };
    }
    default:
      return { tool: readHosted(fields, type, context), name: type, path };
  }
}

function isEmpty({ value }: Fields): boolean {
  return Object.keys(value).length === 0;
}

/** Returns a hosted tool of the served provider. Only a provider with the same API can take it. */
function readHosted(fields: Fields, type: string, { served }: ReadingContext): Tool {
  if (served.api !== "openai-chat")
    throw invalidParameter(
      fields.at("type"),
      "invalid_value",
      `expected ${joinWords(TYPES)}, found ${quote(type)}`,
    );
  const value = { provider: served.provider, configJson: fields.text() };
  return create(ToolSchema, { tool: { case: "hosted", value } });
}

function readGrammar(tool: Fields) {
  const format = tool.object("format");
  if (format?.word("type", ["text", "grammar"]) !== "grammar") return {};
  const grammar =
    format.object("grammar") ?? format.missing("grammar", "an object with syntax and definition");
  const syntax = grammar.word("syntax", ["lark", "regex"]) ?? grammar.missing("syntax", `"lark" or "regex"`);
  const definition = grammar.requireString("definition", { min: 1 });
  return { grammar: { syntax: syntax === "lark" ? Grammar_Syntax.LARK : Grammar_Syntax.REGEX, definition } };
}

interface Choice {
  readonly mode?: Mode;
  readonly toolName?: string;
  /** The tools that the choice allows, if it limits them. */
  readonly allowed?: readonly NamedTool[];
}

const MODES = { auto: Mode.AUTO, none: Mode.NONE, required: Mode.REQUIRED } as const;

function readChoice(fields: Fields, tools: readonly NamedTool[]): Choice {
  if (typeof fields.get("tool_choice") === "string") {
    const word = fields.word("tool_choice", ["auto", "none", "required"]);
    return word === undefined ? {} : { mode: MODES[word] };
  }
  const choice = fields.object("tool_choice");
  if (choice === undefined) return {};
  switch (choice.word("type", [...TYPES, "allowed_tools"])) {
    case "allowed_tools":
      return readAllowed(choice, tools);
    case undefined:
      return choice.missing("type", joinWords([...TYPES, "allowed_tools"]));
    default:
      return { mode: Mode.NAMED, toolName: readName(choice) };
  }
}

function readAllowed(choice: Fields, tools: readonly NamedTool[]): Choice {
  // Some clients leave out the object around the list.
  const allowed = choice.object("allowed_tools") ?? choice;
  const mode = allowed.word("mode", ["auto", "required"]) ?? allowed.missing("mode", `"auto" or "required"`);
  const list = allowed.list("tools", { min: 1 }) ?? allowed.missing("tools", "a list of tools");
  const names = new Set(list.map((element) => readName(Fields.of(element))));
  return { mode: MODES[mode], allowed: tools.filter(({ name }) => names.has(name)) };
}

/** Returns the name in a reference to a tool: `{type: "function", function: {name}}`. */
function readName(reference: Fields): string {
  const type = reference.word("type", TYPES) ?? reference.missing("type", joinWords(TYPES));
  const named = reference.object(type) ?? reference.missing(type, "an object with the name of the tool");
  return named.requireString("name", { min: 1 });
}

/** Leaves out `parallel_tool_calls` if there are no tools, since servers refuse it then. */
function createChoice(
  fields: Fields,
  { mode, toolName = "" }: Choice,
  hasTools: boolean,
): ToolChoice | undefined {
  const parallel = fields.boolean("parallel_tool_calls");
  if (mode === undefined && (parallel === undefined || !hasTools)) return undefined;
  const choice = create(ToolChoiceSchema, { mode: mode ?? Mode.AUTO, toolName });
  if (parallel !== undefined && hasTools) choice.parallel = parallel;
  return choice;
}
