/**
 * The names under which a model sees the caller's tools. The tools of a namespace, which is a group of tools, become
 * separate tools, since no other provider has groups; their calls are returned to the caller under the names that it
 * gave them.
 */
import { type JsonObject, objectsIn, textIn } from "../../kit/json/json.ts";
import { freeToolName, modelToolName } from "../../runs/mcp/result.ts";

/** A tool that the caller executes. */
export interface CallerTool {
  /** Name under which the model sees it. */
  readonly name: string;
  /** Name that the caller gave it. */
  readonly callerName: string;
  /** The caller's group of tools. Undefined if there is none. */
  readonly namespace: string | undefined;
  /**
   * A custom tool takes free text. If the provider has only functions, its calls are JSON objects with one argument,
   * `input` (see CUSTOM_INPUT in the kit).
   */
  readonly type: "function" | "custom";
}

/**
 * Reports whether a request lets the model search its tools, which only OpenAI's API supports: groups and tools that
 * are loaded later are sent to OpenAI unchanged.
 */
export function searchesTools(tools: readonly JsonObject[]): boolean {
  const all = tools.flatMap((tool) => [tool, ...objectsIn<JsonObject>(tool.tools)]);
  return all.some((tool) => tool.type === "tool_search" || tool.defer_loading === true);
}

/** The tools of a request by their names. */
export class ToolNames {
  readonly #byName = new Map<string, CallerTool>();
  readonly #byCallerName = new Map<string, CallerTool>();

  /**
   * @param tools `tools` of a request or a response.
   * @param hasGroups Whether the provider has groups, whose tools keep their names.
   */
  constructor(tools: readonly JsonObject[], hasGroups = false) {
    const groups = hasGroups ? [] : tools.filter(({ type }) => type === "namespace");
    for (const tool of tools) this.#add(tool, undefined);
    for (const { name, tools: members } of groups)
      for (const member of objectsIn(members)) this.#add(member, textIn(name));
  }

  /** Returns the tool that the model calls by a name. Undefined if no tool of the caller has this name. */
  findByModelName(name: string): CallerTool | undefined {
    return this.#byName.get(name);
  }

  /** Finds a tool of the caller. Undefined if this request does not have it. */
  find(callerName: string, namespace: string | undefined): CallerTool | undefined {
    return this.#byCallerName.get(toKey(callerName, namespace));
  }

  /** Returns the name under which the model sees a tool of the caller, even if this request no longer has the tool. */
  getName(callerName: string, namespace: string | undefined): string {
    const tool = this.#byCallerName.get(toKey(callerName, namespace));
    if (tool !== undefined) return tool.name;
    return namespace === undefined ? callerName : modelToolName(namespace, callerName);
  }

  #add({ type, name: callerName }: JsonObject, namespace: string | undefined): void {
    if (type !== "function" && type !== "custom") return;
    const given = textIn(callerName);
    // A tool that occurs twice is refused later; until then each copy would look for a name.
    if (this.#byCallerName.has(toKey(given, namespace))) return;
    const name = namespace === undefined ? given : freeToolName(namespace, given, this.#byName);
    const tool = { name, callerName: given, namespace, type } as const;
    this.#byName.set(name, tool);
    this.#byCallerName.set(toKey(given, namespace), tool);
  }
}

function toKey(callerName: string, namespace = ""): string {
  return `${namespace}\n${callerName}`;
}
