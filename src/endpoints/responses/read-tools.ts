/** `tools` -> tools of the contract, and MCP servers that the sidecar calls. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ApprovalPolicy,
  type McpServer,
  McpServerSchema,
  type McpToolFilter,
  McpToolFilterSchema,
} from "../../gen/outrigger/v1/run_pb.ts";
import {
  type Tool as ContractTool,
  type CustomToolSchema,
  Grammar_Syntax,
  ToolSchema,
} from "../../gen/outrigger/v1/tool_pb.ts";
import { asObject, type JsonObject, without } from "../../kit/json/json.ts";
import type { InputItem, Tool } from "../../wire/openai-responses/request.ts";
import type { ServedModel } from "../models/model-directory.ts";
import { type Element, Fields, invalidParameter } from "../openai/fields.ts";
import type { RequestNotes } from "../openai/request-notes.ts";
import type { ToolNames } from "./tool-names.ts";

/** The tools of a request. */
export interface ReadTools {
  readonly tools: readonly ContractTool[];
  /** Paths of these tools in the body. */
  readonly toolPaths: readonly string[];
  readonly servers: readonly McpServer[];
  /** Paths of the servers in the body. */
  readonly serverPaths: readonly string[];
}

/**
 * Returns the tools as the response repeats them: without the secrets of MCP servers. Each is an object with a type.
 */
export function echoedTools(fields: Fields): readonly JsonObject[] {
  return (fields.list("tools") ?? []).map((element) => {
    const tool = Fields.of(element);
    const type = tool.requireString("type", { min: 1 });
    if (type === "mcp") return { ...without(tool.value, "authorization"), headers: null };
    return type === "function" ? { ...FUNCTION_DEFAULTS, ...tool.value } : tool.value;
  });
}

/** Fields that every function has in OpenAI's responses. */
const FUNCTION_DEFAULTS = { description: null, parameters: null, strict: false };

/** The inputs for reading tools. */
export interface ToolReading {
  /** The names that the model will see. */
  readonly names: ToolNames;
  readonly notes: RequestNotes;
  /** The model that will see them. */
  readonly served: ServedModel;
  /** Whether groups of tools, and tools that are loaded later, are sent unchanged. */
  readonly sendsGroups: boolean;
  /** Tools from items of the input. Those that the request already has are left out. */
  readonly added: readonly Element[];
}

/** Tools that OpenAI executes, or whose calls only its models write. */
const OPENAI_TOOLS = [
  "apply_patch",
  "code_interpreter",
  "computer",
  "computer_use_preview",
  "file_search",
  "image_generation",
  "local_shell",
  "programmatic_tool_calling",
  "shell",
  "tool_search",
  "web_search",
  "web_search_2025_08_26",
  "web_search_preview",
  "web_search_preview_2025_03_11",
] satisfies Tool["type"][];

const openAiTools: ReadonlySet<string> = new Set(OPENAI_TOOLS);

/** Reads `tools`. */
export function readTools(fields: Fields, reading: ToolReading): ReadTools {
  const elements = fields.list("tools");
  if (elements === undefined && reading.added.length === 0) return NO_TOOLS;
  const reader = new ToolReader(reading);
  for (const element of elements ?? []) reader.add(element, undefined);
  reader.origin = "added";
  for (const element of reading.added) reader.add(element, undefined);
  return reader;
}

const NO_TOOLS: ReadTools = { tools: [], toolPaths: [], servers: [], serverPaths: [] };

/** Fields of tools of the caller that are read. */
const FUNCTION_FIELDS: readonly string[] = [
  "type",
  "name",
  "description",
  "parameters",
  "strict",
  "defer_loading",
];
const CUSTOM_TOOL_FIELDS: readonly string[] = ["type", "name", "description", "format", "defer_loading"];

class ToolReader implements ReadTools {
  readonly tools: ContractTool[] = [];
  readonly toolPaths: string[] = [];
  readonly servers: McpServer[] = [];
  readonly serverPaths: string[] = [];
  readonly #reading: ToolReading;
  /** The names of functions, custom tools and servers, and the types of hosted tools. */
  readonly #known = new Set<string>();
  /**
   * The origin of the tools that are being read. Added tools that are known are left out. Declared tools that occur
   * twice are refused later.
   */
  origin: "declared" | "added" = "declared";

  constructor(reading: ToolReading) {
    this.#reading = reading;
  }

