import { create } from "@bufbuild/protobuf";
import { functionTool, textPart } from "outrigger";
import { type ToolCall, ToolResultSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { McpServerSchema, McpToolListSchema, McpToolSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { ServerTools } from "../../../src/runs/server-tools.ts";

/** Executes a call of a tool. */
export type Execute = (call: ToolCall, signal: AbortSignal) => Promise<string>;

/** Tools of a server `tools`, of which tools named `risky…` need approval. Records the executed calls, in order. */
export class FakeServerTools {
  readonly executed: string[] = [];
  readonly asked: string[][] = [];
  /** The names that the tools may not have, for each time that they were opened. */
  readonly takenNames: string[][] = [];
  open = 0;
  readonly #execute: Execute;
  readonly #names: readonly string[];

  readonly #annotationsJson: string;

  constructor(
    names: readonly string[],
    execute: Execute = async ({ name }) => `result of ${name}`,
    annotations: object = {},
  ) {
    this.#names = names;
    this.#execute = execute;
    this.#annotationsJson = JSON.stringify(annotations);
  }

  readonly serverTools: ServerTools = {
    check: () => {},
    open: async (servers, { takenNames = new Set() }) => {
      this.open += 1;
      this.takenNames.push([...takenNames]);
      this.asked.push(servers.map(({ authorization }) => authorization));
      const tools = this.#names.map((name) =>
        create(McpToolSchema, {
          name,
          toolName: name,
          serverLabel: "tools",
          inputSchemaJson: "{}",
          annotationsJson: this.#annotationsJson,
        }),
      );
      return {
        lists: [create(McpToolListSchema, { serverLabel: "tools", tools })],
        tools: this.#names.map((name) => functionTool({ name })),
        find: (name) => tools.find((tool) => tool.name === name),
        needsApproval: (name) => name.startsWith("risky"),
        execute: async (call, signal) => {
          this.executed.push(call.name);
          const text = await this.#execute(call, signal);
          return create(ToolResultSchema, { toolCallId: call.id, content: [textPart(text)] });
        },
        close: async () => {
          this.open -= 1;
        },
      };
    },
  };
}

/** The server in a request. */
export const toolServer = create(McpServerSchema, { serverLabel: "tools", serverUrl: "http://127.0.0.1:1" });
