import type { RouteDefinition } from "../../http/route-table.ts";
import type { RunEngine } from "../../runs/engine.ts";
import type { ModelDirectory } from "../models/model-directory.ts";
import { compact } from "./compact.ts";
import { countTokens } from "./count-tokens.ts";

/** The parts that the routes about an input need. */
export interface InputRouteParts {
  readonly models: Pick<ModelDirectory, "resolve">;
  readonly engine: Pick<RunEngine, "getRun" | "threads">;
}

/** The routes that process the input of a response without creating one: counting tokens and compaction. */
export function inputRoutes(parts: InputRouteParts): RouteDefinition[] {
  return [
    {
      method: "POST",
      path: "/v1/responses/input_tokens",
      serve: async ({ readBody, caller }) => countTokens(await readBody(), { ...parts, owner: caller.name }),
    },
    {
      method: "POST",
      path: "/v1/responses/compact",
      serve: async ({ readBody, caller, client, signal }) =>
        compact(await readBody(), { ...parts, owner: caller.name, client, signal }),
    },
  ];
}
