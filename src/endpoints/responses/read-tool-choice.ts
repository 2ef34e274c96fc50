/** `tool_choice` and `parallel_tool_calls` -> the contract's choice, and the tools that it allows. */
import { create } from "@bufbuild/protobuf";
import {
  ToolChoice_Mode as Mode,
  type ToolChoice,
  ToolChoiceSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import { Fields, invalidParameter } from "../openai/fields.ts";
import type { ReadTools } from "./read-tools.ts";
import type { ToolNames } from "./tool-names.ts";

/** The tools of a request, and how the model may use them. */
export interface ReadToolChoice {
  /** Undefined if the request does not set it. */
  readonly choice: ToolChoice | undefined;
  /** The tools that the choice allows. */
  readonly tools: ReadTools;
}

/** Reads `tool_choice` and `parallel_tool_calls`. @param inherits Whether tools of an earlier response are used. */
export function readToolChoice(
  fields: Fields,
  tools: ReadTools,
  names: ToolNames,
  inherits: boolean,
): ReadToolChoice {
  const parallel = fields.boolean("parallel_tool_calls");
  const { mode, toolName = "", allowed = tools } = readChoice(fields, tools, names);
  const hasTools = tools.tools.length > 0 || tools.servers.length > 0 || inherits;
  // `parallel_tool_calls` is left out if there are no tools, since servers refuse it then.
  if (mode === undefined && (parallel === undefined || !hasTools)) return { choice: undefined, tools };
  const choice = create(ToolChoiceSchema, { mode: mode ?? Mode.AUTO, toolName });
  if (parallel !== undefined && hasTools) choice.parallel = parallel;
  return { choice, tools: allowed };
}

interface Choice {
  readonly mode?: Mode;
  readonly toolName?: string;
  readonly allowed?: ReadTools;
}

const MODES = { auto: Mode.AUTO, none: Mode.NONE, required: Mode.REQUIRED } as const;

function readChoice(fields: Fields, tools: ReadTools, names: ToolNames): Choice {
  if (typeof fields.get("tool_choice") === "string") {
    const word = fields.word("tool_choice", ["auto", "none", "required"]);
    return word === undefined ? {} : { mode: MODES[word] };
  }
  const choice = fields.object("tool_choice");
  if (choice === undefined) return {};
  switch (choice.requireString("type", { min: 1 })) {
    case "allowed_tools":
      return readAllowed(choice, tools, names);
    case "function":
    case "custom":
      return { mode: Mode.NAMED, toolName: getName(choice, names) };
    case "mcp":
      return readServerChoice(choice, tools, names);
    default:
      // A hosted tool is named by its type.
      return { mode: Mode.NAMED, toolName: choice.requireString("type") };
  }
}

function getName(choice: Fields, names: ToolNames): string {
  return names.getName(choice.requireString("name", { min: 1 }), choice.string("namespace"));
}

/** Reads the choice of a server's tool, or of any of its tools, which is possible only if there are no others. */
function readServerChoice(choice: Fields, tools: ReadTools, names: ToolNames): Choice {
  const label = choice.requireString("server_label", { min: 1 });
  const name = choice.string("name");
  if (name !== undefined) return { mode: Mode.NAMED, toolName: names.getName(name, label) };
  const others = tools.tools.length + tools.servers.filter(({ serverLabel }) => serverLabel !== label).length;
  if (others === 0) return { mode: Mode.REQUIRED };
  const message =
    "allows any tool of the server; expected the name of one tool, since there are other tools too";
  throw invalidParameter(choice.at("name"), "missing_required_parameter", message);
}

/** Selects the tools that the choice lists, and reads the choice among them. */
function readAllowed(choice: Fields, tools: ReadTools, names: ToolNames): Choice {
  const mode = choice.word("mode", ["auto", "required"]) ?? choice.missing("mode", `"auto" or "required"`);
  const list = choice.list("tools", { min: 1 }) ?? choice.missing("tools", "a list of tools");
  const allowed = new Set(list.map((element) => toKey(Fields.of(element), names)));
  const kept = tools.tools.map(({ tool }) => {
    if (tool.case === "hosted") return allowed.has(`hosted ${getType(tool.value.configJson)}`);
    return allowed.has(`name ${tool.value?.name}`);
  });
  const keptServers = tools.servers.map(({ serverLabel }) => allowed.has(`server ${serverLabel}`));
  return {
    mode: MODES[mode],
    allowed: {
      tools: tools.tools.filter((_, index) => kept[index]),
      toolPaths: tools.toolPaths.filter((_, index) => kept[index]),
      servers: tools.servers.filter((_, index) => keptServers[index]),
      serverPaths: tools.serverPaths.filter((_, index) => keptServers[index]),
    },
  };
}

function toKey(tool: Fields, names: ToolNames): string {
  const type = tool.requireString("type", { min: 1 });
  if (type === "function" || type === "custom") return `name ${getName(tool, names)}`;
  return type === "mcp" ? `server ${tool.requireString("server_label")}` : `hosted ${type}`;
}

function getType(configJson: string): unknown {
  const config: unknown = JSON.parse(configJson);
  return typeof config === "object" && config !== null && "type" in config ? config.type : undefined;
}