  /** @param group The namespace of the tool, and the caller's description of the namespace for its first tool. */
  add(element: Element, group: Group | undefined): void {
    const tool = Fields.of(element);
    const type = tool.requireString("type", { min: 1 });
    const { sendsGroups } = this.#reading;
    if (sendsGroups && (type === "namespace" || tool.boolean("defer_loading") === true) && type !== "mcp")
      return this.#addTool(tool, { case: "hosted", value: this.#readHosted(tool, type) });
    const isDeferred = this.origin === "declared" && tool.boolean("defer_loading") === true;
    if (isDeferred && type !== "mcp") this.#noteLoading(tool);
    if (type !== "namespace" && this.#isSkipped(tool, type, group)) return;
    switch (type) {
      case "function":
        return this.#addTool(tool, { case: "function", value: this.#readFunction(tool, group) });
      case "custom":
        return this.#addTool(tool, { case: "custom", value: this.#readCustom(tool, group) });
      case "namespace":
        return this.#addGroup(tool, group);
      case "mcp":
        this.servers.push(toServer(tool, this.#reading.notes));
        this.serverPaths.push(tool.path);
        return;
      default:
        return this.#addTool(tool, { case: "hosted", value: this.#readHosted(tool, type) });
    }
  }

  #addTool(fields: Fields, tool: NonNullable<MessageInitShape<typeof ToolSchema>["tool"]>): void {
    this.tools.push(create(ToolSchema, { tool }));
    this.toolPaths.push(fields.path);
  }

  /** Records a tool. Returns whether it is known and left out. */
  #isSkipped(tool: Fields, type: string, group: Group | undefined): boolean {
    const isFunction = type === "function" || type === "custom";
    const name = isFunction ? this.#getName(tool, group) : (tool.string("server_label") ?? "");
    const key = isFunction ? name : `${type}\n${name}`;
    if (this.origin === "added" && this.#known.has(key)) return true;
    this.#known.add(key);
    return false;
  }

  #noteLoading(tool: Fields): void {
    const message = "the model's provider has no tool search; the tool is loaded at once";
    this.#reading.notes.warn(tool.at("defer_loading"), "unsupported_setting", message);
  }

  #addGroup(fields: Fields, outer: Group | undefined): void {
    if (outer !== undefined)
      throw invalidParameter(
        fields.path,
        "invalid_value",
        "expected a function or a custom tool in a namespace, found a namespace",
      );
    const name = fields.requireString("name", { min: 1 });
    const members = fields.list("tools") ?? fields.missing("tools", "a list of tools");
    let description = fields.string("description") ?? "";
    for (const member of members) {
      this.add(member, { name, description });
      description = "";
    }
  }

  /** Warns about the fields of a tool that are not read. OpenAI's models may get them unchanged. */
  #noteOthers(tool: Fields, known: readonly string[]): void {
    const { served, notes } = this.#reading;
    if (served.api !== "openai-responses") notes.warnAboutOthers(tool, known);
  }

  #readFunction(tool: Fields, group: Group | undefined) {
    this.#noteOthers(tool, FUNCTION_FIELDS);
    const parameters = tool.object("parameters");
    return {
      name: this.#getName(tool, group),
      description: readDescription(tool, group),
      parametersJson: parameters === undefined ? "" : toTypedSchema(parameters),
      strict: tool.boolean("strict") ?? false,
    };
  }

  #readCustom(tool: Fields, group: Group | undefined): MessageInitShape<typeof CustomToolSchema> {
    this.#noteOthers(tool, CUSTOM_TOOL_FIELDS);
    const grammar = toGrammar(tool.object("format"));
    const head = { name: this.#getName(tool, group), description: readDescription(tool, group) };
    return grammar === undefined ? head : { ...head, grammar };
  }

  /** Reads a hosted tool of the provider. The adapter of another provider leaves it out with a warning. */
  #readHosted(tool: Fields, type: string) {
    const { provider, api } = this.#reading.served;
    const isOpenAi = openAiTools.has(type) || api === "openai-responses" || provider === "";
    return { provider: isOpenAi ? "openai" : provider, configJson: tool.text() };
  }

  #getName(tool: Fields, group: Group | undefined): string {
    return this.#reading.names.getName(tool.requireString("name", { min: 1 }), group?.name);
  }
}

interface Group {
  readonly name: string;
  readonly description: string;
}

