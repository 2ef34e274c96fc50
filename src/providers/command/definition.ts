import type { ProviderDefinition } from "../../kit/adapter/definition.ts";
import { CommandAdapter, type CommandAdapterOptions } from "./adapter.ts";

/** The output of a program on this machine. */
export const command: ProviderDefinition<"command", CommandAdapterOptions> = {
  api: "command",
  createAdapter: (options) => new CommandAdapter(options),
  fields: [
    "command",
    "format",
    "prompt",
    "environment",
    "folder",
    "efforts",
    "images",
    "schema",
    "max_processes",
    "local",
  ],
  requiredFields: { command: "a list of the program and its arguments", format: "the format of its output" },
  needsNoKey: true,
};
