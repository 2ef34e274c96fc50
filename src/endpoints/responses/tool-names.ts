/**
 * The names under which a model sees the caller's tools. Those of a namespace, a group of tools, become tools of their
 * own, since no other provider has groups; their calls go back to the caller under the names that it gave them.
 */
import { type JsonObject, objectsIn, textIn } from "../../kit/json/json.ts";
import { freeToolName, modelToolName } from "../../runs/mcp/tool-names.ts";

/** A tool that the caller executes. */
export interface CallerTool {
  /** Name under which the model sees it. */
  readonly name: string;
  /** Name that the caller gave it. */
  readonly ownName: string;
  /** The caller's group of tools. Undefined: none. */
  readonly namespace: string | undefined;
  /**
   * A custom tool takes free text. Where the provider has only functions, its calls are JSON objects with one argument,
   * `input` (see CUSTOM_INPUT in the kit).
   */
  readonly type: "function" | "custom";
}

/**
 * Whether a request lets the model search its tools, which only OpenAI's API does: groups and tools that are loaded later
 * are sent to it as they are.
 */
export function searchesTools(tools: readonly JsonObject[]): boolean {
  const all = tools.flatMap((tool) => [tool, ...objectsIn<JsonObject>(tool.tools)]);
  return all.some((tool) => tool.type === "tool_search" || tool.defer_loading === true);
}

/** The tools of a request by their names. */
export class ToolNames {
  readonly #byName = new Map<string, CallerTool>();
  readonly #byOwnName = new Map<string, CallerTool>();

  /**
   * @param tools `tools` of a request or a response.
   * @param hasGroups Whether the provider has groups: their tools keep their names.
   */
  constructor(tools: readonly JsonObject[], hasGroups = false) {
    const groups = hasGroups ? [] : tools.filter(({ type }) => type === "namespace");
    for (const tool of tools) this.#add(tool, undefined);
    for (const { name, tools: members } of groups)
      for (const member of objectsIn(members)) this.#add(member, textIn(name));
  }

  /** The tool that the model calls by a name. Undefined where no tool of the caller has it. */
  called(name: string): CallerTool | undefined {
    return this.#byName.get(name);
  }

  /** A tool of the caller. Undefined if this request does not have it. */
  find(ownName: string, namespace: string | undefined): CallerTool | undefined {
    return this.#byOwnName.get(toKey(ownName, namespace));
  }

  /** The name under which the model sees a tool of the caller, also one that this request does not have any more. */
  getName(ownName: string, namespace: string | undefined): string {
    const tool = this.#byOwnName.get(toKey(ownName, namespace));
    if (tool !== undefined) return tool.name;
    return namespace === undefined ? ownName : modelToolName(namespace, ownName);
  }

  #add({ type, name: ownName }: JsonObject, namespace: string | undefined): void {
    if (type !== "function" && type !== "custom") return;
    const own = textIn(ownName);
    // A tool that comes twice is refused later; until then each of them would look for a name.
    if (this.#byOwnName.has(toKey(own, namespace))) return;
    const name = namespace === undefined ? own : freeToolName(namespace, own, this.#byName);
    const tool = { name, ownName: own, namespace, type } as const;
    this.#byName.set(name, tool);
    this.#byOwnName.set(toKey(own, namespace), tool);
  }
}

function toKey(ownName: string, namespace = ""): string {
  return `${namespace}\n${ownName}`;
}