/** The first tool of a namespace gets the namespace's description, too. */
function readDescription(tool: Fields, group: Group | undefined): string {
  const description = tool.string("description") ?? "";
  if (group === undefined || group.description === "") return description;
  const shared = `About the tools of ${JSON.stringify(group.name)}: ${group.description}`;
  return description === "" ? shared : `${description}\n\n${shared}`;
}

/** OpenAI treats a schema without a type at its root as the schema of an object. */
function toTypedSchema(parameters: Fields): string {
  const isBare = Object.keys(parameters.value).length === 0;
  if (isBare) return "";
  return parameters.has("type") ? parameters.text() : JSON.stringify({ type: "object", ...parameters.value });
}

function toGrammar(format: Fields | undefined) {
  if (format?.word("type", ["text", "grammar"]) !== "grammar") return undefined;
  const syntax = format.word("syntax", ["lark", "regex"]) ?? format.missing("syntax", `"lark" or "regex"`);
  const definition = format.requireString("definition", { min: 1 });
  return { syntax: syntax === "lark" ? Grammar_Syntax.LARK : Grammar_Syntax.REGEX, definition };
}

const ONLY_OPENAI =
  "is not supported, since the sidecar calls MCP servers itself, and only OpenAI can call this one; expected server_url";

/** Reads an MCP server. OpenAI's connectors and tunnels are refused, since only OpenAI can call them. */
function toServer(tool: Fields, notes: RequestNotes): McpServer {
  for (const name of ["connector_id", "tunnel_id"])
    if (tool.has(name)) throw invalidParameter(tool.at(name), "unsupported_value", ONLY_OPENAI);
  if (tool.boolean("defer_loading") === true)
    notes.warn(tool.at("defer_loading"), "unsupported_setting", "all tools of the server are loaded at once");
  const server = create(McpServerSchema, {
    serverLabel: tool.requireString("server_label", { min: 1 }),
    serverUrl: tool.string("server_url") ?? "",
    serverDescription: tool.string("server_description") ?? "",
    authorization: tool.string("authorization") ?? "",
    headers: tool.texts("headers") ?? {},
  });
  setFilters(server, tool);
  return server;
}

function setFilters(server: McpServer, tool: Fields): void {
  const allowed = Array.isArray(tool.get("allowed_tools"))
    ? namesFilter(tool.strings("allowed_tools") ?? [])
    : readFilter(tool.object("allowed_tools"));
  if (allowed !== undefined) server.allowedTools = allowed;
  if (asObject(tool.get("require_approval")) === undefined) {
    const word = tool.word("require_approval", ["always", "never"]);
    server.approval = word === "never" ? ApprovalPolicy.NEVER : ApprovalPolicy.ALWAYS;
    return;
  }
  const filters = tool.object("require_approval");
  const [always, never] = [readFilter(filters?.object("always")), readFilter(filters?.object("never"))];
  server.approval = ApprovalPolicy.ALWAYS;
  if (always !== undefined) server.alwaysApprove = always;
  if (never !== undefined) server.neverApprove = never;
}

function readFilter(filter: Fields | undefined): McpToolFilter | undefined {
  if (filter === undefined) return undefined;
  const found = namesFilter(filter.strings("tool_names") ?? []);
  const readOnly = filter.boolean("read_only");
  if (readOnly !== undefined) found.readOnly = readOnly;
  return found;
}

function namesFilter(toolNames: readonly string[]): McpToolFilter {
  return create(McpToolFilterSchema, { toolNames: [...toolNames] });
}

/** Items of the input that add tools. Only OpenAI's API has them; other models get the tools with the declared ones. */
const ADDING_ITEMS: ReadonlySet<unknown> = new Set<InputItem["type"]>([
  "additional_tools",
  "tool_search_output",
]);

/** Returns the tools that items of the input add. */
export function listAddedTools(fields: Fields): readonly Element[] {
  const { input } = fields.value;
  const adds = (item: unknown) => ADDING_ITEMS.has(asObject(item)?.type);
  if (!Array.isArray(input) || !input.some(adds)) return [];
  const items = (fields.list("input") ?? []).filter(({ value }) => adds(value));
  return items.flatMap((item) => Fields.of(item).list("tools") ?? []);
}

/** Returns the tools whose names answers translate to the caller's: without MCP servers, which have secrets. */
export function toNamedTools(tools: readonly Element[]): readonly JsonObject[] {
  return tools.map((tool) => Fields.of(tool).value).filter(({ type }) => type !== "mcp");
}
